"""A warning: what will be lost or is stuck, and the command that helps."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Severity(StrEnum):
    """How much a warning matters, from most to least."""

    URGENT = "urgent"
    """Memories are about to be lost, or cannot be stored or read now."""
    WARNING = "warning"
    """Memories will be lost, or work is stuck."""
    NOTICE = "notice"
    """Something is worth doing; nothing is lost yet."""


class WarningCode(StrEnum):
    """The stable codes of warnings, for programs."""

    MEMORY_UNREADABLE = "memory-unreadable"
    NO_MODEL = "no-model"
    MODEL_UNUSABLE = "model-unusable"
    CONSOLIDATION_STUCK = "consolidation-stuck"
    DEAD_LETTERS = "dead-letters"
    DIGESTS_FAILED = "digests-failed"
    CLOCK_IMPLAUSIBLE = "clock-implausible"
    DISK_FULL = "disk-full"
    EMBEDDING_UNUSABLE = "embedding-unusable"
    BACKUP_MISSING = "backup-missing"
    BACKUP_OLD = "backup-old"
    REVIEW_WAITING = "review-waiting"
    SYNC_FAILED = "sync-failed"
    SYNC_CONFLICTS = "sync-conflicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthWarning:
    """A warning for the person who runs the memories.

    Attributes:
        text: One or two sentences: what will be lost or is stuck, and when.
        command: The command that helps.
        detail: The error behind it, in the words of what failed. A model or a database may have written them, so they
            are not for prompts.
        at: When memories will be lost, or since when work is stuck (aware UTC); ``None`` if no moment is known.
    """

    code: WarningCode
    severity: Severity
    text: str
    command: str
    detail: str = ""
    at: datetime | None = None
