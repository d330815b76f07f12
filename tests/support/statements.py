"""Named statements, checked against a real server."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from commonplace.storage.database import StatementSet
from commonplace.storage.store import Store
from support.scripts import script

PYTHON_TYPES = {
    "bool": "bool",
    "bytea": "bytes",
    "date": "date",
    "float4": "float",
    "float8": "float",
    "int4": "int",
    "int8": "int",
    "name": "str",
    "text": "str",
    "timestamptz": "datetime",
    "uuid": "UUID",
    "varchar": "str",
}
"""The Python type of each type of the server; JSON may have any."""


async def prepare_all(store: Store[Any]) -> int:
    """Let the server parse every statement of a store; return how many there are."""
    queries = store._queries
    async with store.writing() as sql:
        if store._database.dialect == "postgresql":
            return await prepare_set(sql.connection, queries)
        for name in queries.names:
            statement = getattr(queries.queries, name)
            parameters = dict.fromkeys(statement.parameters or ())
            async with sql.connection.execute(f"EXPLAIN {statement.sql}", parameters) as cursor:
                assert await cursor.fetchall()
    return len(queries.names)


async def prepare_set(
    connection: asyncpg.Connection | PoolConnectionProxy,
    queries: StatementSet[Any],
    names: Collection[str] | None = None,
) -> int:
    """Let PostgreSQL parse every statement of a set, or some, and compare what they return with their headers."""
    declared = declarations()[queries.kind.__name__]
    chosen = queries.names if names is None else names
    faults: list[str] = []
    for name in chosen:
        prepared = await connection.prepare(queries.text_of(name))
        faults += _faults(declared[name], {each.name: each.type for each in prepared.get_attributes()})
    assert not faults, "\n".join(faults)
    return len(chosen)


@cache
def declarations() -> Mapping[str, Mapping[str, Any]]:
    """Return the declared statements by the name of their class and their own name."""
    made = script("statements")
    return {
        kind: {statement.name: statement for statement in members}
        for module in made.modules(made.PACKAGE)
        for kind, members in made.sets_of(module, made.PACKAGE).items()
    }


def _faults(statement: Any, types: Mapping[str, asyncpg.Type]) -> Iterator[str]:  # noqa: ANN401 - of a script
    columns = dict(statement.columns)
    if "Row" not in statement.returns and statement.returns != "object":
        columns[next(iter(types))] = statement.returns
    for name, kind in columns.items():
        if name not in types:
            yield f"{statement.name} returns no column {name}"
        elif not _fits(kind, types[name].name):
            yield f"{statement.name} declares {name} as {kind}, but the server returns {types[name].name}"


def _fits(declared: str, returned: str) -> bool:
    if returned in {"json", "jsonb"}:
        return True
    if returned.endswith("[]"):
        return declared.startswith("list[")
    return re.sub(r" \| None$", "", declared) == PYTHON_TYPES.get(returned)
