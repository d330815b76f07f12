"""The parts of an erasure: what was found in one table or one file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedPart:
    """The erased rows of one table, or lines of one file.

    Attributes:
        action: ``deleted``, or ``redacted`` for a row that stays without its texts.
        derived: How many rows were erased only because they were derived from others.
        samples: The beginnings of some of the texts.
    """

    memory: str
    place: str
    action: str
    count: int
    derived: int = 0
    samples: tuple[str, ...] = ()
