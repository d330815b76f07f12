"""Two memories that contradict each other."""

from dataclasses import dataclass

from commonplace.apps.model.memories import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories that contradict each other.

    Attributes:
        sentence: The outdated statement of the older memory.
    """

    older: Digest
    newer: Digest
    sentence: str
    reason: str
