"""Facade of knowledge memory: what hosts, the command line, the service and MCP servers call."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Self, overload
from uuid import UUID

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import DEFAULT_TENANT, OPERATOR
from commonplace.core.settings import Settings, load_settings
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, get_embedding_engine
from commonplace.knowledge.browse.entity_graph import EntityGraph
from commonplace.knowledge.browse.lists import Lists
from commonplace.knowledge.browse.single_memories import MemoryReader
from commonplace.knowledge.consolidation.dead_letters import DeadLetters
from commonplace.knowledge.exchange.exchanging import Exchange
from commonplace.knowledge.lifecycle.any_memory import SingleMemories
from commonplace.knowledge.lifecycle.editing import Editing
from commonplace.knowledge.lifecycle.feedback import RuleFeedback
from commonplace.knowledge.memories.episodes import (
    BATCH_ROWS,
    EpisodeDraft,
    EpisodeImportReceipt,
    EpisodeReceipt,
    Episodes,
)
from commonplace.knowledge.memories.fact_receipts import FactReceipt
from commonplace.knowledge.memories.facts import Facts
from commonplace.knowledge.memories.links import Links
from commonplace.knowledge.memories.rules import RuleDraft, RuleReceipt, Rules
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE, DEFAULT_MIN_CONFIDENCE
from commonplace.knowledge.model.config import MemoryModuleConfig, ScoreWeights
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Episode, Fact, Memory, Moment, Rule
from commonplace.knowledge.model.narrowing import EVERYTHING, Narrowing
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.partitions.partitioning import Partitions
from commonplace.knowledge.parts.entities import Entities
from commonplace.knowledge.parts.history import History
from commonplace.knowledge.parts.reembedding import Reembedding
from commonplace.knowledge.parts.reviews import KnowledgeReviews
from commonplace.knowledge.parts.runs import ConsolidationRuns
from commonplace.knowledge.parts.upkeep import KnowledgeUpkeep
from commonplace.knowledge.rules.context_block import DEFAULT_STYLE, BlockStyle, ContextQuotas
from commonplace.knowledge.scopes.moving import Scopes
from commonplace.knowledge.search.context_assembly import ContextBlocks
from commonplace.knowledge.search.literal import LiteralSearch
from commonplace.knowledge.search.recall import Recall
from commonplace.knowledge.search.search import Search
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.upkeep.audit import AuditTrail
from commonplace.knowledge.upkeep.stats import MemoryStats, Statistics
from commonplace.language.times import TimeReader


class KnowledgeMemory:
    """Episodes, facts, rules and entities of one tenant, on PostgreSQL.

    Use :meth:`open`. All methods are safe to call from several tasks at once, and from several processes on one
    database. A method for one memory raises ``NotFoundError`` if the memory does not exist; lists and searches return
    an empty list. Every store returns a receipt.

    Every method raises ``StorageUnavailableError`` if the server cannot be reached, and ``InvalidInputError`` if a
    parameter is malformed; the docstrings do not repeat that. :meth:`context` and :meth:`store_episode` do not fail
    because of an outage, unless ``fail_open=False`` (KNW-24).

    Attributes:
        session: The database, and the tenant and actor that use it.
        entities: Entities, their names, relations and merges.
        lists: Lists of facts, rules, episodes and entities.
        literal: Memories and entities that hold words.
        history: Changes, and facts in the order of time.
        graph: The graph of entities, facts and links.
        links: Links between memories.
        reviews: Pairs of memories that wait for a person, and what a person decided.
        runs: Consolidation, its runs and their undo.
        dead_letters: Episodes with no retries left.
        scopes: Moves of memories between scopes, and their undo.
        events: The audit trail.
        upkeep: Decay, cleanup and the inversion of harmful rules.
        exchange: Rows that travel between databases of one owner.
        reembedding: Moves of all memories to another embedding model.
        partitions: Partitions of the tables by tenant.
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
        self.session = session = KnowledgeSession(
            database, engine, tenant_id=tenant_id, actor=actor, source=source, clock=clock, config=config
        )
        self._episodes = Episodes(session)
        self._facts = Facts(session)
        self._rules = Rules(session)
        self._memories = SingleMemories(session)
        self._reader = MemoryReader(session)
        self._editing = Editing(session)
        self._feedback = RuleFeedback(session)
        self._search = Search(session)
        self._recall = Recall(session)
        self._blocks = ContextBlocks(session)
        self._statistics = Statistics(session)
        self.entities = Entities(session)
        self.lists = Lists(session)
        self.literal = LiteralSearch(session)
        self.history = History(session)
        self.graph = EntityGraph(session)
        self.links = Links(session)
        self.reviews = KnowledgeReviews(session)
        self.runs = ConsolidationRuns(session)
        self.dead_letters = DeadLetters(session)
        self.scopes = Scopes(session)
        self.events = AuditTrail(session)
        self.upkeep = KnowledgeUpkeep(session)
        self.exchange = Exchange(session)
        self.reembedding = Reembedding(session)
        self.partitions = Partitions(session)

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
            await memory.session.close()

    def acting_for(
        self,
        *,
        tenant_id: str,
        actor: str,
        source: Source | None = None,
        config: MemoryModuleConfig | None = None,
    ) -> Self:
        """Return the same memory for another tenant, actor and source; it is valid as long as this memory is open.

        Args:
            tenant_id: The owner of the memories.
            actor: Who changes memories, for the audit trail.
            source: The source of stored memories; the source of this memory if ``None``.
            config: Defaults of searches and blocks; those of this memory if ``None``.

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
            config=config or self.config,
        )

    def begin(self, *, after_s: float = 0.0) -> None:
        """Start opening the database and loading the model in the background; calls wait for both.

        Args:
            after_s: Seconds to wait first, unless a call needs them sooner.
        """
        self.session.begin(after_s=after_s)

    @property
    def tenant_id(self) -> str:
        """The owner of the memories."""
        return self.session.tenant_id

    @property
    def actor(self) -> str:
        """Who changes memories, for the audit trail."""
        return self.session.actor

    @property
    def source(self) -> Source:
        """The source of stored memories; drafts may name a less trusted source."""
        return self.session.source

    @property
    def clock(self) -> Clock:
        """Gives the present."""
        return self.session.clock

    @property
    def times(self) -> TimeReader:
        """Reads the dates and times that people write, in the time zone of the settings."""
        return self.session.times

    @property
    def config(self) -> MemoryModuleConfig:
        """Defaults of searches and blocks."""
        return self.session.config

    @property
    def engine(self) -> EmbeddingEngine:
        """Computes vectors."""
        return self.session.engine

    @property
    def database(self) -> KnowledgeDatabase:
        """The database, opened by the first call."""
        return self.session.database

    async def store_episode(
        self,
        *,
        content: str,
        butler: str,
        session_id: UUID | str | None = None,
        importance: float = DEFAULT_IMPORTANCE,
        metadata: Mapping[str, Any] | None = None,
        created_at: Moment | None = None,
        source: str | None = None,
        allow_secrets: bool = False,
        fail_open: bool = True,
    ) -> EpisodeReceipt:
        """Store an episode; if the database or the model is out of reach, log this and report it in the receipt.

        For the parameters see :class:`.EpisodeDraft`. With ``fail_open=False``, an outage raises its error instead.

        Raises:
            InvalidInputError: A value is malformed; nothing was written.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            StorageError: ``fail_open`` is not set, and the database is out of reach.
            EmbeddingError: ``fail_open`` is not set, and the model cannot be used.

        Source: KNW-05.1, KNW-24.2.
        """
        return await self._episodes.store(
            content=content,
            butler=butler,
            session_id=session_id,
            importance=importance,
            metadata=metadata,
            created_at=created_at,
            source=source,
            allow_secrets=allow_secrets,
            fail_open=fail_open,
        )

    async def store_episodes(
        self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool = False
    ) -> list[EpisodeReceipt]:
        """Store up to 5,000 episodes, all or none, with one embedding call and one statement.

        Returns:
            A receipt for each draft, in the order of the drafts.

        Raises:
            InvalidInputError: A value of a draft is invalid; the message names the field.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used.
        """
        return await self._episodes.store_many(drafts, allow_secrets=allow_secrets)

    async def import_episodes(
        self,
        drafts: Iterable[EpisodeDraft],
        *,
        batch_rows: int = BATCH_ROWS,
        on_stored: Callable[[Sequence[UUID]], object] | None = None,
        allow_secrets: bool = False,
    ) -> EpisodeImportReceipt:
        """Store any number of episodes in order, batch by batch; embed the next batch while one is stored.

        Each batch is stored all or none, and is durable when ``on_stored`` is called. A failure ends the import and
        keeps earlier batches, so a caller that counts the ids passed to ``on_stored`` can resume after them.

        Args:
            drafts: Read one batch ahead; may be a generator of any length.
            batch_rows: Episodes per batch, 1 to 5,000.
            on_stored: Called with the ids of each batch, in the order of its drafts.
            allow_secrets: Whether text that looks like a secret is stored.

        Raises:
            InvalidInputError: ``batch_rows`` is out of range, or a draft of the batch cannot be stored.
            SecretRefusedError: A text of the batch looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used, or is not the model of the memories.

        Source: KNW-05.1; measured in docs/benchmarks.md.
        """
        return await self._episodes.import_all(
            drafts, batch_rows=batch_rows, on_stored=on_stored, allow_secrets=allow_secrets
        )

    async def store_fact(
        self,
        *,
        subject: str,
        predicate: str,
        content: str,
        importance: float = DEFAULT_IMPORTANCE,
        permanence: str = Permanence.STANDARD,
        scope: str = GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        entity_id: UUID | str | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        source: str | None = None,
        replaces: UUID | str | None = None,
        allow_secrets: bool = False,
    ) -> FactReceipt:
        """Store a fact, which supersedes the active fact with the same key.

        Without ``valid_from`` and ``valid_to``, a period that the sentence names ("since May") is read and stored; see
        :func:`~commonplace.knowledge.rules.periods.read_period`. If the period is over ("from 2010 to 2015"), see
        :func:`~commonplace.knowledge.model.fact_drafts.as_history`. To correct a period, store the fact again with
        a period.

        The fact is compared with the active facts about its subject that are nearest to it; see
        :func:`~commonplace.knowledge.rules.near_facts.meeting`. If one says the same in other words, the new fact takes
        its place and inherits from it, as a repeated fact does. A correction under another spelling of the key replaces
        the fact of that key. A correction under another predicate waits for a person: ``reviews.opposed``.

        ``replaces`` is the id or the short id of an active fact that the new fact corrects, whatever its key. It is
        superseded as the active fact with the same key is; if it may not be, the new fact is held and waits for a
        person.

        For the other parameters see :class:`FactDraft`, for further errors :meth:`store_facts`.

        Raises:
            NotFoundError: The fact to replace does not exist; nothing was stored.
            ConflictError: The fact to replace is not active any more; nothing was stored.

        Source: KNW-05.2, KNW-05.3, JDG-07.
        """
        return await self._facts.store(
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
            valid_from=valid_from,
            valid_to=valid_to,
            source=source,
            replaces=replaces,
            allow_secrets=allow_secrets,
        )

    async def store_facts(
        self, drafts: Sequence[FactDraft], *, allow_secrets: bool = False
    ) -> list[FactReceipt]:
        """Store up to 5,000 facts, all or none, with one embedding call and one statement.

        A fact without an entity gets the entity that its subject names; see
        :mod:`~commonplace.knowledge.entities.subjects` for namesakes and new entities. A fact supersedes the active
        fact of its key, ``(scope, subject, predicate)`` or ``(scope, entity, predicate)``, which ends where the new
        fact begins; of two drafts with one key the later supersedes the earlier. A fact in the same words inherits the
        references and the beginning of the fact before it, and its importance, permanence and tags where the draft has
        the defaults.

        Keys are compared letter by letter. The receipt of a single fact names an active fact whose key is another
        spelling of the same; see :mod:`~commonplace.knowledge.model.keys`.

        A fact whose period ended before the active fact of its key ends is kept as history: it is stored as superseded,
        and the active fact stays as it is.

        If a fact in other words supersedes a fact that is permanent, important or pinned, the pair waits in
        ``commonplace review``, where a person may keep both.

        A fact does not supersede a fact that is more trusted, or a fact without flags if it has some itself: it is
        held, and waits for a person. In the same words it inherits the trust of the fact before it.

        Returns:
            A receipt for each draft, in the order of the drafts.

        Raises:
            InvalidInputError: A value of a draft is invalid, or names an entity or episode that does not exist; the
                message names the field.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used.

        Source: KNW-02.2, KNW-05.2, R-KNW-3.
        """
        return await self._facts.store_many(drafts, allow_secrets=allow_secrets)

    async def store_rule(
        self,
        *,
        content: str,
        scope: str = GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
        replaces: UUID | str | None = None,
        allow_secrets: bool = False,
    ) -> RuleReceipt:
        """Store a rule as a candidate; for the parameters see :class:`RuleDraft`, for the errors :meth:`store_rules`.

        A rule that is there already, with the same words, scope and tags, is confirmed instead: the receipt says so. A
        rule that an older one says in other words is stored; reads show one of them. A rule that may contradict an
        older one is stored and linked to it, and both wait for a person: ``reviews.opposed``.

        ``replaces`` is the id or the short id of a rule that the new rule corrects. That rule is forgotten in favour of
        the new one, which supersedes it and is pinned if it was; :meth:`undo_replacing` restores it. If it is more
        trusted, or if only the new rule looks like an instruction, both are kept and wait as opposed rules do.

        Raises:
            NotFoundError: The rule to replace does not exist; nothing was stored.
            ConflictError: The rule to replace is forgotten or replaced; nothing was stored.

        Source: KNW-05.4, JDG-07.
        """
        return await self._rules.store(
            content=content,
            scope=scope,
            tags=tags,
            source_butler=source_butler,
            source_episode_id=source_episode_id,
            metadata=metadata,
            source=source,
            replaces=replaces,
            allow_secrets=allow_secrets,
        )

    async def store_rules(
        self, drafts: Sequence[RuleDraft], *, allow_secrets: bool = False
    ) -> list[RuleReceipt]:
        """Store up to 5,000 rules, all or none, with one embedding call and one statement.

        More than 20 new rules are not compared with other rules, except for equal words.

        Returns:
            A receipt for each draft, in the order of the drafts.

        Raises:
            InvalidInputError: A value of a draft is invalid, or names an episode that does not exist; the message names
                the field.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used.
        """
        return await self._rules.store_many(drafts, allow_secrets=allow_secrets)

    async def search(
        self,
        query: str,
        *,
        types: Sequence[str] | None = None,
        narrowing: Narrowing = EVERYTHING,
        mode: str | None = None,
        limit: int | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float = 0.0,
        explain: bool = False,
        fold: bool = True,
    ) -> list[SearchResult]:
        """Return the episodes, facts and rules that match a query, the best first; this does not count as a use.

        Args:
            query: Up to 10,000 characters of plain text.
            types: The kinds to search, of ``episode``, ``fact`` and ``rule``; all three if ``None``.
            narrowing: The memories that are considered.
            mode: ``semantic``, ``keyword``, ``hybrid``, or ``contextual``: by words and meaning together, episodes also
                by the turns around them in their session. Each mode ranks all types together. ``None`` for the
                configured mode, ``hybrid`` by default.
            limit: The maximum number of results of all types, 1 to 1,000; ``None`` for the configured limit, 20 by
                default.
            min_confidence: The minimum effective confidence of facts and rules.
            min_relevance: The minimum likeness of the best memory with the query; below it, nothing is found. Memories
                with less than half the best likeness are left out too. Only in mode ``contextual``; 0.0 for no minimum.
            explain: Add ``explanation`` to each result: its ranks, scores and decay, and why it was found.
            fold: Leave out repetitions: of facts about one subject, or rules, with equal texts, return only the best.

        Returns:
            Memories with the scores of the mode, the best first; ties: the newest first, then by id. The score of a
            stale memory counts seven tenths, a fused score nine tenths. Up to three facts one relation away follow, and
            take at most a quarter of the places from direct results; see
            :mod:`~commonplace.knowledge.search.graph_expansion`. The mode ``keyword`` follows no relation. An empty
            query finds nothing. If the memories have moved to another model than that of the engine, only words count:
            ``similarity`` is ``None``, and ``semantic`` finds what ``keyword`` finds.

        Raises:
            InvalidInputError: A value has the wrong type or is out of range.
            EmbeddingError: The model cannot be used.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-07.4.
        """
        return await self._search.search(
            query,
            types=types,
            narrowing=narrowing,
            mode=mode,
            limit=limit,
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            explain=explain,
            fold=fold,
        )

    async def recall(
        self,
        topic: str,
        *,
        narrowing: Narrowing = EVERYTHING,
        limit: int | None = None,
        weights: ScoreWeights | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float | None = None,
        explain: bool = False,
        count: bool = True,
    ) -> list[SearchResult]:
        """Return the facts and rules that matter most for a topic, and count a use of each.

        Args:
            topic: Up to 10,000 characters. For an empty topic, only importance, recency and confidence decide, and
                there is no minimum relevance.
            narrowing: The memories that are considered.
            limit: 1 to 1,000; ``None`` for the configured limit, 20 by default.
            weights: The weights of the four parts; ``None`` for the configured weights.
            min_confidence: The minimum effective confidence, 0.0 to 1.0.
            min_relevance: The minimum likeness of the best memory with the topic; below it, nothing is returned. See
                :mod:`~commonplace.knowledge.rules.relevance`. 0.0 for no minimum; ``None`` for the configured minimum.
            explain: Whether to explain each result.
            count: Whether to count a use of each result; a recall of the past counts none.

        Returns:
            Facts and rules with ``composite_score``, ``likeness`` and the ranks by meaning and words, the best first;
            ties: the newest first, then by id. The score of a stale memory counts seven tenths. Up to three facts one
            relation away follow; see :mod:`~commonplace.knowledge.search.graph_expansion`. Left out are equal texts,
            older facts of the same key and, unless the configuration turns this off, memories in quarantine. The counts
            of uses include this recall; the scores do not.

        Raises:
            InvalidInputError: A value has the wrong type or is out of range.
            EmbeddingError: The model cannot be used.
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-08, R-KNW-5.
        """
        return await self._recall.recall(
            topic,
            narrowing=narrowing,
            limit=limit,
            weights=weights,
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            explain=explain,
            count=count,
        )

    async def context(
        self,
        prompt: str,
        butler: str,
        *,
        narrowing: Narrowing = EVERYTHING,
        budget_tokens: int | None = None,
        quotas: ContextQuotas | None = None,
        min_relevance: float | None = None,
        style: BlockStyle = DEFAULT_STYLE,
        hides: Callable[[Memory], bool] | None = None,
        told: Callable[[UUID], object] | None = None,
        fail_open: bool = True,
    ) -> str:
        """Return the block for a prompt: pinned memories, then the facts and rules that matter most.

        The same prompt about the same memories at the same moment gives the same text. The block counts no use. If the
        database or the model is out of reach, this is logged, and the block is empty.

        Args:
            prompt: The first prompt of the session; its first 4,000 characters count.
            butler: The agent that runs the session; facts and rules of its scope and global ones are used.
            narrowing: The facts and rules that are considered, pinned ones included. It names no scope, because the
                butler is the scope.
            budget_tokens: The budget in tokens of four characters; the configured budget if ``None``.
            quotas: The maximum share of each section; the configured quotas if ``None``.
            min_relevance: The minimum relevance; the configured minimum if ``None``. An empty prompt has no minimum.
            style: The additions to the lines. The configuration can show sources as well.
            hides: Returns whether the session has the text of a memory already, which is then left out.
            told: Receives the id of each memory with a line in the block.
            fail_open: Whether to return "" during an outage; ``False`` raises the error of the outage.

        Returns:
            Markdown that begins with ``# Memory Context`` and stays within the budget. The text is only that line if no
            memory is pinned or relevant, and empty if not even that line fits.

        Raises:
            StorageError: ``fail_open`` is not set, and the database is out of reach.
            EmbeddingError: ``fail_open`` is not set, and the model cannot be used.

        Source: KNW-20, KNW-24.1, KNW-34, R-KNW-8.
        """
        return await self._blocks.write(
            prompt,
            butler,
            narrowing=narrowing,
            budget_tokens=budget_tokens,
            quotas=quotas,
            min_relevance=min_relevance,
            style=style,
            hides=hides,
            told=told,
            fail_open=fail_open,
        )

    async def get(self, memory_type: str, memory_id: UUID | str, *, as_of: Moment | None = None) -> Memory:
        """Return a memory, counting one use.

        Args:
            memory_type: ``"episode"``, ``"fact"`` or ``"rule"``.
            memory_id: The id or the short id.
            as_of: Return what was known at this moment, without counting a use. Validity, scope, predicate, entity,
                period and confirmation of a fact are those of that moment; other fields are current.

        Returns:
            The memory after counting; a superseded or expired fact is returned too.

        Raises:
            InvalidInputError: The type or id is malformed, or several memories have the short id.
            NotFoundError: The memory does not exist or was forgotten, or the episode has expired.

        Source: KNW-05.6, R-KNW-7.
        """
        return await self._memories.get(memory_type, memory_id, as_of=as_of)

    @overload
    async def read(self, memory_type: Literal["episode"], memory_id: UUID | str) -> Episode: ...
    @overload
    async def read(self, memory_type: Literal["fact"], memory_id: UUID | str) -> Fact: ...
    @overload
    async def read(self, memory_type: Literal["rule"], memory_id: UUID | str) -> Rule: ...
    @overload
    async def read(self, memory_type: str, memory_id: UUID | str) -> Memory: ...
    async def read(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Return a memory in any state, even forgotten or expired; this does not count as a use.

        Raises:
            InvalidInputError: The type or id is malformed, or several memories have the short id.
            NotFoundError: The memory does not exist.
        """
        return await self._reader.read(memory_type, memory_id)

    async def edit(
        self,
        memory_type: str,
        memory_id: UUID | str,
        content: str,
        *,
        allow_secrets: bool = False,
        is_new: bool = True,
    ) -> Memory:
        """Change the text of an active fact, or of a rule that is not forgotten, and return the new memory.

        The new memory has its own id and keeps scope, tags, importance, permanence, source and metadata. A fact keeps
        its period too, and is superseded as by ``store_fact``, which holds a less trusted edit. An old rule is
        forgotten and linked as superseded; the new rule starts as a candidate. A text edited by a person has the trust
        of a person.

        Args:
            memory_type: ``"fact"`` or ``"rule"``.
            memory_id: The id or the short id.
            content: The new text.
            allow_secrets: Whether to store text that looks like a secret. Only an operator should set this.
            is_new: Whether the text was written now, so that words such as "tomorrow" get their date, unless such words
                of the old text have none.

        Raises:
            InvalidInputError: A parameter is malformed, several memories have the short id, or the memory is an
                episode, is superseded or is forgotten, or the rule is more trusted than the edit or only the edit
                looks like an instruction.
            SecretRefusedError: The text looks like a secret, and ``allow_secrets`` is not set.
            NotFoundError: The memory does not exist.
            EmbeddingError: The model cannot be used.
        """
        return await self._editing.edit(
            memory_type, memory_id, content, allow_secrets=allow_secrets, is_new=is_new
        )

    async def confirm(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restart the decay of an active fact, or of a rule that is not forgotten, and return it.

        If a person confirms a memory, its trust becomes that of a person, so that blocks show it despite its flags, and
        a held fact supersedes the fact that it contradicts.

        Raises:
            InvalidInputError: The type or id is malformed, several memories have the short id, the memory is an
                episode, which has no confidence, or the fact is held and waits for a person.
            SupersededError: The fact was superseded; the error names its successor.
            NotFoundError: No such active fact or rule exists.

        Source: KNW-05.7.
        """
        return await self._memories.confirm(memory_type, memory_id)

    async def undo_confirmation(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Undo the last confirmation of a fact or rule, and return the memory.

        The decay counts from the previous confirmation, and the former trust is restored. A fact that was held is held
        again, and the fact that it replaced is active again.

        Raises:
            InvalidInputError: The type or id is malformed, or the memory is an episode.
            UndoRefusedError: Nobody confirmed the memory, it changed since, or the fact that it replaced cannot be
                restored.
            NotFoundError: The memory does not exist.
        """
        return await self._memories.undo_confirmation(memory_type, memory_id)

    async def undo_replacing(self, memory_type: str, memory_id: UUID | str) -> list[Memory]:
        """Forget a fact or rule that replaced others, restore these, and return them.

        Raises:
            InvalidInputError: The type or id is malformed, or the memory is an episode.
            UndoRefusedError: The memory replaced nothing or is forgotten, or another memory replaced them since.
            NotFoundError: The memory does not exist.

        Source: JDG-07.
        """
        return await self._memories.undo_replacing(memory_type, memory_id)

    async def forget(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Remove a memory from every search: an episode expires now, a fact is retracted, a rule is marked.

        The row stays for the audit trail; the row of an episode stays until the next cleanup.

        Returns:
            The memory after the change, even if it was already forgotten.

        Raises:
            InvalidInputError: The type or id is malformed, or several memories have the short id.
            NotFoundError: The memory does not exist.

        Source: KNW-02.3, KNW-05.8, KNW-05.9.
        """
        return await self._memories.forget(memory_type, memory_id)

    async def restore(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restore a forgotten memory, and return it.

        A fact that was not active before, such as a held fact, returns to its former state. An episode gets its former
        end back.

        Raises:
            InvalidInputError: The type or id is malformed.
            UndoRefusedError: The memory is not forgotten, another memory has replaced it, or the episode would have
                expired by now.
            NotFoundError: The memory does not exist.
        """
        return await self._memories.restore(memory_type, memory_id)

    async def pin(self, memory_type: str, memory_id: UUID | str, *, pinned: bool = True) -> Memory:
        """Add or remove the tag ``pinned`` of an active fact, or of a rule that is not forgotten.

        A pinned memory appears in every block of its scope. For the errors see :meth:`tag`.
        """
        return await self._memories.pin(memory_type, memory_id, pinned=pinned)

    async def tag(self, memory_type: str, memory_id: UUID | str, tag: str, *, tagged: bool = True) -> Memory:
        """Add or remove a tag of an active fact, or of a rule that is not forgotten.

        Raises:
            InvalidInputError: The type, id or tag is malformed, several memories have the short id, the memory is an
                episode, or it has as many tags as a memory may have.
            SecretRefusedError: The tag looks like a secret.
            NotFoundError: No such active fact or rule exists.
        """
        return await self._memories.tag(memory_type, memory_id, tag, tagged=tagged)

    async def mark_helpful(self, rule_id: UUID | str, *, context: Mapping[str, Any] | None = None) -> Rule:
        """Count a helpful application of a rule, confirm the rule, and promote it if it qualifies.

        Args:
            rule_id: The id or the short id of the rule.
            context: A JSON object about the application, for ``rule_applications``.

        Returns:
            The rule after the change.

        Raises:
            InvalidInputError: ``rule_id`` or ``context`` is malformed, or several rules have the short id.
            NotFoundError: The rule does not exist, or is forgotten.

        Source: KNW-21.1, KNW-30.1.
        """
        return await self._feedback.mark_helpful(rule_id, context=context)

    async def mark_harmful(
        self, rule_id: UUID | str, *, reason: str | None = None, context: Mapping[str, Any] | None = None
    ) -> Rule:
        """Count a harmful application of a rule, weighted four times, and demote or invert the rule if necessary.

        Args:
            rule_id: The id or the short id of the rule.
            reason: The harm, added once to ``metadata.harmful_reasons``; shortened to 1,000 characters.
            context: A JSON object about the application, for ``rule_applications``.

        Returns:
            The rule after the change: a warning if its opposite has become the better rule. If the warning could not be
            written, the rule has ``metadata.needs_inversion``, and a worker writes the warning later.

        Raises:
            InvalidInputError: A parameter is malformed, or several rules have the short id.
            NotFoundError: The rule does not exist, or is forgotten.
            SecretRefusedError: The reason looks like a secret.

        Source: KNW-21.2, KNW-21.3, KNW-30.1.
        """
        return await self._feedback.mark_harmful(rule_id, reason=reason, context=context)

    async def stats(self, *, scope: str | None = None) -> MemoryStats:
        """Count the tenant's memories by state.

        Args:
            scope: Count only facts and rules of the global scope and of this scope; all episodes count.

        Source: KNW-22.
        """
        return await self._statistics.count(scope=scope)
