"""Receipts: what became of each thing that a session's output held."""

from dataclasses import dataclass
from enum import StrEnum

from commonplace.operational.lifecycle import Effect
from commonplace.operational.sessions import Session


class ReceiptKind(StrEnum):
    """What the receipt is for."""

    MEMORY = "memory"
    EVENT = "event"
    COOLDOWN = "cooldown"
    MARKER = "marker"
    """Text that looks like a marker and is not one."""
    LINE = "line"
    """A line of the stream that cannot be read."""


class ReceiptOutcome(StrEnum):
    """What became of it."""

    CREATED = "created"
    REINFORCED = "reinforced"
    REFINED = "refined"
    """A memory now holds the new wording as well as its own."""
    UNCHANGED = "unchanged"
    """This session reinforced the memory before."""
    RECORDED = "recorded"
    REPEATED = "repeated"
    """The same marker of the same session was taken before: the transcript is read again."""
    REJECTED = "rejected"
    """It is not acceptable; the reason says why."""
    FAILED = "failed"
    """It is acceptable and could not be stored; reading the transcript again will take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of one marker or line.

    Attributes:
        session: The id of the session's row; ``None`` where no session had begun.
        kind: What it is for.
        outcome: What became of it.
        text: The observation, message, reason, or the start of the line.
        category: Of a memory; the level of an event; the action of a cooldown.
        service: Where it is about one.
        record_id: The row that holds it now.
        confidence: Of the memory that holds it now.
        reason: Why, in words.
        contradicted: The memories that lost confidence over it.
    """

    session: int | None
    kind: ReceiptKind
    outcome: ReceiptOutcome
    text: str
    category: str | None = None
    service: str | None = None
    record_id: int | None = None
    confidence: float | None = None
    reason: str = ""
    contradicted: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    """A session that was read to its end, with a receipt for each marker and each damaged line."""

    session: Session
    receipts: tuple[Receipt, ...]
