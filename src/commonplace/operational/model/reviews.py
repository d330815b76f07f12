"""Pairs of memories that wait for a decision, and the decisions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.judge import PairVerdict
from commonplace.operational.model.markers import MemoryCategory
from commonplace.storage.rows import Noun

OBSERVATIONS: Final = "observations"
"""The kind of a pair of observations of one service and category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Noun):
    """A pair in the queue.

    Attributes:
        id: Never reused.
        service: The service of both memories; `None` for general memories.
        old_id: The older memory.
        old_observation: Its current text.
        new_id: The newer memory, which was kept beside the older one.
        new_observation: Its current text.
        decision: `None` if the pair waits.
    """

    id: int
    kind: str
    service: str | None
    category: MemoryCategory
    old_id: int
    old_observation: str
    new_id: int
    new_observation: str
    reason: str
    decision: PairVerdict | None
    decided_by: str | None
    explanation: str
    created_at: datetime
    decided_at: datetime | None
