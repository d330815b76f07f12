"""Permanence: how long a fact is expected to hold, and how fast its confidence decays (KNW-04)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Permanence(StrEnum):
    """The five levels of permanence."""

    PERMANENT = "permanent"
    STABLE = "stable"
    STANDARD = "standard"
    VOLATILE = "volatile"
    EPHEMERAL = "ephemeral"


DECAY_RATES: Final[Mapping[Permanence, float]] = MappingProxyType(
    {
        Permanence.PERMANENT: 0.0,
        Permanence.STABLE: 0.002,
        Permanence.STANDARD: 0.008,
        Permanence.VOLATILE: 0.03,
        Permanence.EPHEMERAL: 0.1,
    }
)
"""Share of the confidence lost per day, continuously. Source: KNW-04.1."""
