"""A session of knowledge memory: the open database, and the tenant and actor that use it."""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast

import asyncpg

from commonplace.core.choices import require_one_of
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import DEFAULT_TENANT, OPERATOR, request_context
from commonplace.core.settings import Settings, load_settings
from commonplace.core.sources import Source
from commonplace.core.text import clean_text
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, get_embedding_engine
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.knowledge.statements import KnowledgeStatements
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.outage import open_soon, while_it_answers
from commonplace.knowledge.store.replicas import Replicas
from commonplace.knowledge.store.unit_of_work import require_context, unit_of_work
from commonplace.storage.clock_guard import ClockGuard

if TYPE_CHECKING:
    from datetime import datetime

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S", bound="KnowledgeSession")


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

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings | None = None,
        *,
        tenant_id: str = DEFAULT_TENANT,
        actor: str = OPERATOR,
        source: Source = Source.AGENT,
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
            source: The source of stored memories; ``Source.PERSON`` for an interface that a person uses.
            engine: An engine to use instead of the engine that this process shares.
            clock: Gives the present.
            config: The section ``[modules.memory]`` of ``butler.toml``; without it the defaults, with the minimum
                relevance of the settings.
            lazy: Return at once; the first call or :meth:`begin` opens the database.

        Raises:
            InvalidInputError: The tenant's id is malformed, there is no such source, or the clock has no time zone.
            SettingsError: The settings are not passed and cannot be loaded.
            StorageError: ``lazy`` is not set, and the database cannot be opened or is newer than this release.
        """
        settings = settings or load_settings().settings
        if (now := clock()).tzinfo is None:
            raise InvalidInputError("clock", "a function that returns a datetime with a time zone", now)
        memory = cls(
            KnowledgeDatabase(settings),
            engine or get_embedding_engine(EmbeddingOptions.from_settings(settings)),
            tenant_id=tenant_id,
            actor=actor,
            source=source,
            clock=clock,
            config=config or MemoryModuleConfig.of(settings),
        )
        try:
            if not lazy:
                await memory.database.pool()
            yield memory
        finally:
            await memory._close()

    def acting_for(self, *, tenant_id: str, actor: str, source: Source | None = None) -> Self:
        """Return the same memory for another tenant, actor and source; it is valid as long as this memory is open.

        Raises:
            InvalidInputError: The tenant's id is malformed, or there is no such source.
        """
        return type(self)(
            self.database,
            self.engine,
            tenant_id=tenant_id,
            actor=actor,
            source=source or self.source,
            clock=self.clock,
            config=self.config,
        )

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
    async def _owning(self) -> AsyncGenerator[asyncpg.Pool]:
        """Act as this tenant and actor inside the block, on a pool that may change the tables.

        Raises:
            StorageError: The database cannot be opened.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            async with self.database.owner_pool() as pool:
                yield pool

    @asynccontextmanager
    async def _reading(self, *, search: bool = False) -> AsyncGenerator[KnowledgeStatements]:
        """Open a consistent view of this tenant, on a replica if possible; see :func:`~.unit_of_work.unit_of_work`."""
        with request_context(tenant_id=self.tenant_id, actor=self.actor, source=self.source):
            async with unit_of_work(await self.database.readers(), readonly=True, search=search) as sql:
                yield sql

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[KnowledgeStatements]:
        """Open a transaction of this tenant; see :func:`~.unit_of_work.unit_of_work`."""
        async with self.acting() as pool, unit_of_work(pool) as sql:
            yield sql

    async def _require_plausible_clock(self) -> None:
        """Require a plausible time before memories decay or are deleted.

        Raises:
            ClockError: The time is implausible; nothing was changed.
        """
        if self.database.home is None:
            return
        async with self._reading() as sql:
            newest: datetime | None = await sql.newest_event_at()
        ClockGuard(self.database.home, clock=self.clock).require(newest)

    async def _unless_out_of_reach(
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

    async def _close(self) -> None:
        if self._warming is not None and not self._warming.done():
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self.database.close()

    def _most(self, limit: int | None) -> int:
        return self.config.retrieval.default_limit if limit is None else limit


def storage_function(
    of: type[_S],
    method: Callable[Concatenate[_S, _P], Coroutine[Any, Any, _R]],
    *,
    needs_engine: bool = False,
    take: Callable[[_R], Any] | None = None,
    **defaults: Any,  # noqa: ANN401 - of any parameter
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a method as the function of a pool that the specification names.

    The function takes the pool, the engine if needed, the parameters of the method, and ``clock``. It acts as the
    tenant and actor of the request context.

    Args:
        of: The class of the method.
        method: The method.
        needs_engine: Whether the function takes an embedding engine.
        take: Makes the result of the function from the result of the method.
        **defaults: Defaults of the function for parameters whose default in the method comes from the configuration.
    """
    own = [
        each.replace(default=defaults.get(each.name, each.default))
        for each in list(inspect.signature(method).parameters.values())[1:]
    ]
    positional = ["pool", "engine"] if needs_engine else ["pool"]
    signature = inspect.Signature(
        [
            *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in positional),
            *own,
            inspect.Parameter("clock", inspect.Parameter.KEYWORD_ONLY, default=utc_now),
        ]
    )

    @wraps(method)
    async def function(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - those of the method
        given = defaults | signature.bind(*arguments, **options).arguments
        database = KnowledgeDatabase.of(given.pop("pool"))
        engine = given.pop("engine") if needs_engine else get_embedding_engine()
        clock, context = given.pop("clock", utc_now), require_context()
        session = of(
            database,
            engine,
            tenant_id=context.tenant_id,
            actor=context.actor,
            source=context.source,
            clock=clock,
        )
        result = await cast("Callable[..., Coroutine[Any, Any, _R]]", method)(session, **given)
        return result if take is None else take(result)

    function.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue] - help() reads it
    return function


def _log_failure(event: str, task: asyncio.Future[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s: %s", event, task.exception())
