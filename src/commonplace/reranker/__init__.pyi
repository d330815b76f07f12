from commonplace.reranker.inputs import memory_text as memory_text
from commonplace.reranker.network import NETWORK as NETWORK
from commonplace.reranker.network import open_network as open_network
from commonplace.reranker.rerankers import Reranker as Reranker
from commonplace.reranker.rerankers import reranker as reranker
from commonplace.reranker.rerankers import reranker_of as reranker_of
