"""The statements of a move, written once and instantiated for each table of memories."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from commonplace.knowledge.store.statements import MoveStatements
from commonplace.storage.database import Statements, StatementSet, load_queries

_DIRECTORY: Final = Path(__file__).parent / "sql_by_table" / "reembedding"

TEXTS: Final[Mapping[str, str]] = {
    "episodes": "content",
    "facts": "subject || ' ' || predicate || ' ' || content",
    "rules": "content",
}
"""The embedded text of a row, by table; the same text that stores embed."""

SEARCHED: Final[Mapping[str, str]] = {"episodes": "", "facts": "WHERE validity = 'active'", "rules": ""}
"""The rows in the vector index, by table: the rows that a search may find."""


def of_table(table: str, sql: Statements) -> MoveStatements:
    """Return the statements of a table, on the connection of other statements."""
    return table_queries(table).on(sql.connection)


def of_leaf(table: str, leaf: str, sql: Statements) -> MoveStatements:
    """Return the statements of a table and of a partition of it, on the connection of other statements."""
    return table_queries(table, leaf).on(sql.connection)


@cache
def table_queries(table: str, leaf: str = "") -> StatementSet[MoveStatements]:
    """Return the named statements for a table of memories and, if given, one of its partitions. Cached."""
    gaps = {"memories": table, "leaf": leaf or table, "text": TEXTS[table], "searched": SEARCHED[table]}
    return load_queries(MoveStatements, [_DIRECTORY], "postgresql", gaps=gaps)
