"""Two memories that contradict each other."""

from dataclasses import dataclass

from commonplace.apps.model.memories import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories that contradict each other.

    Attributes:
        sentence: The outdated statement of the older memory.
        probability: That of the contradiction, 0.0 to 1.0.
        reason: A sentence for a person, with both statements and what differs.
    """

    older: Digest
    newer: Digest
    sentence: str
    probability: float
    reason: str
