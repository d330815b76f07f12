"""One interface for SQLite and PostgreSQL: transactions that run a memory's named statements.

A memory has its SQL in ``.sql`` files, in the dialect that both databases share: named parameters, ``RETURNING``,
``ON CONFLICT``, ``CAST``, ``IS NOT DISTINCT FROM``. A statement may lock rows with ``FOR UPDATE``, which is removed for
SQLite, because its writing transactions exclude each other anyway.
"""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, cast

import aiosql
import aiosqlite
from aiosql.adapters.aiosqlite import AioSQLiteAdapter
from aiosql.queries import Queries

from commonplace.core.errors import InvalidInputError
from commonplace.core.pages import require_page
from commonplace.core.text import clean_text

Dialect = Literal["sqlite", "postgresql"]
Row = Mapping[str, Any]

FITTING: Final = "a value of the type that the column holds"
"""The expected form of a value that a driver refuses, in an error."""

LARGEST_NUMBER: Final = 2**63 - 1
"""The largest whole number that a column can hold."""


class Statements:
    """The named statements of a memory, bound to one connection.

    ``await statements.name(parameter=…)`` runs the statement with that name. The mark after its name in the ``.sql``
    file determines the result: without a mark, a list of rows; with ``^``, one row or ``None``; with ``$``, one value
    or ``None``.

    Attributes:
        begun: The row of the statement that began the transaction, if any.
    """

    def __init__(self, queries: Queries, connection: object) -> None:
        self._queries = queries
        self._connection = connection
        self.begun: Row | None = None

    @property
    def connection(self) -> Any:  # noqa: ANN401 - asyncpg has no types, and aiosqlite's differ
        """The driver's connection, for operations that a named statement cannot express."""
        return self._connection

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        statement: Callable[..., Any] = getattr(self._queries, name)
        connection = self._connection

        async def run(**parameters: object) -> object:
            _require_storable(parameters)
            result = statement(connection, **parameters)
            if hasattr(result, "__aiter__"):
                return [cast("Row", row) async for row in result]
            return await result

        return run


def _require_storable(parameters: Mapping[str, object]) -> None:
    """Refuse a number or a text that no column can hold, and a page that does not exist.

    Raises:
        InvalidInputError: A number needs more than eight bytes, a text has NUL or lone surrogates, or ``limit`` or
            ``offset`` is out of range.
    """
    require_page(parameters.get("limit", 1), parameters.get("offset", 0))
    for name, value in parameters.items():
        if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            raise InvalidInputError(name, f"a number of at most {LARGEST_NUMBER}", value)
        if isinstance(value, str) and clean_text(value) != value:
            raise InvalidInputError(name, "text without NUL and lone surrogates", value)


class Database(Protocol):
    """An open, migrated database, shared by everything in this process."""

    dialect: Dialect
    where: str
    """A description of the database for messages, without the password."""

    def transaction(
        self, queries: Queries, *, lock: str | None = None
    ) -> AbstractAsyncContextManager[Statements]:
        """Open a transaction that commits at the end of the block and rolls back on any exception.

        Args:
            queries: The result of :func:`load_queries`.
            lock: Transactions with the same lock run one after the other, across all processes. Use it for a step that
                reads, decides and writes and that no row lock covers.

        Raises:
            StorageUnavailableError: The database cannot be reached or written; nothing was written.
        """
        ...

    def reading(self, queries: Queries, *, once: bool = False) -> AbstractAsyncContextManager[Statements]:
        """Open a consistent read-only view.

        Args:
            queries: The result of :func:`load_queries`.
            once: Whether the block runs one statement only, which needs no transaction.

        Raises:
            StorageUnavailableError: The database cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Release every connection; a second call does nothing."""
        ...


_ROW_LOCK: Final = re.compile(r"\s+FOR UPDATE( OF \w+)?(?=;)")


class _SQLiteAdapter(AioSQLiteAdapter):
    """The adapter for SQLite, which has no row locks."""

    def process_sql(self, _query_name: str, _op_type: object, sql: str) -> str:
        """Return a statement without the row lock at its end."""
        return _ROW_LOCK.sub("", sql)

    async def select_one(
        self,
        conn: aiosqlite.Connection,
        _query_name: str,
        sql: str,
        parameters: Any,  # noqa: ANN401 - as aiosql's
        record_class: object = None,  # noqa: ARG002 - as aiosql's
    ) -> sqlite3.Row | None:
        """Return the first row, in one call of the connection's thread instead of three."""
        return next(iter(await conn.execute_fetchall(sql, parameters)), None)


_ADAPTERS: Mapping[Dialect, str | type[_SQLiteAdapter]] = {
    "sqlite": _SQLiteAdapter,
    "postgresql": "asyncpg",
}


def containing(text: str) -> str:
    """Return a LIKE pattern for texts that contain a text; ``!`` escapes wildcards."""
    literal = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"


def load_queries(
    directories: Iterable[Path], dialect: Dialect, *, gaps: Mapping[str, str] = MappingProxyType({})
) -> Queries:
    """Load the named statements of every ``.sql`` file in some directories, for the driver of one server.

    ``gaps`` replace ``${name}`` in the files: constants of the program, never a caller's values.
    """
    files = [file for directory in directories for file in sorted(directory.glob("*.sql"))]
    text = Template("\n\n".join(file.read_text(encoding="utf-8") for file in files)).safe_substitute(gaps)
    return aiosql.from_str(text, _ADAPTERS[dialect])  # pyright: ignore[reportUnknownMemberType, reportArgumentType] - its stubs
