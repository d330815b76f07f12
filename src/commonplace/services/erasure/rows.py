"""One interface to the rows of any table in SQLite and PostgreSQL.

Tables and columns come from the catalogue of the database and are quoted; values are always parameters ``$1``, ``$2``.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import asyncpg

Row = Mapping[str, Any]
_TEXT_TYPES: Final = frozenset({"text", "character varying", "json", "jsonb", "ARRAY"})
_COLUMNS: Final = """
SELECT table_name, column_name, data_type FROM information_schema.columns JOIN information_schema.tables
USING (table_schema, table_name)
WHERE table_schema = ANY (current_schemas(false)) AND table_type = 'BASE TABLE'
ORDER BY ordinal_position
"""


class Rows(Protocol):
    """The rows of one database, in a transaction of the caller."""

    place: str
    """The expression for a row's place in its table."""

    async def columns(self) -> dict[str, dict[str, bool]]:
        """Return the columns of each table, and whether each column holds text."""
        ...

    async def run(self, sql: str, *values: object) -> list[Row]:
        """Run a statement."""
        ...

    def matches(self, column: str, parameter: str) -> str:
        """Return the condition that a column matches a regular expression, ignoring case."""
        ...

    def among(self, column: str, parameter: str) -> str:
        """Return the condition that a column, as text, is in a list."""
        ...

    def holds(self, column: str, parameter: str) -> str:
        """Return the condition that a column contains any text of a list."""
        ...

    def listed(self, values: Iterable[str]) -> object:
        """Return a list as a parameter."""
        ...


class SQLiteRows:
    """The rows of a SQLite file."""

    place = "rowid"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.create_function("regexp", 2, _regexp, deterministic=True)

    async def columns(self) -> dict[str, dict[str, bool]]:
        """Return the columns of each table, and whether each column holds text."""
        found: dict[str, dict[str, bool]] = {}
        for row in await self.run(
            "SELECT m.name AS table_name, c.name, c.type FROM sqlite_master AS m, pragma_table_info(m.name) AS c "
            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'"
        ):
            is_text = row["type"].upper() not in {"INTEGER", "REAL", "FLOAT", "BLOB"}
            found.setdefault(row["table_name"], {})[row["name"]] = is_text
        return found

    async def run(self, sql: str, *values: object) -> list[Row]:
        """Run a statement."""
        named = {str(number): value for number, value in enumerate(values, start=1)}
        return [dict(row) for row in self._connection.execute(sql, named)]

    def matches(self, column: str, parameter: str) -> str:
        """Return the condition that a column matches a regular expression, ignoring case."""
        return f"{column} REGEXP {parameter}"

    def among(self, column: str, parameter: str) -> str:
        """Return the condition that a column, as text, is in a list."""
        return f"CAST({column} AS TEXT) IN (SELECT value FROM json_each({parameter}))"  # noqa: S608 - names, see above

    def holds(self, column: str, parameter: str) -> str:
        """Return the condition that a column contains any text of a list."""
        return f"EXISTS (SELECT 1 FROM json_each({parameter}) WHERE instr({column}, value) > 0)"  # noqa: S608 - as above

    def listed(self, values: Iterable[str]) -> object:
        """Return a list as a parameter."""
        return json.dumps(list(values))


class PostgresRows:
    """The rows of a PostgreSQL database that the connection's role and tenant see."""

    place = "ctid"

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def columns(self) -> dict[str, dict[str, bool]]:
        """Return the columns of each table, and whether each column holds text."""
        found: dict[str, dict[str, bool]] = {}
        for row in await self.run(_COLUMNS):
            found.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"] in _TEXT_TYPES
        return found

    async def run(self, sql: str, *values: object) -> list[Row]:
        """Run a statement."""
        return [dict(row) for row in await self._connection.fetch(sql, *values)]

    def matches(self, column: str, parameter: str) -> str:
        """Return the condition that a column matches a regular expression, ignoring case."""
        return f"CAST({column} AS text) ~* CAST({parameter} AS text)"

    def among(self, column: str, parameter: str) -> str:
        """Return the condition that a column, as text, is in a list, or that an array has an element in the list."""
        if column == '"episode_ids"':
            return f"CAST({column} AS text[]) && CAST({parameter} AS text[])"
        return f"CAST({column} AS text) = ANY (CAST({parameter} AS text[]))"

    def holds(self, column: str, parameter: str) -> str:
        """Return the condition that a column contains any text of a list."""
        return (
            f"EXISTS (SELECT FROM unnest(CAST({parameter} AS text[])) AS piece "
            f"WHERE strpos(CAST({column} AS text), piece) > 0)"
        )

    def listed(self, values: Iterable[str]) -> object:
        """Return a list as a parameter."""
        return list(values)


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _regexp(pattern: str, value: object) -> bool:
    return value is not None and _compiled(pattern).search(str(value)) is not None
