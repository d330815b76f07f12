"""Two memories that contradict each other."""

from dataclasses import dataclass

from commonplace.apps.model.memories import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that contradict each other.

    Attributes:
        sentence: The outdated statement of the older memory.
    """

    older: Memory
    newer: Memory
    sentence: str
    reason: str
