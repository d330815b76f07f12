"""The likeness of texts and a topic, measured as a recall measures it for facts and rules."""

from collections.abc import Sequence

import numpy as np

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.rules import relevance
from commonplace.language.stems import stem
from commonplace.language.words import STOPWORDS, tokens


async def measure_likeness(engine: EmbeddingEngine, topic: str, texts: Sequence[str]) -> list[float]:
    """Return the likeness of each text and a topic.

    0.0 is nothing in common, 1.0 the same topic, more with rare words in common. A word is rare if few of the texts
    contain it. See :mod:`~commonplace.knowledge.rules.relevance`.

    Raises:
        EmbeddingError: The model cannot be used.
    """
    if not texts:
        return []
    vector = np.array(await engine.embed_query_async(topic))
    similarity = np.array(await engine.embed_batch_async(texts)) @ vector
    words = sorted(_words(topic))
    present = np.array([[word in held for word in words] for held in map(_words, texts)], np.float64)
    weights = relevance.weights(words, present.sum(axis=0), len(texts))
    return relevance.likeness(similarity, present @ weights).tolist()


def _words(text: str) -> set[str]:
    return {stem(word) for word in tokens(text) if word not in STOPWORDS}
