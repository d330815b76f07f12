"""The database of knowledge memory: PostgreSQL, embedded or by URL, which is started, migrated and connected once.

A client of an MCP server waits about a second for the handshake, and a first start of PostgreSQL takes longer. So
the database is opened in the background, and the first call waits for it.
"""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import asyncpg

from commonplace.core.settings import Settings
from commonplace.knowledge.store.replicas import Replicas
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.migrations.opening import before_upgrade, before_upgrade_by_url
from commonplace.storage.migrations.runner import Branch, is_current, migrate_postgres, postgres_revisions
from commonplace.storage.postgres import access_to, close_pool, open_current_pool, open_pool
from commonplace.storage.postgres_access import Access, PostgresUrls, with_owner
from commonplace.storage.postgres_database import translated_errors
from commonplace.storage.postgres_url import require_direct

if TYPE_CHECKING:
    from pathlib import Path

BRANCH: Final[Branch] = "memory"


class KnowledgeDatabase:
    """The server that the settings name, opened by the first call of :meth:`pool`.

    A call after a failed opening tries again. No call is allowed after :meth:`close`.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._opening: asyncio.Future[asyncpg.Pool] | None = None
        self._resources = AsyncExitStack()
        self._source: str | PostgresUrls | EmbeddedPostgres = settings.postgres_url or ""
        self.home: Path | None = settings.home
        """The home with the clock guard; ``None`` for a pool that a caller opened."""
        self.replicas: Replicas | None = None
        """The replicas that the settings name, once the database is open."""
        self.was_tried = False
        """Whether an opening has ended, successfully or not; from then on, answers come at once."""
        self.answered_at = -math.inf
        """When work on the database last succeeded, by the event loop's clock in seconds."""

    @classmethod
    def of(cls, pool: asyncpg.Pool) -> Self:
        """Return the database behind an open pool; the caller closes the pool."""
        database = cls(Settings())
        database.home = None
        database._opening = asyncio.get_running_loop().create_future()
        database._opening.set_result(pool)
        return database

    def begin(self) -> asyncio.Future[asyncpg.Pool]:
        """Start opening the database in the background if necessary, and return the task; do not cancel it."""
        if self._opening is None or (self._opening.done() and _failed(self._opening)):
            self._opening = asyncio.create_task(self._open(), name="opening knowledge memory")
            self._opening.add_done_callback(self._note)
        return self._opening

    async def pool(self) -> asyncpg.Pool:
        """Return the pool of connections; wait until the database is open.

        Raises:
            SettingsError: The URL is not a PostgreSQL URL.
            StorageError: The server cannot be started or reached, or its schema is newer than this release.
        """
        # The opening serves all callers, so a cancelled caller must not cancel it.
        return await asyncio.shield(self.begin())

    async def readers(self) -> asyncpg.Pool | Replicas:
        """Return the source of read-only connections: the replicas, if any, else :meth:`pool`.

        Raises:
            SettingsError: A URL is not a PostgreSQL URL.
            StorageError: The server cannot be started or reached, or its schema is newer than this release.
        """
        pool = await self.pool()
        return self.replicas or pool

    @asynccontextmanager
    async def owner_pool(self) -> AsyncGenerator[asyncpg.Pool]:
        """Open a pool of the owner of the tables, and close it at the end of the block.

        Raises:
            SettingsError: The URL is not a PostgreSQL URL, or leads to a pooler.
            StorageError: The server cannot be started or reached, or its schema is newer than this release.
        """
        pool = await self.pool()
        work = "a move to another embedding model"
        if isinstance(self._source, PostgresUrls):
            require_direct(self._source.owner_url, work)
        if isinstance(self._source, str):
            require_direct(self._source, work)
            yield pool  # A single URL names the owner.
            return
        owners = await open_pool(self._source, as_owner=True)
        try:
            yield owners
        finally:
            await close_pool(owners)

    async def access(self, *, as_owner: bool = False) -> Access:
        """Return the access for another driver to the same database; restart the server if it has died.

        Raises:
            SettingsError: The URL is not a PostgreSQL URL.
            StorageError: The server cannot be started or reached, or its schema is newer than this release.
        """
        await self.pool()
        return await access_to(self._source, as_owner=as_owner)

    async def revisions(self) -> set[str]:
        """Return the revisions of the tables, which another process may change.

        Raises:
            StorageError: The server cannot be reached.
        """
        pool = await self.pool()
        with translated_errors("knowledge memory"):
            async with pool.acquire() as connection:
                return await postgres_revisions(connection)

    async def close(self) -> None:
        """Close the connections, and release the embedded server."""
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        await self._resources.aclose()

    def _note(self, opening: asyncio.Future[asyncpg.Pool]) -> None:
        self.was_tried = True
        _failed(opening)

    async def _open(self) -> asyncpg.Pool:
        async with AsyncExitStack() as stack:
            url = self.settings.postgres_url
            if url:
                source = with_owner(url, self.settings)
                await migrate_postgres(source, BRANCH, before=before_upgrade_by_url(url))
                pool = await open_pool(source)
            else:
                source = await stack.enter_async_context(EmbeddedPostgres(self.settings.postgres_directory))
                pool = await self._embedded_pool(source)
            stack.push_async_callback(close_pool, pool)
            ClockGuard(self.settings.home).fault()
            if self.settings.postgres_url and self.settings.postgres_read_url:
                self.replicas = Replicas(pool, self.settings.postgres_url, self.settings.postgres_read_url)
                stack.push_async_callback(self.replicas.close)
            self._resources = stack.pop_all()
            self._source = source
            return pool

    async def _embedded_pool(self, server: EmbeddedPostgres) -> asyncpg.Pool:
        pool = await open_current_pool(server, partial(is_current, BRANCH))
        if pool is None:
            await migrate_postgres(server, BRANCH, before=before_upgrade(self.settings))
            pool = await open_pool(server)
        return pool


def _failed(opening: asyncio.Future[asyncpg.Pool]) -> bool:
    """Return whether an opening failed; asyncio then counts its error as seen."""
    return opening.cancelled() or opening.exception() is not None
