"""A tenant and an actor at work on the database of knowledge memory: opening, closing, and who acts."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Self, TypeVar

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.context import DEFAULT_TENANT, request_context
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import clean_text
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, get_embedding_engine
from commonplace.knowledge.config import MemoryModuleConfig
from commonplace.knowledge.database import KnowledgeDatabase
from commonplace.knowledge.outage import open_soon, while_it_answers
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.storage.database import Statements

OPERATOR: Final = "operator"

_log = logging.getLogger(__name__)
_R = TypeVar("_R")


class KnowledgeSession:
    """A database, an embedding engine, and the tenant and actor on whose behalf they are used.

    Attributes:
        database: The database, opened by the first call.
        engine: Computes vectors.
        tenant_id: The owner of the memories.
        actor: Who changes memories, for the audit trail.
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
        clock: Clock = utc_now,
        config: MemoryModuleConfig | None = None,
    ) -> None:
        self.database = database
        self.engine = engine
        self.tenant_id = tenant_id
        self.actor = clean_text(actor)
        self.clock = clock
        self.config = config or MemoryModuleConfig()
        self._warming: asyncio.Task[list[float]] | None = None
        with request_context(tenant_id=tenant_id, actor=actor):
            require_context()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        tenant_id: str = DEFAULT_TENANT,
        actor: str = OPERATOR,
        engine: EmbeddingEngine | None = None,
        clock: Clock = utc_now,
        config: MemoryModuleConfig | None = None,
        lazy: bool = False,
    ) -> AsyncGenerator[Self]:
        """Open the database that the settings name, bring it up to date, and close it at the end of the block.

        Args:
            settings: Name the database and the embedding model; loaded if ``None``.
            tenant_id: The owner of the memories: 1 to 64 ASCII letters, digits, ``_``, ``.`` or ``-``.
            actor: Who changes memories, for the audit trail.
            engine: An engine to use in place of the one that this process shares.
            clock: Gives the present.
            config: The section ``[modules.memory]`` of ``butler.toml``.
            lazy: Return at once: the first call or :meth:`begin` opens the database.

        Raises:
            InvalidInputError: The tenant's id is malformed.
            SettingsError: The settings are not passed and cannot be loaded.
            StorageError: Not lazy, and the database cannot be opened, or is newer than this release.
        """
        settings = settings or load_settings().settings
        memory = cls(
            KnowledgeDatabase(settings),
            engine or get_embedding_engine(EmbeddingOptions.from_settings(settings)),
            tenant_id=tenant_id,
            actor=actor,
            clock=clock,
            config=config,
        )
        try:
            if not lazy:
                await memory.database.pool()
            yield memory
        finally:
            await memory._close()

    def acting_for(self, *, tenant_id: str, actor: str) -> Self:
        """Return the same memory as another tenant and actor see it; it lives as long as this one.

        Raises:
            InvalidInputError: The tenant's id is malformed.
        """
        return type(self)(
            self.database,
            self.engine,
            tenant_id=tenant_id,
            actor=actor,
            clock=self.clock,
            config=self.config,
        )

    def begin(self) -> None:
        """Start to open the database and to load the model in the background; calls wait for them."""
        if self._warming is None:
            self.database.begin().add_done_callback(partial(_log_failure, "the database cannot be opened"))
            self._warming = asyncio.create_task(self.engine.embed_async(None), name="loading the model")
            self._warming.add_done_callback(partial(_log_failure, "the embedding model cannot be loaded"))

    @asynccontextmanager
    async def acting(self) -> AsyncGenerator[asyncpg.Pool]:
        """Work as this tenant and actor inside the block, on the pool, which is opened if necessary.

        Raises:
            StorageError: The database cannot be opened.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor):
            yield await self.database.pool()

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[Statements]:
        """Open a consistent view of this tenant; see :func:`~commonplace.knowledge.unit_of_work.unit_of_work`."""
        async with self.acting() as pool, unit_of_work(pool, readonly=True) as sql:
            yield sql

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[Statements]:
        """Open a transaction of this tenant; see :func:`~commonplace.knowledge.unit_of_work.unit_of_work`."""
        async with self.acting() as pool, unit_of_work(pool) as sql:
            yield sql

    async def _unless_out_of_reach(self, work: Callable[[asyncpg.Pool], Coroutine[Any, Any, _R]]) -> _R:
        """Return the result of some work, but do not wait for a database that does not answer (KNW-24).

        Raises:
            StorageError: The database is out of reach.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor):
            pool = await open_soon(self.database)
            return await while_it_answers(self.database, pool, work(pool))

    async def _close(self) -> None:
        if self._warming is not None and not self._warming.done():
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self.database.close()


def _log_failure(event: str, task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s: %s", event, task.exception())
