"""Writes that wait: what the changes of a memory make of it, and how this device last saw it. Pure.

Source: ADR 0040.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.finding import SeenMemory, shown_fields
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import Merged, merged
from commonplace.services.sync.replica import MemoryWrite
from commonplace.services.sync.versions import joined

_ORDER: Final = list(SyncKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """A memory that waits to be written here.

    Attributes:
        made: How it is seen once it is written as it was asked for.
        before: How it was last seen.
        by: The device whose change holds.
    """

    write: MemoryWrite
    made: SeenMemory
    before: SeenMemory
    by: str

    @property
    def is_new(self) -> bool:
        """Whether the memory has never been here, as far as sync knows."""
        return self.before == SeenMemory()

    @property
    def is_same(self) -> bool:
        """Whether the memory shows this state already, and nothing lost against it.

        A memory that was deleted elsewhere and has expired here is still there.
        """
        is_hidden = self.before.fields is None and self.before.as_change is not None
        is_deleted = self.made.fields is None
        return (
            self.made.fields == self.before.fields
            and not self.write.others
            and not (is_hidden and is_deleted)
        )

    @property
    def place(self) -> tuple[bool, int, str, str]:
        """The place in the order of writing."""
        kind, name = self.write.key
        return (self.made.fields is None, _ORDER.index(kind), self.by, name)


def pending_write(key: Key, heads: Sequence[Change], before: SeenMemory) -> PendingWrite:
    """Return the write that the changes of a memory ask for.

    Args:
        key: The memory.
        heads: Its changes that no other one has seen.
        before: How it was last seen.
    """
    state = merged(heads)
    made = _seen_of(key, heads, state)
    write = MemoryWrite(
        key=key,
        fields=made.fields,
        seen=before.fields,
        others=[shown_fields(key[0], each.fields) for each in state.others if each.fields is not None],
        vector=state.by.vector,
    )
    return PendingWrite(write=write, made=made, before=before, by=state.by.stamp.device)


def _seen_of(key: Key, heads: Sequence[Change], state: Merged) -> SeenMemory:
    """Return a memory as it is seen once its state is written."""
    fields = None if state.fields is None else shown_fields(key[0], state.fields)
    return SeenMemory(fields=fields, as_change=state.fields, versions=joined(each.versions for each in heads))


def shows(now: Fields | None, made: Fields | None, before: Fields | None) -> bool:
    """Return whether a memory shows a state, but for fields that this release does not know."""
    if now is None or made is None:
        return now is made
    later = made.keys() - now.keys() - (before or {}).keys()
    return now == {name: value for name, value in made.items() if name not in later}
