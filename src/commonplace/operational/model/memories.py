"""Memories of operational memory, their changes, and the filter of a list."""

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, get_args

from commonplace.core.choices import optional_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.instructions import Flag
from commonplace.core.pages import require_page
from commonplace.core.quarantine import Quarantine, Watched
from commonplace.operational.model.markers import MemoryCategory
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

Sort = Literal["service", "confidence", "recency"]


class ChangeKind(StrEnum):
    """A kind of change to a memory, as its history names it."""

    CREATED = "created"
    REINFORCED = "reinforced"
    REFINED = "refined"
    REPEATED = "repeated"
    """A session used another wording after it had already reinforced the memory."""
    CONTRADICTED = "contradicted"
    DECAYED = "decayed"
    EDITED = "edited"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(Watched, Noun):
    """One row of ``memories``.

    Attributes:
        id: Never reused, even after deletion.
        service: ``None`` for a general memory.
        confidence: 0.0 to 1.0.
        active: Whether it may be shown to the agent.
        created_at: Aware UTC.
        updated_at: Aware UTC: the last creation, reinforcement or edit; contradiction and decay do not change it.
        session_id: The session that created it; ``None`` if an operator created it.
        tier: The tier of that session.
    """

    id: int
    service: str | None
    category: MemoryCategory
    observation: str
    confidence: float
    active: bool
    created_at: datetime
    updated_at: datetime
    session_id: int | None
    tier: int

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The reasons why no prompt shows the memory until a person confirms it; empty for an inactive memory."""
        return self.quarantine.reasons(self.observation) if self.active else ()

    @classmethod
    def from_row(cls, row: Columns) -> "Lesson":
        """Return the memory of a row."""
        return read_row(cls, row, quarantine=Quarantine())


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Noun):
    """One entry of a memory's history.

    ``before`` and ``after`` hold only the fields that differ. ``wording`` is the text of the agent, if the memory is
    worded differently. ``related_id`` is the memory that corrects, refines or is corrected by this memory.
    """

    memory_id: int
    kind: ChangeKind
    actor: str
    session_id: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str
    created_at: datetime
    wording: str | None = None
    related_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A wording of a memory, current or earlier.

    ``number`` counts from 1 in order of first use; ``uses`` is how often an agent or an operator used the wording.
    """

    number: int
    text: str
    first_at: datetime
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Author, time and reason of a change; the session if the actor is the agent.

    ``related_id`` is the other memory of the change.
    """

    actor: str
    now: datetime
    session_id: int | None = None
    tier: int = 1
    reason: str = ""
    related_id: int | None = None

    def because(self, reason: str, related_id: int | None = None) -> "Author":
        """Return the author of a change with this reason."""
        return dataclasses.replace(self, reason=reason, related_id=related_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """The memories to list, and their order.

    Attributes:
        service: Only memories of this service, ignoring case.
        general: Only general memories, which have no service.
        active: Only active or only inactive memories.
        search: Text that the observation contains, ignoring case.
        sort: ``"service"``: grouped by service, general last, most trusted first in each group; ``"confidence"``:
            most trusted first; ``"recency"``: last updated first. Ties: newest id first.
    """

    service: str | None = None
    general: bool = False
    category: MemoryCategory | None = None
    active: bool | None = None
    search: str | None = None
    sort: Sort = "service"
    limit: int = 1_000_000
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse a category, an order or a page that does not exist."""
        optional_one_of(MemoryCategory, self.category, field="category")
        if self.sort not in get_args(Sort):
            raise InvalidInputError("sort", f"one of {', '.join(get_args(Sort))}", self.sort)
        require_page(self.limit, self.offset)


def state_of(memory: Lesson) -> dict[str, Any]:
    """Return the mutable fields of a memory, which its history and the decisions on pairs store."""
    return {"observation": memory.observation, "confidence": memory.confidence, "active": memory.active}
