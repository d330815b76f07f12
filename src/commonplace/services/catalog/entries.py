"""Entries of the catalog: a memory of any kind, a change to it, and a step of its history."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from commonplace.services.memory_ids import MemoryId, MemoryKind

LIMIT: Final = 50
MAX_LISTED: Final = 1_000


class MemoryState(StrEnum):
    """The states of a memory."""

    CURRENT = "current"
    FLAGGED = "flagged"
    """The text looks like an instruction, so no prompt shows it until a person confirms it."""
    HELD = "held"
    """A fact that contradicts a more trusted one and waits for a person."""
    REPLACED = "replaced"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"
    INACTIVE = "inactive"
    """A lesson whose confidence is below 0.3."""


class Verb(StrEnum):
    """The changes that the catalog makes."""

    ADD = "add"
    EDIT = "edit"
    CONFIRM = "confirm"
    PIN = "pin"
    UNPIN = "unpin"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """A memory of any kind.

    Attributes:
        id: The short id, such as ``f:3k7q2`` or ``o:12``.
        full_id: The id without abbreviation.
        text: The text; of a fact with subject and predicate in front.
        content: The part of the text that an edit replaces.
        about: The service of a lesson, the app of a digest, the tags of a note, the scope of a fact or rule, the butler
            of an episode, the type of an entity; may be empty.
        confidence: 0.0 to 1.0 at present; ``None`` for kinds that have no confidence.
        pinned: Whether every prompt of its scope shows it.
        created_at: Aware UTC.
        replaced_by: The short id of the memory that stands in its place, if the memory was replaced.
        fields: The fields of the memory in its own words, for ``show``.
    """

    id: str
    full_id: str
    kind: MemoryKind
    state: MemoryState
    text: str
    content: str
    about: str
    created_at: datetime
    confidence: float | None = None
    pinned: bool = False
    replaced_by: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def memory_id(self) -> MemoryId:
        """The id with its kind."""
        return MemoryId.of(self.kind, self.full_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFilter:
    """The memories that a list returns.

    Attributes:
        contains: Text in the memory; case does not matter.
        within: The service, app, tag, scope, butler or type that the memory belongs to; see ``CatalogEntry.about``.
        since: Memories stored at this moment or later (aware).
        until: Memories stored before this moment (aware).
        all_states: Whether replaced, forgotten, expired and inactive memories are listed too.
        limit: 1 to 1,000.
    """

    contains: str = ""
    within: str = ""
    since: datetime | None = None
    until: datetime | None = None
    all_states: bool = False
    limit: int = LIMIT

    def matches(self, entry: CatalogEntry) -> bool:
        """Return whether a memory passes the filter."""
        return (
            (self.all_states or entry.state in _LIVE)
            and self.contains.casefold() in entry.text.casefold()
            and (not self.within or self.within.casefold() in _places(entry))
            and (self.since is None or entry.created_at >= self.since)
            and (self.until is None or entry.created_at < self.until)
        )


_LIVE: Final = frozenset({MemoryState.CURRENT, MemoryState.FLAGGED, MemoryState.HELD})


def _places(entry: CatalogEntry) -> list[str]:
    return [place.strip().casefold() for place in entry.about.split(",")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChange:
    """The receipt of a change.

    Attributes:
        verb: The change, or the change that was undone.
        undone: Whether the change was undone.
        entry: The memory after the change.
        before: The text before an edit; ``None`` for other changes.
        undo: The id that ``undo`` takes; ``None`` if the change cannot be undone.
        instead_of: The id that the caller gave, if the memory with it was replaced by this one.
        note: What else happened, as a sentence; may be empty.
    """

    verb: Verb
    entry: CatalogEntry
    undone: bool = False
    before: str | None = None
    undo: str | None = None
    instead_of: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """A step in the history of a memory.

    Attributes:
        event: The change in the words of its memory, such as ``reinforced`` or ``fact_superseded``.
        text: The text after the change, or the reason, if known.
    """

    at: datetime
    event: str
    actor: str
    text: str = ""
