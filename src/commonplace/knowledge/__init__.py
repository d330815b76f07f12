"""Knowledge memory: episodes, facts, rules and entities of many tenants, on PostgreSQL.

:class:`KnowledgeMemory` is the way in. Import from here: the names below are public, and each one loads when it is
first used. The rooms of the package are private to it.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.knowledge.browse.graph import Edge, Graph, Node
    from commonplace.knowledge.browse.lists import ListedEntity
    from commonplace.knowledge.browse.reading import Linked
    from commonplace.knowledge.config import (
        DOOR_LIMIT,
        LIST_LIMIT,
        MAX_LIMIT,
        MemoryModuleConfig,
        RetrievalConfig,
        ScoreWeights,
        SearchMode,
    )
    from commonplace.knowledge.consolidation import (
        RUN_COUNTS,
        ActionKind,
        Approve,
        ConsolidationReport,
        DeadLetter,
        FactReview,
        Notify,
        PendingGroup,
        Plan,
        PlannedChange,
        Policy,
        Run,
        RunAction,
        RunRecord,
        RunState,
        Spawner,
        UndoReport,
        consolidate,
        model_spawner,
        plan_rows,
        this_worker,
        without_model,
    )
    from commonplace.knowledge.database import KnowledgeDatabase
    from commonplace.knowledge.entities import (
        Candidate,
        Entity,
        EntityType,
        MergePreview,
        MergeReceipt,
        NameMatch,
        UnmergeReceipt,
    )
    from commonplace.knowledge.episodes import EpisodeDraft, EpisodeReceipt, ImportReceipt
    from commonplace.knowledge.events import EventType
    from commonplace.knowledge.facts import FactDraft, FactReceipt
    from commonplace.knowledge.inputs import MAX_TAGS
    from commonplace.knowledge.kinds import (
        DEFAULT_IMPORTANCE,
        GLOBAL_SCOPE,
        MAX_IMPORTANCE,
        Episode,
        EpisodeStatus,
        Fact,
        Memory,
        MemoryType,
        Rule,
        Validity,
    )
    from commonplace.knowledge.lifecycle.feedback import Outcome, RuleApplication
    from commonplace.knowledge.lifecycle.maturity import Maturity
    from commonplace.knowledge.lifecycle.permanence import Permanence
    from commonplace.knowledge.links import Direction, Link, LinkReceipt, Relation
    from commonplace.knowledge.memory import KnowledgeMemory
    from commonplace.knowledge.reembedding import BATCH_ROWS, MoveProgress, MoveReceipt, MoveState, MoveStatus
    from commonplace.knowledge.rules import RuleDraft, RuleReceipt
    from commonplace.knowledge.search.context import DEFAULT_TOKEN_BUDGET, MAX_PROMPT_CHARS
    from commonplace.knowledge.search.context_block import CONTEXT_HEADER, ContextQuotas, SectionQuota
    from commonplace.knowledge.search.found import Explanation, Found, Scores, json_fields
    from commonplace.knowledge.search.request import DEFAULT_MIN_CONFIDENCE, MAX_QUERY_CHARS
    from commonplace.knowledge.serialization import json_safe
    from commonplace.knowledge.upkeep import (
        FAINT,
        GONE,
        CleanupReceipt,
        DecayReceipt,
        Event,
        MemoryStats,
        OnUpkeep,
        UpkeepProgress,
    )
    from commonplace.knowledge.workers import (
        FailedJob,
        ScheduleState,
        Worker,
        WorkerStatus,
        in_process_worker,
        worker_status,
    )

__all__ = [
    "BATCH_ROWS",
    "CONTEXT_HEADER",
    "DEFAULT_IMPORTANCE",
    "DEFAULT_MIN_CONFIDENCE",
    "DEFAULT_TOKEN_BUDGET",
    "DOOR_LIMIT",
    "FAINT",
    "GLOBAL_SCOPE",
    "GONE",
    "LIST_LIMIT",
    "MAX_IMPORTANCE",
    "MAX_LIMIT",
    "MAX_PROMPT_CHARS",
    "MAX_QUERY_CHARS",
    "MAX_TAGS",
    "RUN_COUNTS",
    "ActionKind",
    "Approve",
    "Candidate",
    "CleanupReceipt",
    "ConsolidationReport",
    "ContextQuotas",
    "DeadLetter",
    "DecayReceipt",
    "Direction",
    "Edge",
    "Entity",
    "EntityType",
    "Episode",
    "EpisodeDraft",
    "EpisodeReceipt",
    "EpisodeStatus",
    "Event",
    "EventType",
    "Explanation",
    "Fact",
    "FactDraft",
    "FactReceipt",
    "FactReview",
    "FailedJob",
    "Found",
    "Graph",
    "ImportReceipt",
    "KnowledgeDatabase",
    "KnowledgeMemory",
    "Link",
    "LinkReceipt",
    "Linked",
    "ListedEntity",
    "Maturity",
    "Memory",
    "MemoryModuleConfig",
    "MemoryStats",
    "MemoryType",
    "MergePreview",
    "MergeReceipt",
    "MoveProgress",
    "MoveReceipt",
    "MoveState",
    "MoveStatus",
    "NameMatch",
    "Node",
    "Notify",
    "OnUpkeep",
    "Outcome",
    "PendingGroup",
    "Permanence",
    "Plan",
    "PlannedChange",
    "Policy",
    "Relation",
    "RetrievalConfig",
    "Rule",
    "RuleApplication",
    "RuleDraft",
    "RuleReceipt",
    "Run",
    "RunAction",
    "RunRecord",
    "RunState",
    "ScheduleState",
    "ScoreWeights",
    "Scores",
    "SearchMode",
    "SectionQuota",
    "Spawner",
    "UndoReport",
    "UnmergeReceipt",
    "UpkeepProgress",
    "Validity",
    "Worker",
    "WorkerStatus",
    "consolidate",
    "in_process_worker",
    "json_fields",
    "json_safe",
    "model_spawner",
    "plan_rows",
    "this_worker",
    "without_model",
    "worker_status",
]

__getattr__ = lazy_names(
    __name__,
    {
        "browse.graph": "Graph Node Edge",
        "browse.lists": "ListedEntity",
        "browse.reading": "Linked",
        "config": (
            "DOOR_LIMIT LIST_LIMIT MAX_LIMIT MemoryModuleConfig RetrievalConfig ScoreWeights SearchMode"
        ),
        "consolidation": (
            "RUN_COUNTS ActionKind Approve ConsolidationReport DeadLetter Notify PendingGroup Plan "
            "PlannedChange Policy Run RunAction RunRecord RunState Spawner UndoReport consolidate "
            "model_spawner plan_rows this_worker without_model"
        ),
        "database": "KnowledgeDatabase",
        "entities": "Candidate Entity EntityType MergePreview MergeReceipt NameMatch UnmergeReceipt",
        "episodes": "EpisodeDraft EpisodeReceipt ImportReceipt",
        "events": "EventType",
        "facts": "FactDraft FactReceipt",
        "inputs": "MAX_TAGS",
        "kinds": (
            "DEFAULT_IMPORTANCE GLOBAL_SCOPE MAX_IMPORTANCE Episode EpisodeStatus Fact Memory MemoryType Rule "
            "Validity"
        ),
        "lifecycle.feedback": "Outcome RuleApplication",
        "lifecycle.maturity": "Maturity",
        "lifecycle.permanence": "Permanence",
        "links": "Direction Link LinkReceipt Relation",
        "memory": "KnowledgeMemory",
        "reembedding": "BATCH_ROWS MoveProgress MoveReceipt MoveState MoveStatus",
        "rules": "RuleDraft RuleReceipt",
        "search.context": "DEFAULT_TOKEN_BUDGET MAX_PROMPT_CHARS",
        "search.context_block": "CONTEXT_HEADER ContextQuotas SectionQuota",
        "search.found": "Explanation Found Scores json_fields",
        "search.request": "DEFAULT_MIN_CONFIDENCE MAX_QUERY_CHARS",
        "serialization": "json_safe",
        "upkeep": "FAINT GONE CleanupReceipt DecayReceipt Event MemoryStats OnUpkeep UpkeepProgress",
        "workers": "FailedJob ScheduleState Worker WorkerStatus in_process_worker worker_status",
    },
)
