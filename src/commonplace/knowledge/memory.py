"""Knowledge memory as a whole: the functions that a host, the command line and the MCP server call."""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.context import DEFAULT_TENANT, request_context
from commonplace.core.settings import Settings, load_settings
from commonplace.core.text import clean_text
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, get_embedding_engine
from commonplace.knowledge import bulk, episodes, facts, links, rules
from commonplace.knowledge.browse import graph, lists, reading
from commonplace.knowledge.config import MemoryModuleConfig
from commonplace.knowledge.consolidation import dead_letters, pending, runs, undo
from commonplace.knowledge.consolidation import pipeline as consolidation
from commonplace.knowledge.database import KnowledgeDatabase
from commonplace.knowledge.entities import merge_preview, merging, resolution, unmerging
from commonplace.knowledge.entities import registry as entities
from commonplace.knowledge.facts import FactDraft, FactReceipt
from commonplace.knowledge.lifecycle import any_memory as memories
from commonplace.knowledge.lifecycle import feedback
from commonplace.knowledge.lifecycle.permanence import Permanence
from commonplace.knowledge.outage import OUTAGES, open_soon, while_it_answers
from commonplace.knowledge.receipts import EpisodeReceipt
from commonplace.knowledge.search import context, recall, search
from commonplace.knowledge.search.context_block import ContextQuotas
from commonplace.knowledge.unit_of_work import require_context
from commonplace.knowledge.upkeep import audit, cleanup, decay, stats

OPERATOR: Final = "operator"

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _on_pool(
    function: Callable[Concatenate[asyncpg.Pool, _P], Awaitable[_R]],
) -> Callable[Concatenate["KnowledgeMemory", _P], Coroutine[Any, Any, _R]]:
    """Make a method of a function on a pool: it gets the facade's own, and works as its tenant and actor."""

    @wraps(function)
    async def method(memory: "KnowledgeMemory", *args: _P.args, **kwargs: _P.kwargs) -> _R:
        _fill_in(function, memory, kwargs)
        async with memory.acting() as pool:
            return await function(pool, *args, **kwargs)

    return _shown(method)


def _on_engine(
    function: Callable[Concatenate[asyncpg.Pool, EmbeddingEngine, _P], Awaitable[_R]],
) -> Callable[Concatenate["KnowledgeMemory", _P], Coroutine[Any, Any, _R]]:
    """Make a method of a function on a pool and an embedding engine."""

    @wraps(function)
    async def method(memory: "KnowledgeMemory", *args: _P.args, **kwargs: _P.kwargs) -> _R:
        _fill_in(function, memory, kwargs)
        async with memory.acting() as pool:
            return await function(pool, memory.engine, *args, **kwargs)

    return _shown(method)


_SEARCHES: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        search.semantic_search,
        search.keyword_search,
        search.hybrid_search,
        search.memory_search,
        recall.recall,
    }
)
"""The functions whose limit, mode and weights are configured."""


def _fill_in(function: Callable[..., Any], memory: "KnowledgeMemory", keywords: dict[str, Any]) -> None:
    """Give a call the clock, a cleanup its capacity and a search its ways, for the parameters that it does not name."""
    defaults: dict[str, object] = {
        "clock": memory.clock,
        "max_entries": memory.database.settings.episode_max_entries,
    }
    if function in _SEARCHES:
        retrieval = memory.config.retrieval
        defaults |= {
            "mode": retrieval.default_mode,
            "limit": retrieval.default_limit,
            "weights": retrieval.score_weights,
        }
    for name in defaults.keys() & inspect.signature(function).parameters.keys():
        keywords.setdefault(name, defaults[name])


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _shown(method: _Method) -> _Method:
    """Show the signature that callers see, without what the facade fills in."""
    signature = inspect.signature(method)
    rest = [each for name, each in signature.parameters.items() if name not in {"pool", "engine", "clock"}]
    memory = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__dict__["__signature__"] = signature.replace(parameters=[memory, *rest])
    return method


