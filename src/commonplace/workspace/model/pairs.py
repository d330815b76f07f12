"""Pairs of notes that oppose each other, and the decisions about them."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.judge import PairVerdict
from commonplace.workspace.model.memories import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePair:
    """Two notes of which the newer one may contradict the older one.

    Attributes:
        reason: Why the pair waits, as a sentence.
        since: When the pair began to wait (aware UTC).
        decision: ``None`` if the pair waits.
        decided_by: The actor who decided.
    """

    older: Note
    newer: Note
    reason: str
    since: datetime
    decision: PairVerdict | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
