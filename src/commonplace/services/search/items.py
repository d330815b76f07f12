"""The items of a search over all memories, its criteria and its results."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.language.times import TimeSpan
from commonplace.services.briefing import BriefingPart
from commonplace.services.memory_ids import MemoryKind

PARTS: Final = (BriefingPart.KNOWLEDGE, BriefingPart.OPERATIONAL, BriefingPart.APPS, BriefingPart.WORKSPACE)

LIMIT: Final = 20
"""The maximum number of items."""

MAX_LIMIT: Final = 1_000
MAX_QUERY_CHARS: Final = 1_000


_OTHERS: Final[Mapping[MemoryKind, BriefingPart]] = {
    MemoryKind.LESSON: BriefingPart.OPERATIONAL,
    MemoryKind.DIGEST: BriefingPart.APPS,
    MemoryKind.NOTE: BriefingPart.WORKSPACE,
}


def memory_of(kind: MemoryKind) -> BriefingPart:
    """Return the memory that holds items of a kind."""
    return _OTHERS.get(kind, BriefingPart.KNOWLEDGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMemory:
    """One item of a memory.

    Attributes:
        kind: The kind of the item, which says in which memory it is.
        id: Its id, which the commands of its memory take.
        about: The service, app, scope or type that it belongs to; may be empty.
        at: When it was stored.
        names: Further names, which a query may hold.
        why: Why the query found the item; empty without a query.
        score: Its place among the items of all memories, see :mod:`.ranking`; ``None`` without a query.
        likeness: With the query, the same measure for items of all memories: 0.0 is nothing in common, 1.0 the same
            topic, more with rare words in common. ``None`` without a query or an embedding model.
    """

    kind: MemoryKind
    id: str
    text: str
    about: str
    at: datetime
    names: tuple[str, ...] = ()
    why: str = ""
    score: float | None = None
    likeness: float | None = None

    @property
    def words(self) -> str:
        """The text that is compared with a query: with the service of a lesson, the app of a digest, and all names."""
        about = [self.about] if self.kind in _OTHERS else []
        return " ".join([*about, self.text, *self.names])


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCriteria:
    """What narrows a search; ``None`` or an empty text does not.

    Attributes:
        kinds: Only items of these kinds; empty for all kinds.
        since: Only items that were stored at this moment or later.
        until: Only items that were stored before this moment.
        about: Only items about whom or what has this name: an entity, its facts, and items that hold one of its names.
        scope: Only memories of this scope or butler, which is the id of a project. Of the other memories, only those
            that belong to a project have a scope; see ``notes_scope``.
        notes_scope: The scope that the notes of the open workspace belong to.
        as_of: What knowledge memory knew at this moment; the other memories keep no such history.
    """

    kinds: Collection[MemoryKind] = ()
    since: datetime | None = None
    until: datetime | None = None
    about: str = ""
    scope: str | None = None
    notes_scope: str | None = None
    as_of: datetime | None = None

    def includes(self, kind: MemoryKind) -> bool:
        """Return whether items of a kind are considered."""
        if self.kinds and kind not in self.kinds:
            return False
        match kind:
            case MemoryKind.ENTITY:
                return self.scope is None
            case MemoryKind.LESSON | MemoryKind.DIGEST:
                return self.scope is None and self.as_of is None
            case MemoryKind.NOTE:
                return self.as_of is None and self.scope in {None, self.notes_scope}
            case _:
                return True

    def covers(self, moment: datetime) -> bool:
        """Return whether an item that was stored at a moment is considered."""
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)


EVERY_MEMORY: Final = SearchCriteria()
"""The criteria of a search that considers all items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResults:
    """The items that a search returned, as one list over all memories.

    Attributes:
        items: With a query, those with the highest score first; otherwise the newest first.
        has_more: Whether more items match than the limit allows.
        problems: Why a memory could not answer, by memory.
        period: The time that the items are from, if the query names nothing but a time.
    """

    items: tuple[ListedMemory, ...] = ()
    has_more: bool = False
    problems: Mapping[BriefingPart, str]
    period: TimeSpan | None = None
