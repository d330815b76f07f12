"""Addresses of memories of every kind, and the verbs that fit a memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from commonplace.services.catalog.entries import CatalogEntry, MemoryState, Verb
from commonplace.services.memory_ids import NUMBERED, MemoryId, MemoryKind

PATH: Final = "/show"
"""The page of any id is below this path, and so are its verbs."""

_PAGES: Final[Mapping[MemoryKind, str]] = {
    MemoryKind.FACT: "/knowledge/facts",
    MemoryKind.RULE: "/knowledge/rules",
    MemoryKind.EPISODE: "/knowledge/episodes",
    MemoryKind.ENTITY: "/knowledge/entities",
    MemoryKind.LESSON: "/memories",
}
"""The kinds that have pages of their own; digests and notes have a page below :data:`PATH`."""

_PINNABLE: Final = frozenset({MemoryKind.FACT, MemoryKind.RULE})
_FADING: Final = _PINNABLE | {MemoryKind.LESSON}
_LIVE: Final = frozenset({MemoryState.CURRENT, MemoryState.FLAGGED, MemoryState.HELD})


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """The addresses of a memory."""

    memory_id: MemoryId

    @property
    def short(self) -> str:
        """The id as people read and type it."""
        return str(self.memory_id)

    @property
    def kind(self) -> MemoryKind:
        """The kind of the memory."""
        return self.memory_id.kind

    @property
    def page(self) -> str:
        """The path of its page."""
        place = _PAGES.get(self.kind)
        return self.base if place is None else f"{place}/{self.memory_id.key}"

    @property
    def base(self) -> str:
        """The path of its verbs. It holds the full id, because two memories may have the same short id."""
        return f"{PATH}/{self.short if self.kind in NUMBERED else self.memory_id.key}"

    @property
    def anchor(self) -> str:
        """The id of its elements in a page."""
        return f"{self.kind}-{self.memory_id.key}"


def memory_link(kind: str, key: object) -> MemoryLink:
    """Return the addresses of a memory with a full id."""
    return MemoryLink(MemoryId.of(MemoryKind(kind), key))


def link_of(entry: CatalogEntry) -> MemoryLink:
    """Return the addresses of a memory in the catalog."""
    return MemoryLink(entry.memory_id)


def verbs_of(entry: CatalogEntry) -> tuple[Verb, ...]:
    """Return the verbs that fit a memory in the catalog."""
    return verbs_for(
        entry.kind,
        is_live=entry.state in _LIVE,
        is_pinned=entry.pinned,
        is_flagged=entry.state is MemoryState.FLAGGED,
    )


def verbs_for(
    kind: str, *, is_live: bool = True, is_pinned: bool = False, is_flagged: bool = False
) -> tuple[Verb, ...]:
    """Return the verbs that fit a memory, as the catalog accepts them.

    Args:
        kind: Its kind.
        is_live: Whether it is neither replaced, forgotten nor expired.
        is_pinned: Whether it is pinned.
        is_flagged: Whether it waits for a person, because it looks like an instruction.
    """
    of = MemoryKind(kind)
    if not is_live:  # A lesson of little confidence holds again once it is confirmed.
        return (Verb.EDIT, Verb.CONFIRM) if of is MemoryKind.LESSON else ()
    fits = {
        Verb.EDIT: of is not MemoryKind.EPISODE,
        Verb.CONFIRM: of in _FADING or (is_flagged and of is not MemoryKind.EPISODE),
        Verb.UNPIN if is_pinned else Verb.PIN: of in _PINNABLE,
        Verb.FORGET: of is not MemoryKind.ENTITY,
    }
    return tuple(verb for verb, does in fits.items() if does)
