"""Receipts: the outcome of each marker and each unreadable line of a session's output."""

from dataclasses import dataclass
from enum import StrEnum

from commonplace.core.instructions import Flag
from commonplace.operational.model.memories import Lesson
from commonplace.operational.model.sessions import Session


class ReceiptKind(StrEnum):
    """The kind of marker that a receipt answers."""

    MEMORY = "memory"
    EVENT = "event"
    COOLDOWN = "cooldown"
    MARKER = "marker"
    """Text that looks like a marker but is not valid."""
    LINE = "line"
    """A line of the stream that cannot be read."""


class ReceiptOutcome(StrEnum):
    """The outcome of a marker or line."""

    CREATED = "created"
    REINFORCED = "reinforced"
    REFINED = "refined"
    """A memory now contains the new wording as well as its own."""
    UNCHANGED = "unchanged"
    """The session has reinforced the memory before."""
    RECORDED = "recorded"
    REPEATED = "repeated"
    """The marker was stored when this transcript was read before."""
    REJECTED = "rejected"
    """The marker is not valid; the reason says why."""
    FAILED = "failed"
    """The marker is valid but could not be stored. Read the transcript again to store it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A change of one memory's confidence, and its reason."""

    memory_id: int
    observation: str
    confidence_before: float
    confidence_after: float
    active: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningReceipt:
    """Result of an observation.

    Attributes:
        outcome: Whether a memory was created, reinforced or refined, or nothing had to change.
        contradicted: The memories that lost confidence because of the observation.
        remark: A sentence about an ending of the observation that names no memory; empty otherwise.
    """

    outcome: ReceiptOutcome
    memory: Lesson
    reason: str
    contradicted: tuple[Effect, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The outcome of one marker or line.

    Attributes:
        session: The id of the session's row; ``None`` before the first session of a stream.
        text: The observation, message or reason, or the start of the line.
        category: The category of a memory, the level of an event, or the action of a cooldown.
        record_id: The row that now holds the marker's text.
        confidence: The confidence of the memory in that row.
        contradicted: The memories that lost confidence because of the marker.
        flags: The flags for which no prompt shows the memory until a person confirms it.
        remark: A sentence about an ending of the observation that names no memory; empty otherwise.
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
    flags: tuple[Flag, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReceipt:
    """A memory that an operator stored."""

    id: int
    outcome: ReceiptOutcome
    memory: Lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    """A session that has ended, with a receipt for each marker and each damaged line."""

    session: Session
    receipts: tuple[Receipt, ...]

    @property
    def failed(self) -> list[Receipt]:
        """The receipts of markers that could not be stored."""
        return [receipt for receipt in self.receipts if receipt.outcome is ReceiptOutcome.FAILED]
