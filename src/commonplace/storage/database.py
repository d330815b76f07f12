"""One interface for SQLite and PostgreSQL: transactions that run a memory's named statements.

A memory has its SQL in ``.sql`` files, in the dialect that both databases share: named parameters, ``RETURNING``,
``ON CONFLICT``, ``CAST``, ``IS NOT DISTINCT FROM``. A statement may lock rows with ``FOR UPDATE``, which is removed for
SQLite, because its writing transactions exclude each other anyway.
"""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar, cast

import aiosql
import aiosqlite
from aiosql.adapters.aiosqlite import AioSQLiteAdapter
from aiosql.queries import Queries
from aiosql.query_loader import QueryLoader
from aiosql.types import QueryDatum

from commonplace.core.errors import InvalidInputError
from commonplace.core.pages import require_page
from commonplace.core.text import is_clean

Dialect = Literal["sqlite", "postgresql"]
Row = Mapping[str, object]
"""A row of a statement; its header declares the columns that are read by name."""
Columns = Mapping[str, Any]
"""A row as a noun reads it, with the columns that the noun's fields name."""

FITTING: Final = "a value of the type that the column holds"
"""The expected form of a value that a driver refuses, in an error."""

LARGEST_NUMBER: Final = 2**63 - 1
"""The largest whole number that a column can hold."""


class Statements:
    """The named statements of some ``.sql`` files, bound to one connection.

    ``await sql.name(parameter=…)`` runs the statement with that name. The mark after its name in the ``.sql`` file
    determines the result: without a mark, a list of rows; with ``^``, one row or ``None``; with ``$``, one value or
    ``None``; with ``!``, no result.

    A memory derives a class from this one for each set of files that it loads together. ``scripts/statements.py``
    writes the types of its statements into a stub, from the headers in the files.

    Attributes:
        begun: The row of the statement that began the transaction, if any.
    """

    def __init__(self, queries: Queries, connection: object) -> None:
        self._queries = queries
        self._connection = connection
        self.begun: Columns | None = None

    @property
    def connection(self) -> Any:  # noqa: ANN401 - asyncpg has no types, and aiosqlite's differ
        """The driver's connection, for operations that a named statement cannot express."""
        return self._connection

    def _bound(self, name: str) -> Callable[..., Awaitable[object]]:
        statement: Callable[..., Any] = getattr(self._queries, name)
        connection = self._connection

        async def run(**parameters: object) -> object:
            _require_storable(parameters)
            result = statement(connection, **parameters)
            if hasattr(result, "__aiter__"):
                return [cast("Row", row) async for row in result]
            return await result

        return run

    if not TYPE_CHECKING:  # The stubs of the derived classes know each statement.
        __getattr__ = _bound


AnyStatements = TypeVar("AnyStatements", bound=Statements)


@dataclass(frozen=True, slots=True)
class StatementSet(Generic[AnyStatements]):
    """The named statements of some ``.sql`` files, for the driver of one server.

    Attributes:
        kind: The class that knows their types.
    """

    kind: type[AnyStatements]
    queries: Queries

    def on(self, connection: object) -> AnyStatements:
        """Return the statements, bound to a connection."""
        return self.kind(self.queries, connection)

    def text_of(self, name: str) -> str:
        """Return the SQL of a statement as the driver gets it."""
        return getattr(self.queries, name).sql

    @property
    def names(self) -> list[str]:
        """The names of the statements, sorted."""
        return [name for name in self.queries.available_queries if not name.endswith("_cursor")]


def _require_storable(parameters: Mapping[str, object]) -> None:
    """Refuse a number or a text that no column can hold, and a page that does not exist.

    Raises:
        InvalidInputError: A number needs more than eight bytes, a text has NUL or lone surrogates, or ``limit`` or
            ``offset`` is out of range.
    """
    if "limit" in parameters or "offset" in parameters:
        require_page(parameters.get("limit", 1), parameters.get("offset", 0))
    for name, value in parameters.items():
        if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            raise InvalidInputError(name, f"a number of at most {LARGEST_NUMBER}", value)
        if isinstance(value, str) and not is_clean(value):
            raise InvalidInputError(name, "text without NUL and lone surrogates", value)


class Database(Protocol):
    """An open, migrated database, shared by everything in this process."""

    dialect: Dialect
    where: str
    """A description of the database for messages, without the password."""

    def transaction(
        self, queries: StatementSet[AnyStatements], *, lock: str | None = None
    ) -> AbstractAsyncContextManager[AnyStatements]:
        """Open a transaction that commits at the end of the block and rolls back on any exception.

        Args:
            queries: The result of :func:`load_queries`.
            lock: Transactions with the same lock run one after the other, across all processes. Use it for a step that
                reads, decides and writes and that no row lock covers.

        Raises:
            StorageUnavailableError: The database cannot be reached or written; nothing was written.
        """
        ...

    def reading(
        self, queries: StatementSet[AnyStatements], *, once: bool = False
    ) -> AbstractAsyncContextManager[AnyStatements]:
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


_NAME: Final = re.compile(r"--\s*name\s*:\s*")

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


class StatementLoader(QueryLoader):
    """A loader of files without comments of the form ``/* … */``.

    aiosql looks for such comments at each character of a file, for half of the time that all statements take.
    """

    def load_query_data_from_sql(
        self, sql: str, ns_parts: list[str], fname: Path | str = "<unknown>"
    ) -> list[QueryDatum]:
        """Return each statement of a text."""
        return [self._make_query_datum(each, ns_parts, (fname, 1)) for each in _NAME.split(sql)[1:]]


_ADAPTERS: Mapping[Dialect, str | type[_SQLiteAdapter]] = {
    "sqlite": _SQLiteAdapter,
    "postgresql": "asyncpg",
}


def containing(text: str) -> str:
    """Return a LIKE pattern for texts that contain a text; ``!`` escapes wildcards."""
    literal = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"


def load_queries(
    kind: type[AnyStatements],
    directories: Iterable[Path],
    dialect: Dialect,
    *,
    gaps: Mapping[str, str] = MappingProxyType({}),
) -> StatementSet[AnyStatements]:
    """Load the named statements of every ``.sql`` file in some directories, for the driver of one server.

    Args:
        kind: The class that knows their types.
        directories: The directories, without those inside them.
        dialect: The server's.
        gaps: Replace ``${name}`` in the files: constants of the program, never a caller's values.
    """
    files = [file for directory in directories for file in sorted(directory.glob("*.sql"))]
    text = Template("\n\n".join(file.read_text(encoding="utf-8") for file in files)).safe_substitute(gaps)
    adapter: Any = _ADAPTERS[dialect]  # aiosql's types know adapters of blocking drivers alone
    queries = aiosql.from_str(text, adapter, loader_cls=StatementLoader)  # pyright: ignore[reportUnknownMemberType] - its stubs
    return StatementSet(kind, queries)
