"""mem0: its history, the SQLite file ``history.db``.

The history names each memory and how its text changed. What remains of it, without deleted memories, becomes facts. It
does not say whose memories they are; give a scope if the memories of several users must not be mixed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import FactDraft
from commonplace.portability.items import Item
from commonplace.portability.naming import predicate_of

SUBJECT: Final = "user"
TAG: Final = "mem0"
_HISTORY: Final = "SELECT memory_id, new_memory, event FROM history ORDER BY updated_at, rowid"


def read(path: Path) -> Iterator[Item]:
    """Yield the items of a history.

    Raises:
        InvalidInputError: The file is not a history.
    """
    texts: dict[str, str] = {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            for memory_id, text, event in connection.execute(_HISTORY):
                if event == "DELETE" or not text:
                    texts.pop(memory_id, None)
                else:
                    texts[memory_id] = text
    except sqlite3.Error as error:
        raise InvalidInputError("source", "the history of mem0", f"{path}: {error}") from None
    for memory_id, text in texts.items():
        yield FactDraft(
            subject=SUBJECT,
            predicate=predicate_of(text),
            content=text,
            tags=(TAG,),
            metadata={"mem0_id": memory_id},
        )
