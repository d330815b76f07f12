"""The states of a rule."""

from enum import StrEnum


class Maturity(StrEnum):
    """The states of a rule."""

    CANDIDATE = "candidate"
    ESTABLISHED = "established"
    PROVEN = "proven"
    ANTI_PATTERN = "anti_pattern"
