"""SQLite files of other programs, opened for reading."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError

_TABLES: Final = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"


@contextmanager
def opened(path: Path, expected: str) -> Generator[sqlite3.Connection]:
    """Open a database for reading; text that is not UTF-8 is read with replacement characters.

    ``expected`` says in an error what the file should be.

    Raises:
        InvalidInputError: The file cannot be read as a database.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = _text
            yield connection
    except sqlite3.Error as error:
        raise InvalidInputError("source", expected, f"{path}: {error}") from None


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def tables_of(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the tables and views of a database.

    Raises:
        sqlite3.Error: The file is not a database.
    """
    return {name for (name,) in connection.execute(_TABLES)}
