"""Erasures: changes that take the texts of memories out of every file and every database of sync. Pure.

An erasure names memories, and for each the versions of its deletion. A change that has not seen this deletion loses its
text, whenever it arrives; one that has seen it is a new memory of the same name.

Source: ADR 0040.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.core.clock import format_timestamp
from commonplace.services.sync.changes import Change
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.versions import Stamp, Versions, has_seen

Key = tuple[SyncKind, str]
"""The kind and the name of a memory."""

_KINDS: Final = frozenset(each.value for each in SyncKind)

Erased = Mapping[Key, Sequence[Versions]]
"""The versions of the deletions of each erased memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureStatus:
    """How far an erasure is.

    Attributes:
        name: Its id.
        at: When a person asked for it (ISO 8601).
        count: The number of memories.
        done: The devices that have erased the texts and all files that held them.
        waiting: The members of the home that have not yet.
    """

    name: str
    at: str
    count: int
    done: frozenset[str]
    waiting: frozenset[str]


def erasure_change(name: str, deletions: Mapping[Key, Versions], stamp: Stamp, at: datetime) -> Change:
    """Return the change that erases memories.

    Args:
        name: A new id.
        deletions: The memories, each with the versions of its deletion.
        stamp: The time of the change.
        at: The time for people.
    """
    keys = [[kind, key, dict(versions)] for (kind, key), versions in sorted(deletions.items())]
    fields = {"keys": keys, "at": format_timestamp(at, precision="seconds")}
    return Change(kind=SyncKind.ERASURE, name=name, versions={stamp.device: 1}, stamp=stamp, fields=fields)


def deletions_of(erasure: Change) -> list[Change]:
    """Return the deletions of an erasure; memories of a kind that only a later release knows are left out."""
    rows = (erasure.fields or {})["keys"]
    return [
        Change(kind=SyncKind(kind), name=name, versions=versions, stamp=erasure.stamp, fields=None)
        for kind, name, versions in rows
        if kind in _KINDS
    ]


def erased_by(erasures: Iterable[Change]) -> dict[Key, list[Versions]]:
    """Return what erasures have erased."""
    erased: dict[Key, list[Versions]] = {}
    for erasure in erasures:
        for each in deletions_of(erasure):
            erased.setdefault((each.kind, each.name), []).append(each.versions)
    return erased


def without_text(change: Change, erased: Erased) -> Change:
    """Return a change, as a deletion if it has not seen every erasure of its memory."""
    deletions = erased.get((change.kind, change.name), ())
    if all(has_seen(change.versions, each) for each in deletions):
        return change
    return replace(change, fields=None, vector=None)
