"""Vectors that travel between databases: those of the model here are taken over, all others are refused."""

from base64 import b64encode

import numpy as np
import pytest
from pgvector import Vector

from commonplace.knowledge.exchange.vectors import packed_vector, unpacked_vector

pytestmark = pytest.mark.requirement("SYN-12.1")

DIMENSIONS = 384


def vector_of(seed: int = 1) -> Vector:
    """A vector of length 1."""
    values = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    return Vector(values / np.linalg.norm(values))


def packed(values: bytes, version: str = "a1") -> dict[str, str]:
    """Numbers as they travel."""
    return {"version": version, "values": b64encode(values).decode()}


def test_a_vector_keeps_its_likenesses() -> None:
    """To within a thousandth."""
    vector, other = vector_of(), vector_of(2)
    travelled = unpacked_vector(
        packed_vector({"embedding": vector, "version": "a1"}), version="a1", dimensions=DIMENSIONS
    )
    assert travelled is not None
    for each in (vector, other):
        before = float(np.dot(vector.to_numpy(), each.to_numpy()))
        assert float(np.dot(travelled.to_numpy(), each.to_numpy())) == pytest.approx(before, abs=0.001)


@pytest.mark.parametrize(
    "sent",
    [
        packed(np.ones(DIMENSIONS, dtype="<f2").tobytes(), version="b2"),
        packed(np.ones(DIMENSIONS - 1, dtype="<f2").tobytes()),
        packed(np.full(DIMENSIONS, np.nan, dtype="<f2").tobytes()),
        packed(b"odd"),
        {"version": "a1", "values": "not Base64!"},
        {"version": "a1", "values": 7},
        {"version": "a1"},
        {},
    ],
)
def test_what_is_no_vector_of_this_model_is_refused(sent: dict[str, object]) -> None:
    """Its text is embedded here then."""
    assert unpacked_vector(sent, version="a1", dimensions=DIMENSIONS) is None
