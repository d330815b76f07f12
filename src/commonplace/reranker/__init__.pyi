from commonplace.reranker.inputs import memory_text as memory_text
from commonplace.reranker.network import NETWORK as NETWORK
from commonplace.reranker.network import open_network as open_network
from commonplace.reranker.reranker import Reranker as Reranker
from commonplace.reranker.reranker import reranker as reranker