class KnowledgeMemory:
    """Episodes, facts, rules and entities of one tenant, on PostgreSQL.

    Use :meth:`open`. Everything here is safe to call from several tasks at once, and from several processes on one
    database. The methods are the functions of this package with pool, engine, tenant, actor and clock filled in; see
    there for what they take, return and raise. A limit, mode or weights that a call of a search or of :meth:`recall`
    does not give are the configured ones, and so is the number of episodes that a cleanup keeps. Two methods never fail
    for want of a database: :meth:`memory_context` and :meth:`store_episode` (KNW-24).
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
    ) -> "AsyncGenerator[KnowledgeMemory]":
        """Open the database that the settings name, bring it up to date, and close it at the end of the block.

        Args:
            settings: Name the database and the embedding model; loaded where they are not given.
            tenant_id: Whose memories: 1 to 64 ASCII letters, digits, ``_``, ``.`` or ``-``.
            actor: Who changes them, for the audit trail.
            engine: Another than the one that this process shares.
            clock: Gives the present.
            config: What ``butler.toml`` says; the defaults where there is none.
            lazy: Return at once: the database is opened by the first call, or by :meth:`begin`.

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

    def acting_for(self, *, tenant_id: str, actor: str) -> "KnowledgeMemory":
        """Return the same memory as another tenant and actor see it; it lives as long as this one.

        Raises:
            InvalidInputError: The tenant's id is malformed.
        """
        return KnowledgeMemory(
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

    async def _close(self) -> None:
        if self._warming is not None and not self._warming.done():
            self._warming.cancel()
            await asyncio.wait([self._warming])
        await self.database.close()

    @asynccontextmanager
    async def acting(self) -> AsyncGenerator[asyncpg.Pool]:
        """Work as this tenant and actor inside the block, on the pool, which is opened where it is not yet.

        Raises:
            StorageError: It cannot be opened.
        """
        with request_context(tenant_id=self.tenant_id, actor=self.actor):
            yield await self.database.pool()

    store_episodes = _on_engine(episodes.store_episodes)
    import_episodes = _on_engine(bulk.import_episodes)
    store_facts = _on_engine(facts.store_facts)
    store_rule = _on_engine(rules.store_rule)
    store_rules = _on_engine(rules.store_rules)

    create_link = _on_pool(links.create_link)
    get_links = _on_pool(links.get_links)

    semantic_search = _on_pool(search.semantic_search)
    keyword_search = _on_pool(search.keyword_search)
    hybrid_search = _on_pool(search.hybrid_search)
    memory_search = _on_engine(search.memory_search)
    recall = _on_engine(recall.recall)
    get_memory = _on_pool(memories.get_memory)
    read_memory = _on_pool(reading.read_memory)
    list_linked = _on_pool(reading.list_linked)
    names_of = _on_pool(reading.names_of)

    confirm_memory = _on_pool(memories.confirm_memory)
    mark_helpful = _on_pool(feedback.mark_helpful)
    mark_harmful = _on_pool(feedback.mark_harmful)
    invert_to_anti_pattern = _on_engine(feedback.invert_to_anti_pattern)
    forget_memory = _on_pool(memories.forget_memory)

    list_facts = _on_pool(lists.list_facts)
    fact_chain = _on_pool(lists.fact_chain)
    list_rules = _on_pool(lists.list_rules)
    list_applications = _on_pool(lists.list_applications)
    list_episodes = _on_pool(lists.list_episodes)
    list_entities = _on_pool(lists.list_entities)
    knowledge_graph = _on_pool(graph.knowledge_graph)

    memory_stats = _on_pool(stats.memory_stats)
    list_events = _on_pool(audit.list_events)
    get_event = _on_pool(audit.get_event)
    run_decay_sweep = _on_pool(decay.run_decay_sweep)
    run_episode_cleanup = _on_pool(cleanup.run_episode_cleanup)
    pending_groups = _on_pool(pending.pending_groups)
    run_consolidation = _on_engine(consolidation.run_consolidation)
    list_runs = _on_pool(runs.list_runs)
    get_run = _on_pool(runs.get_run)
    undo_run = _on_pool(undo.undo_run)
    list_dead_letters = _on_pool(dead_letters.list_dead_letters)
    requeue_dead_letters = _on_pool(dead_letters.requeue_dead_letters)

    entity_create = _on_pool(entities.entity_create)
    entity_get = _on_pool(entities.entity_get)
    entity_update = _on_pool(entities.entity_update)
    entity_resolve = _on_pool(resolution.entity_resolve)
    preview_merge = _on_pool(merge_preview.preview_merge)
    entity_merge = _on_pool(merging.entity_merge)
    entity_unmerge = _on_pool(unmerging.entity_unmerge)

    async def store_fact(
        self,
        *,
        subject: str,
        predicate: str,
        content: str,
        importance: float = facts.DEFAULT_IMPORTANCE,
        permanence: str = Permanence.STANDARD,
        scope: str = facts.GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        entity_id: UUID | str | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> FactReceipt:
        """Store a fact; see :func:`~commonplace.knowledge.facts.store_facts`.

        Returns:
            Its id, and that of the fact that it took the place of.
        """
        draft = FactDraft(
            subject=subject,
            predicate=predicate,
            content=content,
            importance=importance,
            permanence=permanence,
            scope=scope,
            tags=tags,
            entity_id=entity_id,
            source_butler=source_butler,
            source_episode_id=source_episode_id,
            metadata=metadata,
        )
        (receipt,) = await self.store_facts([draft], allow_secrets=allow_secrets)
        return receipt

    async def store_episode(
        self,
        *,
        content: str,
        butler: str,
        session_id: UUID | str | None = None,
        importance: float = episodes.DEFAULT_IMPORTANCE,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        allow_secrets: bool = False,
    ) -> EpisodeReceipt:
        """Store an episode; where the database or the model is out of reach, log that, say so, and go on.

        Returns:
            Its id, or why there is none.

        Raises:
            InvalidInputError: A value is not of its form; nothing was written.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.

        Source: KNW-05.1, KNW-24.2.
        """

        async def store(pool: asyncpg.Pool) -> UUID:
            return await episodes.store_episode(
                pool,
                self.engine,
                content=content,
                butler=butler,
                session_id=session_id,
                importance=importance,
                metadata=metadata,
                created_at=created_at,
                allow_secrets=allow_secrets,
                clock=self.clock,
            )

        try:
            return EpisodeReceipt(id=await self._unless_out_of_reach(store))
        except OUTAGES as error:
            _log.error("an episode of butler %r was not stored: %s", butler, error)
            return EpisodeReceipt(id=None, reason=str(error))

    async def memory_context(
        self,
        trigger_prompt: str,
        butler: str,
        *,
        token_budget: int | None = None,
        quotas: ContextQuotas | None = None,
    ) -> str:
        """Return the block for a prompt; where the database or the model is out of reach, log that and go on without.

        Args:
            trigger_prompt: What the session is about.
            butler: Whose session; its scope and the global one are looked at.
            token_budget: A token is four characters; the configured budget where it is not given.
            quotas: What each section may take; the configured ones where they are not given.

        Returns:
            The block of :func:`~commonplace.knowledge.search.context.memory_context`; empty where it cannot be made.

        Source: KNW-20, KNW-24.1.
        """
        retrieval = self.config.retrieval

        async def assemble(pool: asyncpg.Pool) -> str:
            return await context.memory_context(
                pool,
                self.engine,
                trigger_prompt,
                butler,
                token_budget=retrieval.context_token_budget if token_budget is None else token_budget,
                limit=retrieval.default_limit,
                quotas=quotas or retrieval.section_quotas,
                weights=retrieval.score_weights,
                clock=self.clock,
            )

        try:
            return await self._unless_out_of_reach(assemble)
        except OUTAGES as error:
            _log.error("no memory for a session of butler %r: %s", butler, error)
            return ""

    async def _unless_out_of_reach(self, work: Callable[[asyncpg.Pool], Coroutine[Any, Any, _R]]) -> _R:
        with request_context(tenant_id=self.tenant_id, actor=self.actor):
            pool = await open_soon(self.database)
            return await while_it_answers(self.database, pool, work(pool))


def _log_failure(what: str, task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("%s: %s", what, task.exception())
