"""The kinds of memories that sync, and how each of their fields is joined if devices changed it at once.

Source: ADR 0040.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class SyncKind(StrEnum):
    """The kinds of memories that sync."""

    FACT = "fact"
    RULE = "rule"
    APPLICATION = "application"
    ENTITY = "entity"
    LINK = "link"
    EPISODE = "episode"
    LESSON = "lesson"
    DIGEST = "digest"


class Join(StrEnum):
    """How the values of a field in changes that have not seen each other become one."""

    TEXT = "text"
    """All such fields are those of one change: the one of the latest evidence."""
    HIGHEST = "highest"
    """The highest number or latest time; a missing value is the lowest."""
    LOWEST = "lowest"
    UNION = "union"
    """A list of all members."""
    SUM = "sum"
    """``{device: number}``: each device counts by itself."""
    STAMPED = "stamped"
    """``[value, [milliseconds, count, device]]``: the latest one."""


JOINS: Final[Mapping[SyncKind, Mapping[str, Join]]] = {
    SyncKind.FACT: {
        "confirmed_at": Join.HIGHEST,
        "created_at": Join.LOWEST,
        "pinned": Join.STAMPED,
        "tags": Join.UNION,
    },
    SyncKind.RULE: {
        "confirmed_at": Join.HIGHEST,
        "created_at": Join.LOWEST,
        "pinned": Join.STAMPED,
        "tags": Join.UNION,
    },
    SyncKind.APPLICATION: {},
    SyncKind.ENTITY: {"aliases": Join.UNION, "created_at": Join.LOWEST},
    SyncKind.LINK: {"created_at": Join.LOWEST},
    SyncKind.EPISODE: {},
    SyncKind.LESSON: {
        "confidence": Join.HIGHEST,
        "created_at": Join.LOWEST,
        "reinforced_at": Join.HIGHEST,
        "reinforcements": Join.SUM,
    },
    SyncKind.DIGEST: {"created_at": Join.LOWEST},
}
"""The fields of each kind that are not joined as :attr:`Join.TEXT`."""

EVIDENCE: Final = "evidence_at"
"""The field with the time from which the text of a memory is known, if it is not the time of the change (ISO 8601)."""
