"""Pages of records, and the counts of an overview."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from commonplace.operational.model.memories import ChangeKind, Lesson
from commonplace.storage.rows import Noun

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, and the size of the whole list."""

    items: list[T]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """A part of the memories that match a filter.

    Attributes:
        active: How many active memories match the other conditions of the filter.
    """

    memories: list[Lesson]
    active: int
    inactive: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCount:
    """The number of memories of a service; ``service`` is ``None`` for general ones."""

    service: str | None
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChange(Noun):
    """A change of a memory with the memory's current text and service; both ``None`` if it was deleted.

    ``before`` and ``after`` hold only the fields that differ.
    """

    memory_id: int
    kind: ChangeKind
    actor: str
    session_id: int | None
    reason: str
    created_at: datetime
    service: str | None
    observation: str | None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts for an overview; a week is the last seven days."""

    active: int
    inactive: int
    learned_in_week: int
    fading: int
    sessions_in_week: int
    failed_in_week: int
    running: int
    critical_in_week: int
    cost_in_week_usd: float
