"""Memories of apps: their rows, and each way in which one changes.

Every change writes the row and its history in the transaction of the statements that are passed in. Nothing here
decides whether something should change: that is :mod:`~commonplace.apps.compaction.decision`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import NotFoundError
from commonplace.core.text import replace_surrogates
from commonplace.storage.database import Row, Statements

MAX_MEMORIES: Final = 10
"""Of one space: an app's common one, or one of its users'. Source: APP-03."""

MAX_CONTENT_CHARS: Final = 200
"""Source: APP-02.3, R-APP-4."""

MAX_IMPORTANCE: Final = 10.0


class ChangeKind(StrEnum):
    """What happened to a memory; the word that its history uses."""

    CREATED = "created"
    IMPORTED = "imported"
    MERGED = "merged"
    """Another memory was merged into it."""
    COMPACTED = "compacted"
    """It made room for another one, or was merged into one. The history keeps what it said."""
    DELETED = "deleted"
    SHARED = "shared"
    UNSHARED = "unshared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is known about a memory beside its words.

    Attributes:
        importance: 0.0 to 10.0; ``None`` where nobody has scored it.
        tags: Labels, without doubles.
        related_conversations: Conversations beside the source that its words come from.
        model: What wrote it, for example ``extractive``.
        other: Keys of other programs, kept as they are.
    """

    importance: float | None = None
    tags: tuple[str, ...] = ()
    related_conversations: tuple[str, ...] = ()
    model: str | None = None
    other: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_json(cls, text: str | None) -> "Metadata":
        """Read what the column holds; what is not of the specified shape counts as unknown. Source: APP-01.3."""
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
            other=values,
        )

    def to_json(self) -> str:
        """Write it as the column holds it, without what is unknown."""
        return replace_surrogates(json.dumps(self.as_dict(), ensure_ascii=False))

    def as_dict(self) -> dict[str, Any]:
        """Return it under the specification's names, without what is unknown."""
        known = {
            "importance": self.importance,
            "tags": list(self.tags) or None,
            "relatedConversations": list(self.related_conversations) or None,
            "model": self.model,
        }
        return dict(self.other) | {key: value for key, value in known.items() if value is not None}

    def merged_with(self, other: "Metadata", *conversations: str | None) -> "Metadata":
        """Return it with the tags, the conversations and the importance of a memory that is merged in."""
        related = (*self.related_conversations, *conversations, *other.related_conversations)
        scores = [score for score in (self.importance, other.importance) if score is not None]
        return replace(
            self,
            importance=max(scores, default=None),
            tags=tuple(dict.fromkeys((*self.tags, *other.tags))),
            related_conversations=tuple(dict.fromkeys(one for one in related if one is not None)),
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
class Draft:
    """A memory that is not stored yet."""

    app_id: str
    user_id: str | None
    content: str
    source_conversation_id: str | None
    metadata: Metadata
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One row of ``app_memories``.

    Attributes:
        id: Never used again, also after deletion.
        app_id: Whose memory it is.
        user_id: The user whose space it is in; ``None`` for the app's common one.
        content: One paragraph, about 200 characters at most.
        created_at: Aware UTC.
        updated_at: Aware UTC: the creation, or the last merge.
        source_conversation_id: The conversation that it is the digest of; at most one memory of an app names it.
        metadata: Importance, tags, related conversations.
    """

    id: int
    app_id: str
    user_id: str | None
    content: str
    created_at: datetime
    updated_at: datetime
    source_conversation_id: str | None
    metadata: Metadata

    @classmethod
    def from_row(cls, row: Row) -> "Memory":
        """Read a row."""
        return cls(
            id=row["id"],
            app_id=row["app_id"],
            user_id=row["user_id"],
            content=row["content"],
            created_at=_moment(row["created_at"]),
            updated_at=_moment(row["updated_at"]),
            source_conversation_id=row["source_conversation_id"],
            metadata=Metadata.from_json(row["metadata"]),
        )


def _moment(text: str) -> datetime:
    """Read a time of ours, or one that another program let SQLite fill in: UTC, with neither T nor Z."""
    if "T" in text:
        return parse_timestamp(text)
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of a memory's history; ``before`` and ``after`` are what it said."""

    memory_id: int
    app_id: str
    kind: ChangeKind
    actor: str
    before: str | None
    after: str | None
    reason: str
    created_at: datetime

    @classmethod
    def from_row(cls, row: Row) -> "Change":
        """Read a row."""
        return cls(
            memory_id=row["memory_id"],
            app_id=row["app_id"],
            kind=ChangeKind(row["kind"]),
            actor=row["actor"],
            before=row["before"],
            after=row["after"],
            reason=row["reason"],
            created_at=parse_timestamp(row["created_at"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who makes a change, when, and why."""

    actor: str
    now: datetime
    reason: str = ""


async def get(sql: Statements, memory_id: int) -> Memory:
    """Return one memory.

    Raises:
        NotFoundError: No memory has this id.
    """
    row = await sql.get_memory(id=memory_id)
    if row is None:
        raise NotFoundError("memory", memory_id)
    return Memory.from_row(row)


async def visible(
    sql: Statements, app_id: str, *, user_id: str | None = None, limit: int = MAX_MEMORIES
) -> list[Memory]:
    """Return what a conversation of an app may be shown, newest first; none of an unknown app.

    The app's own memories and those shared with it; of no user, and of the user who is named.
    """
    rows = await sql.visible(app_id=app_id, user_id=user_id, limit=limit)
    return [Memory.from_row(row) for row in rows]


async def of_app(sql: Statements, app_id: str, *, limit: int = 1_000_000, offset: int = 0) -> list[Memory]:
    """Return an app's own memories, of all its spaces, newest first."""
    return [Memory.from_row(row) for row in await sql.memories_of(app_id=app_id, limit=limit, offset=offset)]


async def space(sql: Statements, app_id: str, user_id: str | None) -> list[Memory]:
    """Return the memories that count together towards the limit, the first in first."""
    return [Memory.from_row(row) for row in await sql.space(app_id=app_id, user_id=user_id)]


async def history(sql: Statements, memory_id: int) -> list[Change]:
    """Return what happened to a memory, oldest first; also for one that was deleted."""
    return [Change.from_row(row) for row in await sql.changes_of(memory_id=memory_id)]


async def create(
    sql: Statements, draft: Draft, author: Author, kind: ChangeKind = ChangeKind.CREATED
) -> Memory | None:
    """Add a memory; ``None`` where the app has one of the same conversation."""
    row = await sql.insert_memory(
        app_id=draft.app_id,
        user_id=draft.user_id,
        content=draft.content,
        created_at=format_timestamp(draft.created_at),
        updated_at=format_timestamp(draft.updated_at),
        source_conversation_id=draft.source_conversation_id,
        metadata=draft.metadata.to_json(),
    )
    if row is None:
        return None
    memory = Memory.from_row(row)
    await record(sql, memory, kind, author, after=memory.content)
    return memory


async def edit(
    sql: Statements, target: Memory, content: str, author: Author, *, gone: Memory | None = None
) -> Memory:
    """Give a memory a new text, and return it; ``gone`` is a memory that is merged into it."""
    metadata = target.metadata
    if gone is not None:
        metadata = metadata.merged_with(gone.metadata, gone.source_conversation_id)
        await remove(sql, gone, author)
    row = await sql.update_memory(
        id=target.id,
        content=content,
        updated_at=format_timestamp(author.now),
        metadata=metadata.to_json(),
    )
    await record(sql, target, ChangeKind.MERGED, author, before=target.content, after=content)
    return Memory.from_row(row)


async def remove(sql: Statements, memory: Memory, author: Author) -> None:
    """Take out a memory that makes room for another; its history keeps what it said, so that it can be undone."""
    await sql.delete_memory(id=memory.id)
    await record(sql, memory, ChangeKind.COMPACTED, author, before=memory.content)


async def delete(sql: Statements, memories: Sequence[Memory], author: Author) -> None:
    """Remove memories for good, their words out of their history too."""
    for memory in memories:
        await sql.delete_memory(id=memory.id)
        await sql.forget_texts(memory_id=memory.id)
        await record(sql, memory, ChangeKind.DELETED, author)


async def record(
    sql: Statements,
    memory: Memory,
    kind: ChangeKind,
    author: Author,
    *,
    before: str | None = None,
    after: str | None = None,
) -> None:
    """Add to the history of a memory."""
    await sql.record_change(
        memory_id=memory.id,
        app_id=memory.app_id,
        kind=kind,
        actor=author.actor,
        before=before,
        after=after,
        reason=author.reason,
        moment=format_timestamp(author.now),
    )
