"""Vectors in their stored form, and their likeness."""

import math
import struct
from collections.abc import Sequence
from typing import Final

FLOAT_BYTES: Final = 4


def to_bytes(vector: Sequence[float]) -> bytes:
    """Return the stored form of a vector: 32-bit floats, little-endian."""
    return struct.pack(f"<{len(vector)}f", *vector)


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two stored vectors of length 1, from -1.0 to 1.0; 0.0 if their dimensions differ."""
    if len(one) != len(other):
        return 0.0
    shape = f"<{len(one) // FLOAT_BYTES}f"
    pairs = zip(struct.unpack(shape, one), struct.unpack(shape, other), strict=True)
    return min(1.0, max(-1.0, math.fsum(a * b for a, b in pairs)))
