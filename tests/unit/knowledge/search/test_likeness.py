"""The likeness of any texts and a topic."""

import pytest

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import measure_likeness
from commonplace.knowledge.rules.relevance import WORDS_WEIGHT

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))


@pytest.mark.requirement("REL-02.1")
async def test_meaning_and_rare_words_make_texts_alike() -> None:
    """A topic is wholly like itself, and more with the weight of its words; a rare word counts more."""
    texts = ["kafka port", "wine of kafka", "wine of port", "a port in the north", "the weather in Bern"]
    same, rare, common, longer, nothing = await measure_likeness(ENGINE, "kafka port", texts)
    assert 1.0 < same < 1.0 + 2 * WORDS_WEIGHT
    assert same > rare > common > longer > nothing
    assert nothing == pytest.approx(0.0, abs=0.2)


async def test_a_topic_of_common_words_is_compared_by_its_meaning() -> None:
    """Without texts, nothing is compared."""
    assert await measure_likeness(ENGINE, "what is this", ["what is this"]) == [pytest.approx(1.0)]
    assert await measure_likeness(ENGINE, "what is this", []) == []
