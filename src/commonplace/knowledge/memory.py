"""Facade of knowledge memory: the methods that hosts, the command line, the service and MCP servers call."""

from commonplace.knowledge.browse.entity_graph import GraphMethods
from commonplace.knowledge.browse.history import HistoryMethods
from commonplace.knowledge.browse.lists import ListMethods
from commonplace.knowledge.browse.single_memories import ReadingMethods
from commonplace.knowledge.consolidation.butlers import ConsolidationMethods
from commonplace.knowledge.consolidation.dead_letters import DeadLetterMethods
from commonplace.knowledge.consolidation.reviews import FactReviewMethods
from commonplace.knowledge.consolidation.runs import RunMethods
from commonplace.knowledge.consolidation.undo import RunUndoMethods
from commonplace.knowledge.entities.candidates import CandidateMethods
from commonplace.knowledge.entities.merging import MergingMethods
from commonplace.knowledge.entities.registry import RegistryMethods
from commonplace.knowledge.entities.relations import RelationMethods
from commonplace.knowledge.entities.resolution import ResolutionMethods
from commonplace.knowledge.entities.unmerging import UnmergingMethods
from commonplace.knowledge.lifecycle.any_memory import AnyMemoryMethods
from commonplace.knowledge.lifecycle.editing import EditingMethods
from commonplace.knowledge.lifecycle.feedback import FeedbackMethods
from commonplace.knowledge.lifecycle.review import ReviewMethods
from commonplace.knowledge.memories.episodes import EpisodeMethods
from commonplace.knowledge.memories.facts import FactMethods
from commonplace.knowledge.memories.links import LinkMethods
from commonplace.knowledge.memories.rules import RuleMethods
from commonplace.knowledge.partitions.partitioning import PartitionMethods
from commonplace.knowledge.reembedding.leftovers import LeftoverMethods
from commonplace.knowledge.reembedding.moving import MovingMethods
from commonplace.knowledge.scopes.moving import ScopeMethods
from commonplace.knowledge.search.context_assembly import ContextMethods
from commonplace.knowledge.search.future_facts import UntilMethods
from commonplace.knowledge.search.recall import RecallMethods
from commonplace.knowledge.search.search import SearchMethods
from commonplace.knowledge.upkeep.audit import AuditMethods
from commonplace.knowledge.upkeep.cleanup import CleanupMethods
from commonplace.knowledge.upkeep.decay import DecayMethods
from commonplace.knowledge.upkeep.stats import StatsMethods


class KnowledgeMemory(
    EpisodeMethods,
    FactMethods,
    RuleMethods,
    LinkMethods,
    AnyMemoryMethods,
    EditingMethods,
    FeedbackMethods,
    ReviewMethods,
    SearchMethods,
    RecallMethods,
    ContextMethods,
    UntilMethods,
    ListMethods,
    ReadingMethods,
    HistoryMethods,
    GraphMethods,
    RegistryMethods,
    ResolutionMethods,
    RelationMethods,
    CandidateMethods,
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
    PartitionMethods,
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
