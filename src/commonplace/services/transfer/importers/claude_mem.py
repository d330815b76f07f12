"""claude-mem: its SQLite file ``claude-mem.db``.

The facts and the narrative of an observation become facts about its title. A session summary becomes an episode. The
name of the project becomes the scope and the butler.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import is_blank
from commonplace.knowledge import GLOBAL_SCOPE, EpisodeDraft, FactDraft
from commonplace.services.transfer.importers.sqlite_files import opened, tables_of
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.naming import predicate_of, scope_of, subject_of, tags_of
from commonplace.services.transfer.said import fact_said_at, said_at

TAG: Final = "claude-mem"
TABLES: Final = frozenset({"observations", "session_summaries"})
_EXPECTED: Final = "a database of claude-mem"
_OBSERVATIONS: Final = """
SELECT * FROM observations ORDER BY id
"""
_SUMMARIES: Final = """
SELECT * FROM session_summaries ORDER BY id
"""
_PARTS: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_WRITTEN: Final = ("created_at", "created_at_epoch", "updated_at", "updated_at_epoch")
"""The columns with the time of a row, the best first."""
_TIME: Final = re.compile(r"_at|_at_epoch|epoch|timestamp|date|time")
_NO_TIMES: Final = frozenset({"synced_at", "expires_at", "deleted_at"})
_FACT_KEYS: Final = ("fact", "text", "content")
"""The keys of a text in a fact that is an object."""

_Row = Mapping[str, object]


def read(path: Path) -> Read:
    """Yield the items of a database.

    Raises:
        InvalidInputError: The file is not a database of claude-mem.
    """
    with opened(path, _EXPECTED) as connection:
        tables = tables_of(connection)
        if TABLES.isdisjoint(tables):
            raise InvalidInputError("source", _EXPECTED, str(path))
        if "observations" in tables:
            yield from _items(connection, _OBSERVATIONS, "observation", _observation)
        if "session_summaries" in tables:
            yield from _items(connection, _SUMMARIES, "summary", _summary)


def _items(
    connection: sqlite3.Connection, sql: str, kind: str, items_of: Callable[[_Row, str], Read]
) -> Read:
    rows = connection.execute(sql)
    names = [column[0] for column in rows.description]
    for values in rows:
        row = dict(zip(names, values, strict=True))
        place = f"{kind} {row.get('id')}"
        try:
            yield from list(items_of(row, place))
        except InvalidInputError as error:
            yield Unreadable(place=place, reason=str(error))


def _observation(row: _Row, place: str) -> Read:
    narrative = _text(row, "narrative") or _text(row, "text")
    kind = _text(row, "type")
    title = subject_of(_text(row, "title") or narrative or kind or "observation")
    scope = scope_of(_text(row, "project"), GLOBAL_SCOPE)
    concepts, _ = _texts(row, "concepts")
    facts, refused = _texts(row, "facts")
    texts = [(predicate_of("fact", fact), fact) for fact in facts]
    texts += [("summary", narrative)] if narrative else []
    for predicate, content in texts:
        fact = FactDraft(
            subject=title,
            predicate=predicate,
            content=content,
            scope=scope,
            tags=tags_of((TAG, kind, *concepts)),
        )
        yield fact_said_at(fact, _said_at(row))
    for reason in refused:
        yield Unreadable(place=place, reason=reason)


def _summary(row: _Row, _: str) -> Iterator[EpisodeDraft]:
    parts = [(part, _text(row, part)) for part in _PARTS]
    lines = [f"{part.replace('_', ' ').capitalize()}: {text}" for part, text in parts if text]
    if lines:
        yield EpisodeDraft(
            content="\n".join(lines),
            butler=scope_of(_text(row, "project"), TAG),
            created_at=_said_at(row),
            metadata={"source": TAG},
        )


def _said_at(row: _Row) -> datetime | None:
    """Return when a row was written: versions of the program have the time in different columns."""
    others = (name for name in row if _TIME.search(name) and name not in _NO_TIMES)
    return said_at(*(row.get(name) for name in (*_WRITTEN, *others)))


def _text(row: _Row, name: str) -> str:
    """Return the text of a column; empty if there is none.

    Raises:
        InvalidInputError: The column holds something else.
    """
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(name, "a text", value)
    return "" if value is None or is_blank(value) else value


def _texts(row: _Row, name: str) -> tuple[list[str], list[str]]:
    """Return the texts of a column with a JSON list, and the reasons why it or parts of it are no texts."""
    content = _text(row, name)
    try:
        listed: object = json.loads(content) if content else []
    except (ValueError, RecursionError) as error:
        return [], [f"{name}: expected a list in JSON: {error}"]
    if not isinstance(listed, list):
        return [], [] if listed is None else [str(InvalidInputError(name, "a list", listed))]
    values = [_fact_text(each) for each in cast("list[object]", listed)]
    texts = [each for each in values if isinstance(each, str) and not is_blank(each)]
    return texts, [
        str(InvalidInputError(name, "texts", each)) for each in values if not isinstance(each, str)
    ]


def _fact_text(value: object) -> object:
    """Return the text of a fact that is an object; any other value as it is."""
    if not isinstance(value, dict):
        return value
    fact = cast("dict[str, object]", value)
    return next((fact[key] for key in _FACT_KEYS if isinstance(fact.get(key), str)), fact)
