"""The kinds of memories that sync, and how each of their fields is joined if devices changed it at once.

Source: ADR 0040.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class SyncKind(StrEnum):
    """The kinds of memories that sync, in the order in which they are written: what others name comes first."""

    PROJECT = "project"
    LINK = "link"
    ENTITY = "entity"
    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"
    APPLICATION = "application"
    LESSON = "lesson"
    DIGEST = "digest"
    ERASURE = "erasure"
    """Not a memory: an order to erase the texts of memories; see :mod:`.erasures`."""


WRITTEN_TOGETHER: Final = frozenset(
    {
        SyncKind.LINK,
        SyncKind.ENTITY,
        SyncKind.EPISODE,
        SyncKind.FACT,
        SyncKind.RULE,
        SyncKind.APPLICATION,
    }
)
"""The kinds of which one transaction writes many; each of the others is written and noted by itself."""


WITH_TOMBSTONES: Final = frozenset({SyncKind.FACT, SyncKind.RULE})
"""The kinds whose memories stay in the database when they are forgotten."""


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


_OF_KNOWLEDGE: Final[Mapping[str, Join]] = {
    "created_at": Join.LOWEST,
    "last_confirmed_at": Join.HIGHEST,
    "source_episode_id": Join.HIGHEST,
    "tags": Join.UNION,
    **dict.fromkeys(("flags", "pinned", "scope", "state", "trust"), Join.STAMPED),
}

JOINS: Final[Mapping[SyncKind, Mapping[str, Join]]] = {
    SyncKind.PROJECT: dict.fromkeys(("merged_into", "name"), Join.STAMPED),
    SyncKind.LINK: {"created_at": Join.LOWEST},
    SyncKind.ENTITY: {
        "aliases": Join.UNION,
        "created_at": Join.LOWEST,
        **dict.fromkeys(("canonical_name", "entity_type", "merged_into"), Join.STAMPED),
    },
    SyncKind.EPISODE: dict.fromkeys(("expires_at", "flags", "trust"), Join.STAMPED),
    SyncKind.FACT: {
        **_OF_KNOWLEDGE,
        **dict.fromkeys(("entity_id", "importance", "valid_to"), Join.STAMPED),
    },
    SyncKind.RULE: {**_OF_KNOWLEDGE, "maturity": Join.STAMPED},
    SyncKind.APPLICATION: {},
    SyncKind.LESSON: {
        "created_at": Join.LOWEST,
        "reinforced_at": Join.HIGHEST,
        "reinforced": Join.SUM,
        "contradicted": Join.SUM,
        **dict.fromkeys(("base", "corrected_by", "is_retired", "text"), Join.STAMPED),
    },
    SyncKind.DIGEST: {
        "created_at": Join.LOWEST,
        **dict.fromkeys(("metadata", "text", "updated_at"), Join.STAMPED),
    },
    SyncKind.ERASURE: {},
}
"""The fields of each kind that are not joined as :attr:`Join.TEXT`."""

KEPT_TEXT: Final = "text"
"""The field whose value is told to the memory though it lost, so that no text is lost."""

EVIDENCE: Final[Mapping[SyncKind, str]] = {SyncKind.LESSON: "reinforced_at", SyncKind.DIGEST: "updated_at"}
"""The field with the time from which the values of a memory are known (ISO 8601), if it has one.

Without it, that is the time at which a sync found the change.
"""
