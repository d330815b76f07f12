"""Databases that tests use one after the other.

A new database costs a test 60 ms of a processor: the copy of the template, its end, and the first statements of each
connection, for which the server reads its catalogue. A database that was emptied, with connections that have run
statements before, costs 10 ms.

What a test may leave behind decides whether its database is used again: the rows are deleted and the sequences begin
again, but a database with another schema, other statistics, other settings or connections that stay open is dropped.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import asyncpg

from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.embedded import Membership
from commonplace.storage.postgres import close_pool, open_pool
from support.pooler import MODE
from support.postgres import database_name, fresh_database

USES: Final = 40
"""Indexes keep what was deleted until a vacuum: searches get slower with each use."""

CLOSING_TRIES: Final = 50
"""The server takes some milliseconds to end connections that were closed."""

OWN: Final = "database of tests"
"""The name of the connections that stay open between tests."""

FIRST_OID: Final = 16384
"""The server's own objects have smaller ids. Statistics change rows of pg_class in place, without a new xmin."""

STATE: Final = """
SELECT
  concat_ws(' ',
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint), sum(reltuples)) FROM pg_class WHERE oid >= $1),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_attribute WHERE attrelid >= $1),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_proc WHERE oid >= $1),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_type WHERE oid >= $1),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_constraint),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_index WHERE indexrelid >= $1),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_trigger),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_policy),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_attrdef),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_namespace),
    (SELECT concat_ws(' ', count(*), sum(xmin::text::bigint)) FROM pg_db_role_setting),
    (SELECT xmin FROM pg_database WHERE datname = current_database())
  ) AS schema,
  ARRAY(SELECT oid::regclass::text FROM pg_class
        WHERE relkind = 'r' AND oid >= $1 AND pg_relation_size(oid) > 0) AS tables
"""

RESTART: Final = """
SELECT setval(seqrelid, seqstart, false) FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""

CONNECTIONS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name <> $1 AND backend_type = 'client backend'
"""


class ReusableDatabase:
    """A database that one test at a time uses.

    Attributes:
        url: The URL for the application's role.
    """

    def __init__(
        self, url: str, admin: asyncpg.Connection, template: asyncpg.Record, template_rows: list[str | None]
    ) -> None:
        self.url = url
        self._admin = admin
        self._template = template
        self._template_rows = template_rows
        self._pool: asyncpg.Pool | None = None
        self._uses = 0

    @classmethod
    async def open(cls, cluster: Membership, stack: AsyncExitStack, *, template: str) -> "ReusableDatabase":
        """Copy a template; the end of the stack drops the copy."""
        url = await stack.enter_async_context(fresh_database(cluster, template=template))
        # As a replica, the server deletes rows without triggers and foreign keys.
        settings = {"application_name": OWN, "session_replication_role": "replica"}
        name = database_name(url)
        admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database=name), server_settings=settings)
        stack.push_async_callback(admin.close)
        catalogue = await _catalogue(admin)
        return cls(url, admin, catalogue, await _rows(admin, catalogue["tables"]))

    async def pool(self) -> asyncpg.Pool:
        """Return the pool of connections, which stays open between tests."""
        if self._pool is None or self._pool.is_closing():
            self._pool = await open_pool(self.url, application_name=OWN)
        return self._pool

    async def close_pool(self) -> None:
        """Close the pool, if any."""
        if self._pool is not None:
            await close_pool(self._pool)

    async def empty(self) -> bool:
        """Make the database as it was, or return ``False`` if that would take more than deleting rows."""
        self._uses += 1
        if self._uses == USES or MODE is not None or not await self._is_unused():
            return False
        state = await _catalogue(self._admin)
        if state["schema"] != self._template["schema"]:
            return False
        if await _rows(self._admin, self._template["tables"]) != self._template_rows:
            return False
        tables = [table for table in state["tables"] if table not in self._template["tables"]]
        deletions = [f"DELETE FROM {table}" for table in tables]  # noqa: S608 - names of the catalogue
        await self._admin.execute("; ".join([*deletions, RESTART]))
        return True

    async def _is_unused(self) -> bool:
        """Return whether all connections but those that stay open are closed, as soon as they are."""
        if self._pool is not None and self._pool.get_size() > self._pool.get_idle_size():
            return False
        for _ in range(CLOSING_TRIES):
            if not await self._admin.fetchval(CONNECTIONS, OWN):
                return True
            await asyncio.sleep(0.005)
        return False


async def _catalogue(connection: asyncpg.Connection) -> asyncpg.Record:
    row = await connection.fetchrow(STATE, FIRST_OID)
    assert row is not None
    return row


async def _rows(connection: asyncpg.Connection, tables: list[str]) -> list[str | None]:
    """Return the rows of some tables, as text."""
    query = "SELECT string_agg(row::text, ' ' ORDER BY row::text) FROM {} AS row"
    return [await connection.fetchval(query.format(table)) for table in tables]


class DatabaseStock:
    """Copies of one template, one for each test that runs at a time; tests in a row share a copy."""

    def __init__(self, cluster: Membership, template: str) -> None:
        self._cluster = cluster
        self._template = template
        self._unused: list[tuple[ReusableDatabase, AsyncExitStack]] = []

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[ReusableDatabase]:
        """Yield an empty database with the schema of the template."""
        database, stack = self._unused.pop() if self._unused else await self._new()
        try:
            yield database
            reusable = await database.empty()
        except BaseException:
            await stack.aclose()
            raise
        if reusable:
            self._unused.append((database, stack))
        else:
            await stack.aclose()

    async def close(self) -> None:
        """Drop all databases."""
        for _, stack in self._unused:
            await stack.aclose()

    async def _new(self) -> tuple[ReusableDatabase, AsyncExitStack]:
        stack = AsyncExitStack()
        database = await ReusableDatabase.open(self._cluster, stack, template=self._template)
        stack.push_async_callback(database.close_pool)
        return database, stack
