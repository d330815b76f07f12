"""mem0: its vector store, on disk in Qdrant or Chroma, its history, the SQLite file ``history.db``, or a JSON export.

Each memory becomes a fact. The vector store and the export name the owner of the memory: the user, else the agent, is
the subject. The history has each memory and how its text changed, but not its owner; pass a scope if the memories of
several users must not be mixed.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import require_text
from commonplace.knowledge import MAX_CONTENT_CHARS, FactDraft
from commonplace.services.transfer.importers import vector_stores
from commonplace.services.transfer.importers.sqlite_files import opened
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.jsonl import read_document
from commonplace.services.transfer.naming import predicate_of, subject_of
from commonplace.services.transfer.said import fact_said_at, said_at

SUBJECT: Final = "user"
TAG: Final = "mem0"
TEXT_KEYS: Final = ("memory", "text", "data")
"""The keys of the text of a memory in an export."""
_EXPECTED: Final = "a vector store, a JSON export or the history of mem0"
_HISTORY: Final = (
    "SELECT memory_id, new_memory, event, updated_at, created_at FROM history ORDER BY updated_at, rowid"
)
_COPIES: Final = frozenset({*TEXT_KEYS, "hash", "text_lemmatized"})
"""Fields that repeat the text of a memory."""


def read(path: Path, clock: Clock = utc_now) -> Read:
    """Yield the items of a vector store, a folder or one of its databases, of a history, or of a JSON export.

    Expired memories, which mem0 hides, and mem0's entity index are left out.

    Raises:
        InvalidInputError: The path is none of these.
    """
    if path.suffix.lower() == ".json":
        yield from _export(read_document(path), clock())
        return
    databases = vector_stores.databases_of(path) if path.is_dir() else [path]
    if not databases:
        raise InvalidInputError("source", _EXPECTED, str(path))
    for database in databases:
        with opened(database, _EXPECTED) as connection:
            points = vector_stores.points_of(connection)
            yield from _history(connection) if points is None else _points(points, clock())


def is_export(document: object) -> bool:
    """Return whether a JSON value is an export: a list of memories, alone or under ``results``."""
    memories = _memories(document)
    return bool(memories) and any(
        isinstance(each, dict) and not each.keys().isdisjoint(TEXT_KEYS) for each in memories
    )


def _memories(document: object) -> list[Any] | None:
    if isinstance(document, dict):
        fields = cast("dict[str, object]", document)
        document = fields.get("results", fields.get("memories"))
    return cast("list[Any]", document) if isinstance(document, list) else None


def _export(document: object, now: datetime) -> Read:
    memories = _memories(document)
    if memories is None:
        raise InvalidInputError("source", _EXPECTED, document)
    for number, memory in enumerate(memories, start=1):
        try:
            yield from _exported(memory, now)
        except InvalidInputError as error:
            yield Unreadable(place=f"memory {number}", reason=str(error))


def _exported(memory: object, now: datetime) -> Iterator[FactDraft]:
    if not isinstance(memory, dict):
        raise InvalidInputError("memory", "an object", memory)
    fields = cast("dict[str, Any]", memory)
    if not _has_expired(fields, now):
        text = next((fields[key] for key in TEXT_KEYS if fields.get(key) is not None), None)
        yield _owned_fact(fields, text, fields.get("id"))


def _history(connection: sqlite3.Connection) -> Read:
    texts: dict[object, tuple[object, datetime | None]] = {}
    for memory_id, text, event, updated_at, created_at in connection.execute(_HISTORY):
        if event == "DELETE" or not text:
            texts.pop(memory_id, None)
        else:
            texts[memory_id] = text, said_at(updated_at, created_at)
    for memory_id, (text, told_at) in texts.items():
        try:
            yield _fact(SUBJECT, text, {"mem0_id": str(memory_id)}, told_at)
        except InvalidInputError as error:
            yield Unreadable(place=f"memory {memory_id}", reason=str(error))


def _points(points: Iterator[vector_stores.Point | Unreadable], now: datetime) -> Read:
    for point in points:
        if isinstance(point, Unreadable):
            yield point
            continue
        text = point.payload.get("data")
        if not isinstance(text, str) or "hash" not in point.payload or _has_expired(point.payload, now):
            continue
        try:
            yield _owned_fact(point.payload, text, point.id)
        except InvalidInputError as error:
            yield Unreadable(place=f"point {point.id}", reason=str(error))


def _has_expired(payload: Mapping[str, Any], now: datetime) -> bool:
    """Return whether the last day of a memory is over; a date that mem0 cannot read does not count."""
    try:
        last_day = datetime.strptime(str(payload.get("expiration_date")), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return now >= last_day + timedelta(days=1)


def _owned_fact(payload: Mapping[str, Any], text: object, memory_id: object) -> FactDraft:
    """Return the fact of a memory that names its owner.

    Raises:
        InvalidInputError: The text is none, or another field is no JSON value.
    """
    subject = subject_of(str(payload.get("user_id") or payload.get("agent_id") or "")) or SUBJECT
    rest = {name: value for name, value in payload.items() if name not in _COPIES}
    try:
        json.dumps(rest)
    except (RecursionError, TypeError, ValueError) as error:
        raise InvalidInputError("payload", "JSON values", str(error)) from None
    identifier = {} if memory_id is None else {"mem0_id": str(memory_id)}
    told_at = said_at(payload.get("updated_at"), payload.get("created_at"))
    return _fact(subject, text, {**identifier, "mem0": rest}, told_at)


def _fact(subject: str, text: object, metadata: dict[str, Any], told_at: datetime | None) -> FactDraft:
    content = require_text(text, field="memory", max_chars=MAX_CONTENT_CHARS)
    fact = FactDraft(
        subject=subject,
        predicate=predicate_of("memory", content),
        content=content,
        tags=(TAG,),
        metadata=metadata,
    )
    return fact_said_at(fact, told_at)
