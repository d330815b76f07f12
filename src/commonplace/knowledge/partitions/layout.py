"""The layout of the tables of memories: plain tables, or a shared partition and partitions of large tenants."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from commonplace.core.errors import StorageUnavailableError
from commonplace.knowledge.reembedding.indexes import LONGEST_S
from commonplace.knowledge.reembedding.moves import require_ownership, work_of
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Row

TABLES: Final = ("episodes", "facts", "rules")

OLDEST_SERVER: Final = 180_000
"""The oldest version of PostgreSQL that can add a foreign key of a partitioned table without checking all rows."""

_DIGITS: Final = 12
_TENANT: Final = re.compile(r"FOR VALUES IN \('(.*)'\)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The partitions of one tenant, or the shared partitions.

    Attributes:
        tenant: ``None`` for the partition that all other tenants share.
        episodes: The row count in the latest server statistics; 0 if there are no statistics yet.
        facts: The row count, likewise.
        rules: The row count, likewise.
        bytes: The size of the tables with their indexes.
    """

    tenant: str | None
    episodes: int
    facts: int
    rules: int
    bytes: int


async def partitions(pool: asyncpg.Pool) -> list[Partition]:
    """Return the partitions of a database, the shared one first; empty if its tables are not prepared."""
    async with work_of(pool, readonly=True) as sql:
        rows = await sql.memory_partitions()
    found: dict[str | None, dict[str, tuple[int, int]]] = defaultdict(dict)
    for row in rows:
        match = _TENANT.fullmatch(row["bound"])
        found[match[1].replace("''", "'") if match else None][row["table_name"]] = (row["rows"], row["bytes"])
    return [
        Partition(
            tenant=tenant,
            bytes=sum(size for _, size in tables.values()),
            **{table: tables.get(table, (0, 0))[0] for table in TABLES},
        )
        for tenant, tables in sorted(found.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    ]


def shared_name(table: str) -> str:
    """Return the name of the shared partition of a table."""
    return f"{table}_shared"


def names_of(table: str, tenant: str) -> dict[str, str]:
    """Return the names of a table, of its shared partition and of a tenant's partition, with the tenant."""
    leaf = f"{table}_of_{hashlib.sha256(tenant.encode()).hexdigest()[:_DIGITS]}"
    return {"table_name": table, "shared": shared_name(table), "leaf": leaf, "tenant": tenant}


async def require_rights(pool: asyncpg.Pool) -> None:
    """Check that the tables can be exchanged, before a large table is copied.

    Raises:
        StorageUnavailableError: The server is too old, another role owns the tables, or this role may not create
            tables.
    """
    await require_ownership(pool)
    async with work_of(pool, readonly=True) as sql:
        found = await sql.server_and_rights()
    if found["version"] < OLDEST_SERVER:
        needed, version = (number // 10_000 for number in (OLDEST_SERVER, found["version"]))
        raise StorageUnavailableError(
            f"partitions need PostgreSQL {needed} or later, but the server runs {version}"
        )
    if not found["may_create"]:
        raise StorageUnavailableError(
            "this role may not create tables in its schema: connect as the owner of the database, or grant CREATE"
        )


async def execute_all(sql: KnowledgeStatements, steps: Sequence[Row], column: str = "statement") -> None:
    """Run statements that were read from the catalogue as rows with one column."""
    for step in steps:
        await sql.connection.execute(step[column], timeout=LONGEST_S)
