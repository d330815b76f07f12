"""Facade of knowledge memory: the methods that hosts, the command line, the service and MCP servers call."""

import logging
from collections.abc import Callable
from uuid import UUID

import asyncpg

from commonplace.knowledge.browse.graph import GraphMethods
from commonplace.knowledge.browse.history import HistoryMethods
from commonplace.knowledge.browse.lists import ListMethods
from commonplace.knowledge.browse.reading import ReadingMethods
from commonplace.knowledge.connection.outage import OUTAGES
from commonplace.knowledge.connection.replicas import Replicas
from commonplace.knowledge.connection.traced import traced
from commonplace.knowledge.consolidation.butlers import ConsolidationMethods
from commonplace.knowledge.consolidation.dead_letters import DeadLetterMethods
from commonplace.knowledge.consolidation.reviews import FactReviewMethods
from commonplace.knowledge.consolidation.runs import RunMethods
from commonplace.knowledge.consolidation.undo import RunUndoMethods
from commonplace.knowledge.entities.candidates import CandidateMethods
from commonplace.knowledge.entities.merge_preview import MergePreviewMethods
from commonplace.knowledge.entities.merging import MergingMethods
from commonplace.knowledge.entities.registry import RegistryMethods
from commonplace.knowledge.entities.relations import RelationMethods
from commonplace.knowledge.entities.resolution import ResolutionMethods
from commonplace.knowledge.entities.unmerging import UnmergingMethods
from commonplace.knowledge.episodes import EpisodeMethods
from commonplace.knowledge.facts import FactMethods
from commonplace.knowledge.kinds import Moment
from commonplace.knowledge.lifecycle.editing import EditingMethods
from commonplace.knowledge.lifecycle.feedback import FeedbackMethods
from commonplace.knowledge.lifecycle.origins import OriginMethods
from commonplace.knowledge.lifecycle.review import ReviewMethods
from commonplace.knowledge.lifecycle.undoing import UndoingMethods
from commonplace.knowledge.links import LinkMethods
from commonplace.knowledge.partitions.isolating import IsolatingMethods
from commonplace.knowledge.partitions.layout import LayoutMethods
from commonplace.knowledge.partitions.preparing import PreparingMethods
from commonplace.knowledge.reembedding.leftovers import LeftoverMethods
from commonplace.knowledge.reembedding.moving import MovingMethods
from commonplace.knowledge.rules import RuleMethods
from commonplace.knowledge.scopes.moving import ScopeMethods
from commonplace.knowledge.search import context as context_for_prompt
from commonplace.knowledge.search.context_block import ContextQuotas
from commonplace.knowledge.search.recall import RecallMethods
from commonplace.knowledge.search.search import SearchMethods
from commonplace.knowledge.search.until import UntilMethods
from commonplace.knowledge.upkeep.audit import AuditMethods
from commonplace.knowledge.upkeep.cleanup import CleanupMethods
from commonplace.knowledge.upkeep.decay import DecayMethods
from commonplace.knowledge.upkeep.stats import StatsMethods

_log = logging.getLogger(__name__)


class KnowledgeMemory(
    EpisodeMethods,
    FactMethods,
    RuleMethods,
    LinkMethods,
    UndoingMethods,
    EditingMethods,
    FeedbackMethods,
    ReviewMethods,
    OriginMethods,
    SearchMethods,
    RecallMethods,
    UntilMethods,
    ListMethods,
    ReadingMethods,
    HistoryMethods,
    GraphMethods,
    RegistryMethods,
    ResolutionMethods,
    RelationMethods,
    CandidateMethods,
    MergePreviewMethods,
    MergingMethods,
    UnmergingMethods,
    AuditMethods,
    StatsMethods,
    DecayMethods,
    CleanupMethods,
    ConsolidationMethods,
    RunMethods,
    RunUndoMethods,
    DeadLetterMethods,
    FactReviewMethods,
    MovingMethods,
    LeftoverMethods,
    LayoutMethods,
    PreparingMethods,
    IsolatingMethods,
    ScopeMethods,
):
    """Episodes, facts, rules and entities of one tenant, on PostgreSQL.

    Use :meth:`open`. All methods are safe to call from several tasks at once, and from several processes on one
    database. A method for one memory raises ``NotFoundError`` if the memory does not exist; lists and searches return
    an empty list. Every store returns a receipt.

    Every method raises ``StorageUnavailableError`` if the server cannot be reached, and ``InvalidInputError`` if a
    parameter is malformed; the docstrings do not repeat that. :meth:`context` and :meth:`store_episode` do not fail
    because of an outage, unless ``fail_open=False`` (KNW-24).
    """

    async def context(
        self,
        trigger_prompt: str,
        butler: str,
        *,
        token_budget: int | None = None,
        quotas: ContextQuotas | None = None,
        min_relevance: float | None = None,
        with_note: bool = True,
        with_ids: bool = False,
        with_dates: bool = False,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        min_trust: str | None = None,
        told: Callable[[UUID], object] | None = None,
        fail_open: bool = True,
    ) -> str:
        """Return the block for a prompt; if the database or the model is out of reach, log this and return "".

        Args:
            trigger_prompt: The first prompt of the session.
            butler: The agent that runs the session; facts and rules of its scope and global ones are used.
            token_budget: The budget in tokens of four characters; the configured budget if ``None``.
            quotas: The maximum share of each section; the configured quotas if ``None``.
            min_relevance: The minimum relevance; the configured minimum if ``None``.
            with_note: Whether to explain the lines; a caller that explains several blocks at once leaves this out.
            with_ids: Whether lines end with a short id for feedback, such as ``[f:3k7q2]``.
            with_dates: Whether facts show the date of their last confirmation.
            as_of: Show what was known at this moment.
            valid_at: Show the facts that were true at this moment.
            min_trust: Leave out memories that are less trusted than this source, such as ``agent``.
            told: Receives the id of each memory with a line in the block.
            fail_open: Whether to return "" during an outage; ``False`` raises the error of the outage.

        Raises:
            StorageError: ``fail_open`` is not set, and the database is out of reach.
            EmbeddingError: ``fail_open`` is not set, and the model cannot be used.

        Source: KNW-20, KNW-24.1.
        """
        retrieval = self.config.retrieval

        async def assemble(pool: asyncpg.Pool | Replicas) -> str:
            return await context_for_prompt.memory_context(
                pool,
                self.engine,
                trigger_prompt,
                butler,
                token_budget=retrieval.context_token_budget if token_budget is None else token_budget,
                limit=retrieval.default_limit,
                quotas=quotas or retrieval.section_quotas,
                weights=retrieval.score_weights,
                min_relevance=retrieval.min_relevance if min_relevance is None else min_relevance,
                with_note=with_note,
                with_ids=with_ids,
                with_dates=with_dates,
                as_of=as_of,
                valid_at=valid_at,
                min_trust=min_trust,
                quarantine=retrieval.quarantine,
                with_sources=retrieval.show_sources,
                told=told,
                clock=self.clock,
            )

        try:
            async with traced(self, "search_memory", trigger_prompt) as note:
                return note(await self._unless_out_of_reach(assemble))
        except OUTAGES as error:
            if not fail_open:
                raise
            _log.error("no memory for a session of butler %r: %s", butler, error)
            return ""
