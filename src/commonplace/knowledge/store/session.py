"""A session of knowledge memory: the open database, and the tenant and actor that use it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import asyncpg

from commonplace.core.choices import require_one_of
from commonplace.core.clock import Clock, utc_now
from commonplace.core.request_context import DEFAULT_TENANT, OPERATOR, request_context
from commonplace.core.sources import Source
from commonplace.core.text import clean_text
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.outage import open_soon, while_it_answers
from commonplace.knowledge.store.replicas import Replicas
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import require_context, unit_of_work
from commonplace.language.times import TimeReader
from commonplace.storage.clock_guard import ClockGuard

_log = logging.getLogger(__name__)
_R = TypeVar("_R")


class KnowledgeSession:
    """A database, an embedding engine, and the tenant and actor on whose behalf they are used.

    Attributes:
        database: The database, opened by the first call.
        engine: Computes vectors.
        tenant_id: The owner of the memories.
        actor: Who changes memories, for the audit trail.
        source: The source of stored memories; drafts may name a less trusted source.
        clock: Gives the present.
        config: Defaults of searches and blocks.
    """

    def __init__(
        self,
        database: KnowledgeDatabase,
        engine: EmbeddingEngine,
        *,
        tenant_id: str = DEFAULT_TENANT,
        actor: str = OPERATOR,
        source: Source = Source.AGENT,
        clock: Clock = utc_now,
        config: MemoryModuleConfig | None = None,
    ) -> None:
        self.database = database
        self.engine = engine
        self.tenant_id = tenant_id
        self.actor = clean_text(actor)
        self.source = require_one_of(Source, source, field="source")
        self.clock = clock
        self.config = config or MemoryModuleConfig()
        self._warming: asyncio.Task[None] | None = None
        with request_context(tenant_id=tenant_id, actor=actor):
            require_context()

    @property
    def times(self) -> TimeReader:
        """Reads the dates and times that people write, in the time zone of the settings."""
        return TimeReader(clock=self.clock, zone=self.database.settings.zone)

    def local_now(self) -> datetime:
        """Return the present in the time zone of the settings, which decides what "today" means."""
        return self.clock().astimezone(self.database.settings.zone)

    def begin(self, *, after_s: float = 0.0) -> None:
        """Start opening the database and loading the model in the background; calls wait for both.

        Args:
            after_s: Seconds to wait first, unless a call needs them sooner.
        """
        if self._warming is None:
            self._warming = asyncio.create_task(self._warm(after_s), name="loading the model")
            self._warming.add_done_callback(partial(_log_failure, "the embedding model cannot be loaded"))

    async def _warm(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        self.database.begin().add_done_callback(partial(_log_failure, "the database cannot be opened"))
        await self.engine.embed_query_async(None)

    @asynccontextmanager
    async def acting(self) -> AsyncGenerator[asyncpg.Pool]:
        """Act as this tenant and actor inside the block, on the pool, which is opened if necessary.

        Raises:
            StorageError: The database cannot be opened.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            yield await self.database.pool()

    @asynccontextmanager
    async def owning(self) -> AsyncGenerator[asyncpg.Pool]:
        """Act as this tenant and actor inside the block, on a pool that may change the tables.

        Raises:
            StorageError: The database cannot be opened.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            async with self.database.owner_pool() as pool:
                yield pool

    @asynccontextmanager
    async def reading(self, *, search: bool = False) -> AsyncGenerator[KnowledgeStatements]:
        """Open a consistent view of this tenant, on a replica if possible; see :func:`~.unit_of_work.unit_of_work`."""
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            async with unit_of_work(await self.database.readers(), readonly=True, search=search) as sql:
                yield sql

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[KnowledgeStatements]:
        """Open a transaction of this tenant; see :func:`~.unit_of_work.unit_of_work`."""
        async with self.acting() as pool, unit_of_work(pool, awaits_answer=True) as sql:
            yield sql

    async def require_plausible_clock(self) -> None:
        """Require a plausible time before memories decay or are deleted.

        Raises:
            ClockError: The time is implausible; nothing was changed.
        """
        if self.database.home is None:
            return
        async with self.reading() as sql:
            newest: datetime | None = await sql.newest_event_at()
        ClockGuard(self.database.home, clock=self.clock).require(newest)

    async def unless_out_of_reach(
        self, work: Callable[[asyncpg.Pool | Replicas], Coroutine[Any, Any, _R]]
    ) -> _R:
        """Return the result of some work, but do not wait for a database that does not answer (KNW-24).

        Args:
            work: The work, which takes read connections.

        Raises:
            StorageError: The database is out of reach.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            pool = await open_soon(self.database)
            return await while_it_answers(self.database, pool, work(await self.database.readers()))

    async def close(self) -> None:
        """Stop opening the database, or close it."""
        if self._warming is not None and not self._warming.done():
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self.database.close()

    def limit_or_default(self, limit: int | None) -> int:
        """Return the limit of a search, or else the configured limit."""
        return self.config.retrieval.default_limit if limit is None else limit


def _log_failure(event: str, task: asyncio.Future[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s: %s", event, task.exception())
