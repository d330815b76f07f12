"""Memories of apps, their metadata and their changes."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, cast

from commonplace.apps.model.bounds import MAX_IMPORTANCE
from commonplace.core.instructions import Flag
from commonplace.core.quarantine import Quarantine, Watched
from commonplace.core.text import replace_surrogates
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

LISTED: Final = 50
"""The limit of a list if the caller passes none."""

ALL_ROWS: Final = 1_000_000
"""The limit of a query that returns every row."""


class ChangeKind(StrEnum):
    """The kind of a change in a memory's history."""

    CREATED = "created"
    IMPORTED = "imported"
    MERGED = "merged"
    """Another memory was merged into it."""
    COMPACTED = "compacted"
    """The memory made room for another one, or was merged into one. The history keeps its text."""
    EDITED = "edited"
    """A person changed its text."""
    DELETED = "deleted"
    SHARED = "shared"
    UNSHARED = "unshared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The metadata of a memory.

    Attributes:
        importance: 0.0 to 10.0; ``None`` if the memory has no score.
        tags: Labels without duplicates.
        related_conversations: Conversations, other than the source, that its text comes from.
        model: The model that wrote it, for example ``extractive``.
        flags: Why a message of the conversation looks like an instruction; see :mod:`commonplace.core.instructions`.
        other: Keys of other programs, kept unchanged.
    """

    importance: float | None = None
    tags: tuple[str, ...] = ()
    related_conversations: tuple[str, ...] = ()
    model: str | None = None
    flags: tuple[Flag, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_json(cls, text: str | None) -> "Metadata":
        """Read the column; a value that does not have the specified shape is ignored. Source: APP-01.3."""
        try:
            loaded: object = json.loads(text) if text else {}
        except ValueError:
            return cls()
        if not isinstance(loaded, dict):
            return cls()
        values = dict(cast("dict[str, Any]", loaded))
        importance, model = values.pop("importance", None), values.pop("model", None)
        return cls(
            importance=_importance(importance),
            tags=_words(values.pop("tags", None)),
            related_conversations=_words(values.pop("relatedConversations", None)),
            model=model if isinstance(model, str) else None,
            flags=tuple(Flag(word) for word in _words(values.pop("flags", None)) if word in list(Flag)),
            other=values,
        )

    def to_json(self) -> str:
        """Return the JSON text of the column, without unknown values."""
        return replace_surrogates(json.dumps(self.as_dict(), ensure_ascii=False))

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary with the specification's names, without unknown values."""
        known = {
            "importance": self.importance,
            "tags": list(self.tags) or None,
            "relatedConversations": list(self.related_conversations) or None,
            "model": self.model,
            "flags": list(self.flags) or None,
        }
        return dict(self.other) | {key: value for key, value in known.items() if value is not None}

    def merged_with(self, other: "Metadata", *conversations: str | None) -> "Metadata":
        """Return the metadata with the tags, conversations and importance of a merged memory."""
        related = (*self.related_conversations, *conversations, *other.related_conversations)
        scores = [score for score in (self.importance, other.importance) if score is not None]
        return replace(
            self,
            importance=max(scores, default=None),
            tags=tuple(dict.fromkeys((*self.tags, *other.tags))),
            related_conversations=tuple(dict.fromkeys(one for one in related if one is not None)),
            flags=tuple(dict.fromkeys((*self.flags, *other.flags))),
        )


def _importance(value: object) -> float | None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and math.isnan(value))
    ):
        return None
    return float(min(max(value, 0.0), MAX_IMPORTANCE))


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(dict.fromkeys(item for item in cast("list[object]", value) if isinstance(item, str)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestDraft:
    """A memory to store."""

    app_id: str
    user_id: str | None
    content: str
    source_conversation_id: str | None
    metadata: Metadata
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest(Watched, Noun):
    """One row of ``app_memories``.

    Attributes:
        id: Never reused, even after deletion.
        user_id: The user whose space holds it; ``None`` for the app's common space.
        content: One paragraph, about 200 characters at most.
        updated_at: Aware UTC: the creation, or the last merge.
        source_conversation_id: The digested conversation; each conversation has at most one memory in an app.
    """

    id: int
    app_id: str
    user_id: str | None
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None
    metadata: Metadata

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The reasons why no prompt shows the memory until a person confirms it, its source's included."""
        return self.quarantine.reasons(self.content, self.metadata.flags)

    @classmethod
    def from_row(cls, row: Columns) -> "Digest":
        """Return the memory of a row; a row of another program may have no metadata."""
        return read_row(cls, row, metadata=Metadata.from_json(row["metadata"]), quarantine=Quarantine())


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Noun):
    """One entry of a memory's history; ``before`` and ``after`` are its texts."""

    memory_id: int
    app_id: str
    kind: ChangeKind
    actor: str
    before: str | None
    after: str | None
    reason: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The actor, time and reason of a change."""

    actor: str
    now: datetime
    reason: str = ""
