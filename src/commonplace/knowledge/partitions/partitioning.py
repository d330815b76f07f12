"""Partitioning the tables of memories: preparing them once, then isolating one tenant at a time.

Preparing copies no row: each table becomes the shared partition of a new table with its name. Isolating copies the rows
of a tenant to its own partitions, which finally replace the shared rows. Triggers keep the copies up to date from the
first batch on, so memories stored meanwhile are not lost.
"""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.errors import ConflictError, NotFoundError
from commonplace.core.request_context import require_tenant
from commonplace.knowledge.partitions.exchanging import Change, exchange, validate_foreign_keys, when_free
from commonplace.knowledge.partitions.layout import (
    TABLES,
    Partition,
    execute_all,
    names_of,
    partitions,
    require_rights,
    shared_name,
)
from commonplace.knowledge.reembedding.indexes import LONGEST_S, building
from commonplace.knowledge.reembedding.moves import alone, work_of
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements

BATCH_ROWS: Final = 2_000
_FIRST: Final = UUID(int=0)

OnCopied = Callable[[int], None]
"""Gets the number of rows that were copied so far."""


class Partitions:
    """Partitions of the tables of memories by tenant; the tenant of the session does not matter."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def prepare(self) -> list[Partition]:
        """Partition each table of memories by tenant, with one shared partition; return the partitions.

        Memories can be stored and searched meanwhile, except during one transaction of milliseconds. If the tables are
        already prepared, only the leftovers of an interrupted call are finished.

        Raises:
            StorageUnavailableError: The server cannot be reached or is too old, this role may not change the tables,
                another process moves memories, or the tables stay in use.

        Source: SCL-05.
        """
        async with self._session.owning() as pool:
            await require_rights(pool)
            async with alone(pool):
                if not await partitions(pool):
                    await exchange(pool, _prepare)
                await validate_foreign_keys(pool)
            return await partitions(pool)

    async def isolate(
        self, tenant: str, *, batch_rows: int = BATCH_ROWS, on_copied: OnCopied = lambda _: None
    ) -> Partition:
        """Move a tenant's memories to their own partitions with their own indexes, and return the partitions.

        Memories of all tenants can be stored and searched meanwhile, except during one transaction at the end that
        deletes the tenant's rows from the shared tables and scans these tables once. An interrupted call leaves the
        memories unchanged; call again to start over.

        Args:
            tenant: The id of the tenant.
            batch_rows: Number of rows copied in one transaction.
            on_copied: Called after each batch.

        Raises:
            InvalidInputError: The tables are not prepared, or the tenant has partitions of its own already.
            NotFoundError: The tenant has never stored a memory.
            StorageUnavailableError: The server cannot be reached or is too old, this role may not change the tables,
                another process moves memories, or the tables stay in use.

        Source: SCL-05.
        """
        require_tenant(tenant)
        async with self._session.owning() as pool:
            await require_rights(pool)
            async with alone(pool):
                await _require_shared(pool, tenant)
                await _begin(pool, tenant)
                await _copy(pool, tenant, batch_rows, on_copied)
                await _build_indexes(pool, tenant)
                await exchange(pool, _leave(tenant), tenant=tenant)
                await validate_foreign_keys(pool)
                await _analyse(pool, tenant)
            return next(each for each in await partitions(pool) if each.tenant == tenant)

    async def list(self) -> list[Partition]:
        """Return the partitions, the shared one first; empty if the tables are not prepared."""
        async with self._session.owning() as pool:
            return await partitions(pool)


async def _prepare(sql: KnowledgeStatements) -> None:
    for table in TABLES:
        await execute_all(sql, await sql.preparing_steps(table_name=table, leaf=shared_name(table)))


async def _require_shared(pool: asyncpg.Pool, tenant: str) -> None:
    found = await partitions(pool)
    async with work_of(pool, tenant, readonly=True) as sql:
        is_known = await sql.tenant_is_known(tenant=tenant)
    if not found:
        message = "The tables have no partitions yet. Run `commonplace admin partitions prepare` first."
        raise ConflictError("tenant", message, tenant)
    if not is_known:
        raise NotFoundError("tenant", tenant)
    if any(each.tenant == tenant for each in found):
        raise ConflictError("tenant", f"The tenant {tenant} already has its own partition.", tenant)


async def _begin(pool: asyncpg.Pool, tenant: str) -> None:
    """Create empty, automatically updated tables, after removing the tables of an interrupted call."""
    for table in TABLES:
        await when_free(pool, _create(names_of(table, tenant)), tenant=tenant)


def _create(names: dict[str, str]) -> Change:
    async def create(sql: KnowledgeStatements) -> None:
        await execute_all(sql, await sql.abandoned_steps(leaf=names["leaf"]))
        await execute_all(sql, await sql.isolating_steps(**names))

    return create


async def _copy(pool: asyncpg.Pool, tenant: str, batch_rows: int, on_copied: OnCopied) -> None:
    copied = 0
    for table in TABLES:
        last: UUID | None = _FIRST
        while last is not None:
            rows, last = await when_free(
                pool, _batch(names_of(table, tenant), last, batch_rows), tenant=tenant
            )
            copied += rows
            on_copied(copied)


def _batch(
    names: dict[str, str], after: UUID, rows: int
) -> Callable[[KnowledgeStatements], Awaitable[tuple[int, UUID | None]]]:
    async def batch(sql: KnowledgeStatements) -> tuple[int, UUID | None]:
        statement = await sql.copying_statement(**names)
        copied = await sql.connection.fetchrow(statement, after, rows)
        return copied["rows"], copied["last"]

    return batch


async def _build_indexes(pool: asyncpg.Pool, tenant: str) -> None:
    for table in TABLES:
        async with work_of(pool, tenant, readonly=True) as sql:
            names = names_of(table, tenant)
            steps = await sql.index_steps(shared=names["shared"], leaf=names["leaf"])
        async with building(pool) as connection:
            for step in steps:
                await connection.execute(step["statement"], timeout=LONGEST_S)


def _leave(tenant: str) -> Change:
    async def leave(sql: KnowledgeStatements) -> None:
        for table in TABLES:
            await execute_all(sql, await sql.leaving_steps(**names_of(table, tenant)))

    return leave


async def _analyse(pool: asyncpg.Pool, tenant: str) -> None:
    for table in TABLES:
        async with work_of(pool) as sql:
            statement = await sql.analysing_statement(leaf=names_of(table, tenant)["leaf"])
            await sql.connection.execute(statement, timeout=LONGEST_S)
