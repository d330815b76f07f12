"""claude-mem: its SQLite file ``claude-mem.db``.

The facts and the narrative of an observation become facts about its title. A session summary becomes an episode. The
name of the project becomes the scope and the butler.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import EpisodeDraft, FactDraft
from commonplace.services.transfer.items import Item, Read, Unreadable
from commonplace.services.transfer.naming import predicate_of
from commonplace.services.transfer.said import fact_said_at, said_at

TAG: Final = "claude-mem"
MAX_TITLE_CHARS: Final = 256
_OBSERVATIONS: Final = """
SELECT * FROM observations ORDER BY id
"""
_SUMMARIES: Final = """
SELECT * FROM session_summaries ORDER BY id
"""
_PARTS: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def read(path: Path) -> Read:
    """Yield the items of a database.

    Raises:
        InvalidInputError: The file is not a database of claude-mem.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            for what, sql, items_of in (
                ("observation", _OBSERVATIONS, _observation),
                ("summary", _SUMMARIES, _summary),
            ):
                for row in connection.execute(sql):
                    try:
                        yield from list(items_of(row))
                    except ValueError as error:
                        yield Unreadable(place=f"{what} {row['id']}", reason=str(error))
    except sqlite3.Error as error:
        raise InvalidInputError("source", "a database of claude-mem", f"{path}: {error}") from None


def _observation(row: sqlite3.Row) -> Iterator[Item]:
    narrative = row["narrative"] or row["text"] or ""
    title = (row["title"] or narrative or row["type"])[:MAX_TITLE_CHARS]
    tags = tuple(dict.fromkeys((TAG, row["type"], *_list(row["concepts"]))))
    texts = [(predicate_of("fact", fact), fact) for fact in _list(row["facts"])]
    texts += [("summary", narrative)] if narrative else []
    for predicate, content in texts:
        fact = FactDraft(subject=title, predicate=predicate, content=content, scope=row["project"], tags=tags)
        yield fact_said_at(fact, _said_at(row))


def _summary(row: sqlite3.Row) -> Iterator[Item]:
    parts = [f"{part.replace('_', ' ').capitalize()}: {row[part]}" for part in _PARTS if row[part]]
    if parts:
        yield EpisodeDraft(
            content="\n".join(parts),
            butler=row["project"],
            created_at=_said_at(row),
            metadata={"source": TAG},
        )


def _said_at(row: sqlite3.Row) -> datetime | None:
    """Return when a row was written; earlier versions of the program have one of the columns."""
    columns = row.keys()
    return said_at(*(row[name] for name in ("created_at", "created_at_epoch") if name in columns))


def _list(text: str | None) -> list[str]:
    listed: object = json.loads(text) if text else []
    return [str(each) for each in cast("list[object]", listed)] if isinstance(listed, list) else []
