"""mem0: its vector store, on disk in Qdrant or Chroma, or its history, the SQLite file ``history.db``.

Each memory becomes a fact. The vector store names the owner of the memory: the user, else the agent, is the subject.
The history has each memory and how its text changed, but not its owner; pass a scope if the memories of several
users must not be mixed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import FactDraft
from commonplace.services.transfer.importers import vector_stores
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.naming import predicate_of
from commonplace.services.transfer.said import fact_said_at, said_at

SUBJECT: Final = "user"
TAG: Final = "mem0"
_HISTORY: Final = (
    "SELECT memory_id, new_memory, event, updated_at, created_at FROM history ORDER BY updated_at, rowid"
)
_COPIES: Final = frozenset({"data", "hash", "text_lemmatized"})
"""Fields that repeat the text of a memory."""


def read(path: Path, clock: Clock = utc_now) -> Read:
    """Yield the items of a vector store, a folder or one of its databases, or of a history.

    Expired memories, which mem0 hides, and mem0's entity index are left out.

    Raises:
        InvalidInputError: The path is none of these.
    """
    databases = vector_stores.databases_of(path) if path.is_dir() else [path]
    if not databases:
        raise InvalidInputError("source", "a vector store or the history of mem0", str(path))
    for database in databases:
        try:
            with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                points = vector_stores.points_of(connection)
                yield from _history(connection) if points is None else _memories(points, clock())
        except sqlite3.Error as error:
            expected = "a vector store or the history of mem0"
            raise InvalidInputError("source", expected, f"{database}: {error}") from None


def _history(connection: sqlite3.Connection) -> Iterator[FactDraft]:
    texts: dict[str, tuple[str, datetime | None]] = {}
    for memory_id, text, event, updated_at, created_at in connection.execute(_HISTORY):
        if event == "DELETE" or not text:
            texts.pop(memory_id, None)
        else:
            texts[memory_id] = text, said_at(updated_at, created_at)
    for memory_id, (text, told_at) in texts.items():
        yield _fact(SUBJECT, text, {"mem0_id": memory_id}, told_at)


def _memories(points: Iterator[vector_stores.Point | Unreadable], now: datetime) -> Read:
    for point in points:
        if isinstance(point, Unreadable):
            yield point
            continue
        payload = point.payload
        text = payload.get("data")
        if not isinstance(text, str) or "hash" not in payload or _has_expired(payload, now):
            continue
        subject = str(payload.get("user_id") or payload.get("agent_id") or SUBJECT)
        rest = {name: value for name, value in payload.items() if name not in _COPIES}
        told_at = said_at(payload.get("updated_at"), payload.get("created_at"))
        yield _fact(subject, text, {"mem0_id": point.id, "mem0": rest}, told_at)


def _has_expired(payload: dict[str, Any], now: datetime) -> bool:
    """Return whether the last day of a memory is over; a date that mem0 cannot read does not count."""
    try:
        last_day = datetime.strptime(str(payload.get("expiration_date")), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return now >= last_day + timedelta(days=1)


def _fact(subject: str, text: str, metadata: dict[str, Any], told_at: datetime | None) -> FactDraft:
    fact = FactDraft(
        subject=subject, predicate=predicate_of("memory", text), content=text, tags=(TAG,), metadata=metadata
    )
    return fact_said_at(fact, told_at)
