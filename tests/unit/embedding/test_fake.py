"""The fake backend, which the tests of other parts build on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions


@pytest.fixture(scope="module")
def fake() -> EmbeddingEngine:
    """Give the fake as other tests get it: through the engine."""
    return EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))


@given(text=st.text())
def test_every_vector_has_length_one(fake: EmbeddingEngine, text: str) -> None:
    """As with the real model, so that a dot product is a cosine."""
    assert np.linalg.norm(fake.embed_array([text])[0]) == pytest.approx(1.0, abs=1e-6)


def test_shared_words_bring_texts_near(fake: EmbeddingEngine) -> None:
    """The cosine is about the share of common words: three of four here, none there."""
    query, near, far = fake.embed_array(
        ["the gateway restarts nightly", "The gateway restarts: daily", "we drink green tea"]
    )
    assert query @ near == pytest.approx(0.75, abs=0.1)
    assert query @ far == pytest.approx(0.0, abs=0.15)


def test_vectors_are_the_same_on_every_machine(fake: EmbeddingEngine) -> None:
    """Fixed numbers, so that tests may rely on them from one process to the next."""
    signs = np.sign(fake.embed_array(["hello"])[0][:8]).astype(int).tolist()
    assert signs == [-1, -1, -1, 1, -1, -1, 1, -1]
