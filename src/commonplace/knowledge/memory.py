"""Knowledge memory as a whole: the methods that a host, the command line, the service and the MCP server call."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from commonplace.knowledge import episodes, facts, links, rules
from commonplace.knowledge.browse.graph import GraphMethods
from commonplace.knowledge.browse.lists import ListMethods
from commonplace.knowledge.browse.reading import ReadingMethods
from commonplace.knowledge.config import ScoreWeights
from commonplace.knowledge.entities.merge_preview import MergePreviewMethods
from commonplace.knowledge.entities.merging import MergingMethods
from commonplace.knowledge.entities.registry import RegistryMethods
from commonplace.knowledge.entities.resolution import ResolutionMethods
from commonplace.knowledge.entities.unmerging import UnmergingMethods
from commonplace.knowledge.episodes import EpisodeDraft, EpisodeReceipt, ImportReceipt
from commonplace.knowledge.facts import FactDraft, FactReceipt
from commonplace.knowledge.kinds import DEFAULT_IMPORTANCE, GLOBAL_SCOPE, Memory, Rule
from commonplace.knowledge.lifecycle import any_memory, feedback
from commonplace.knowledge.lifecycle.permanence import Permanence
from commonplace.knowledge.links import Direction, Link, LinkReceipt
from commonplace.knowledge.outage import OUTAGES
from commonplace.knowledge.reembedding.facade import ReembeddingMethods
from commonplace.knowledge.rules import RuleDraft, RuleReceipt
from commonplace.knowledge.search import context as context_for_prompt
from commonplace.knowledge.search import recall, search
from commonplace.knowledge.search.context_block import ContextQuotas
from commonplace.knowledge.search.found import Found
from commonplace.knowledge.search.request import DEFAULT_MIN_CONFIDENCE, Embedding
from commonplace.knowledge.upkeep.audit import AuditMethods
from commonplace.knowledge.upkeep.facade import UpkeepMethods

_log = logging.getLogger(__name__)


class KnowledgeMemory(
    ListMethods,
    ReadingMethods,
    GraphMethods,
    RegistryMethods,
    ResolutionMethods,
    MergePreviewMethods,
    MergingMethods,
    UnmergingMethods,
    AuditMethods,
    UpkeepMethods,
    ReembeddingMethods,
):
    """Episodes, facts, rules and entities of one tenant, on PostgreSQL.

    Use :meth:`open`. All methods are safe to call from several tasks at once, and from several processes on one
    database. A method that names one memory raises ``NotFoundError`` if the memory does not exist; lists and searches
    return an empty list. Every store returns a receipt. :meth:`context` and :meth:`store_episode` never fail because
    the database is out of reach (KNW-24).
    """

    async def store_episode(
        self,
        *,
        content: str,
        butler: str,
        session_id: UUID | str | None = None,
        importance: float = DEFAULT_IMPORTANCE,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        allow_secrets: bool = False,
    ) -> EpisodeReceipt:
        """Store an episode; if the database or the model is out of reach, log that and say so in the receipt.

        For the parameters see :class:`~commonplace.knowledge.episodes.EpisodeDraft`.

        Raises:
            InvalidInputError: A value is malformed; nothing was written.
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

    async def store_episodes(
        self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool = False
    ) -> list[EpisodeReceipt]:
        """Store up to 5,000 episodes, all or none; see :func:`~commonplace.knowledge.episodes.store_episodes`."""
        async with self.acting() as pool:
            return await episodes.store_episodes(
                pool, self.engine, drafts, allow_secrets=allow_secrets, clock=self.clock
            )

    async def import_episodes(
        self,
        drafts: Iterable[EpisodeDraft],
        *,
        batch_rows: int = episodes.BATCH_ROWS,
        on_stored: Callable[[Sequence[UUID]], object] | None = None,
        allow_secrets: bool = False,
    ) -> ImportReceipt:
        """Store any number of episodes in batches; see :func:`~commonplace.knowledge.episodes.import_episodes`."""
        async with self.acting() as pool:
            return await episodes.import_episodes(
                pool,
                self.engine,
                drafts,
                batch_rows=batch_rows,
                on_stored=on_stored,
                allow_secrets=allow_secrets,
                clock=self.clock,
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
        allow_secrets: bool = False,
    ) -> FactReceipt:
        """Store a fact; it supersedes the active fact of the same key.

        For the parameters see :class:`~commonplace.knowledge.facts.FactDraft`.
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

    async def store_facts(
        self, drafts: Sequence[FactDraft], *, allow_secrets: bool = False
    ) -> list[FactReceipt]:
        """Store up to 5,000 facts, all or none; see :func:`~commonplace.knowledge.facts.store_facts`."""
        async with self.acting() as pool:
            return await facts.store_facts(
                pool, self.engine, drafts, allow_secrets=allow_secrets, clock=self.clock
            )

    async def store_rule(
        self,
        *,
        content: str,
        scope: str = GLOBAL_SCOPE,
        tags: Sequence[str] | None = None,
        source_butler: str | None = None,
        source_episode_id: UUID | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> RuleReceipt:
        """Store a rule as a candidate; for the parameters see :class:`~commonplace.knowledge.rules.RuleDraft`."""
        draft = RuleDraft(
            content=content,
            scope=scope,
            tags=tags,
            source_butler=source_butler,
            source_episode_id=source_episode_id,
            metadata=metadata,
        )
        (receipt,) = await self.store_rules([draft], allow_secrets=allow_secrets)
        return receipt

    async def store_rules(
        self, drafts: Sequence[RuleDraft], *, allow_secrets: bool = False
    ) -> list[RuleReceipt]:
        """Store up to 5,000 rules, all or none; see :func:`~commonplace.knowledge.rules.store_rules`."""
        async with self.acting() as pool:
            return await rules.store_rules(
                pool, self.engine, drafts, allow_secrets=allow_secrets, clock=self.clock
            )

    async def create_link(
        self,
        *,
        source_type: str,
        source_id: UUID | str,
        target_type: str,
        target_id: UUID | str,
        relation: str,
    ) -> LinkReceipt:
        """Link two memories; see :func:`~commonplace.knowledge.links.create_link`."""
        async with self.acting() as pool:
            return await links.create_link(
                pool,
                source_type=source_type,
                source_id=source_id,
                target_type=target_type,
                target_id=target_id,
                relation=relation,
                clock=self.clock,
            )

    async def get_links(
        self, memory_type: str, memory_id: UUID | str, *, direction: Direction = "both"
    ) -> list[Link]:
        """Return the links of a memory, oldest first; see :func:`~commonplace.knowledge.links.get_links`."""
        async with self.acting() as pool:
            return await links.get_links(pool, memory_type, memory_id, direction=direction)

    async def search(
        self,
        query: str,
        *,
        types: Sequence[str] | None = None,
        scope: str | None = None,
        mode: str | None = None,
        limit: int | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float = 0.0,
        explain: bool = False,
    ) -> list[Found]:
        """Return the memories that match a query, the best first; this does not count as a use.

        ``mode`` and ``limit`` are the configured ones if ``None``, which are ``hybrid`` and 20 by default. See
        :func:`~commonplace.knowledge.search.search.memory_search`.
        """
        retrieval = self.config.retrieval
        async with self.acting() as pool:
            return await search.memory_search(
                pool,
                self.engine,
                query,
                types=types,
                scope=scope,
                mode=retrieval.default_mode if mode is None else mode,
                limit=retrieval.default_limit if limit is None else limit,
                min_confidence=min_confidence,
                min_relevance=min_relevance,
                explain=explain,
                clock=self.clock,
            )

    async def semantic_search(
        self, query_embedding: Embedding, table: str, *, limit: int | None = None, scope: str | None = None
    ) -> list[Found]:
        """Return the memories of a table by meaning; see :func:`~commonplace.knowledge.search.search.semantic_search`.

        ``limit`` is the configured one if ``None``, which is 20 by default.
        """
        most = self.config.retrieval.default_limit if limit is None else limit
        async with self.acting() as pool:
            return await search.semantic_search(
                pool, query_embedding, table, limit=most, scope=scope, clock=self.clock
            )

    async def keyword_search(
        self, query: str, table: str, *, limit: int | None = None, scope: str | None = None
    ) -> list[Found]:
        """Return the memories of a table by words; see :func:`~commonplace.knowledge.search.search.keyword_search`.

        ``limit`` is the configured one if ``None``, which is 20 by default.
        """
        most = self.config.retrieval.default_limit if limit is None else limit
        async with self.acting() as pool:
            return await search.keyword_search(pool, query, table, limit=most, scope=scope, clock=self.clock)

    async def hybrid_search(
        self,
        query: str,
        query_embedding: Embedding,
        table: str,
        *,
        limit: int | None = None,
        scope: str | None = None,
    ) -> list[Found]:
        """Return the memories of a table by meaning and words, fused.

        ``limit`` is the configured one if ``None``, which is 20 by default. See
        :func:`~commonplace.knowledge.search.search.hybrid_search`.
        """
        most = self.config.retrieval.default_limit if limit is None else limit
        async with self.acting() as pool:
            return await search.hybrid_search(
                pool, query, query_embedding, table, limit=most, scope=scope, clock=self.clock
            )

    async def recall(
        self,
        topic: str,
        *,
        scope: str | None = None,
        limit: int | None = None,
        weights: ScoreWeights | None = None,
        min_confidence: float = DEFAULT_MIN_CONFIDENCE,
        min_relevance: float | None = None,
        explain: bool = False,
        count: bool = True,
    ) -> list[Found]:
        """Return the facts and rules that matter most for a topic, and count a use of each.

        ``limit``, ``weights`` and ``min_relevance`` are the configured ones if ``None``; the limit is 20 by default.
        See :func:`~commonplace.knowledge.search.recall.recall`.
        """
        retrieval = self.config.retrieval
        async with self.acting() as pool:
            return await recall.recall(
                pool,
                self.engine,
                topic,
                scope=scope,
                limit=retrieval.default_limit if limit is None else limit,
                weights=retrieval.score_weights if weights is None else weights,
                min_confidence=min_confidence,
                min_relevance=retrieval.min_relevance if min_relevance is None else min_relevance,
                explain=explain,
                count=count,
                clock=self.clock,
            )

    async def context(
        self,
        trigger_prompt: str,
        butler: str,
        *,
        token_budget: int | None = None,
        quotas: ContextQuotas | None = None,
        with_note: bool = True,
    ) -> str:
        """Return the block for a prompt; if the database or the model is out of reach, log that and return "".

        Args:
            trigger_prompt: The beginning of the session.
            butler: The agent whose session it is; facts and rules of its scope and of the global one are used.
            token_budget: At four characters a token; the configured budget if ``None``.
            quotas: What each section may take; the configured quotas if ``None``.
            with_note: Whether to say what the lines are; a caller that says it for several blocks leaves it out.

        Source: KNW-20, KNW-24.1.
        """
        retrieval = self.config.retrieval

        async def assemble(pool: asyncpg.Pool) -> str:
            return await context_for_prompt.memory_context(
                pool,
                self.engine,
                trigger_prompt,
                butler,
                token_budget=retrieval.context_token_budget if token_budget is None else token_budget,
                limit=retrieval.default_limit,
                quotas=quotas or retrieval.section_quotas,
                weights=retrieval.score_weights,
                min_relevance=retrieval.min_relevance,
                with_note=with_note,
                clock=self.clock,
            )

        try:
            return await self._unless_out_of_reach(assemble)
        except OUTAGES as error:
            _log.error("no memory for a session of butler %r: %s", butler, error)
            return ""

    async def get_memory(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Count one use of a memory, and return it; see :func:`~.lifecycle.any_memory.use_memory`."""
        async with self.acting() as pool:
            return await any_memory.use_memory(pool, memory_type, memory_id, clock=self.clock)

    async def confirm_memory(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Restart the decay of a fact or rule; see :func:`~.lifecycle.any_memory.confirm_memory`."""
        async with self.acting() as pool:
            return await any_memory.confirm_memory(pool, memory_type, memory_id, clock=self.clock)

    async def forget_memory(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Take a memory out of every search; see :func:`~.lifecycle.any_memory.forget_memory`."""
        async with self.acting() as pool:
            return await any_memory.forget_memory(pool, memory_type, memory_id, clock=self.clock)

    async def mark_helpful(self, rule_id: UUID | str, *, context: Mapping[str, Any] | None = None) -> Rule:
        """Count a helpful application of a rule; see :func:`~.lifecycle.feedback.mark_helpful`."""
        async with self.acting() as pool:
            return await feedback.mark_helpful(pool, rule_id, context=context, clock=self.clock)

    async def mark_harmful(
        self, rule_id: UUID | str, *, reason: str | None = None, context: Mapping[str, Any] | None = None
    ) -> Rule:
        """Count a harmful application of a rule; see :func:`~.lifecycle.feedback.mark_harmful`."""
        async with self.acting() as pool:
            return await feedback.mark_harmful(
                pool, rule_id, reason=reason, context=context, clock=self.clock
            )

    async def invert_to_anti_pattern(self, rule_id: UUID | str) -> Rule:
        """Turn a harmful rule into a warning; see :func:`~.lifecycle.feedback.invert_to_anti_pattern`."""
        async with self.acting() as pool:
            return await feedback.invert_to_anti_pattern(pool, self.engine, rule_id, clock=self.clock)
