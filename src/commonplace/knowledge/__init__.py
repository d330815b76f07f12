"""Knowledge memory: episodes, facts and rules of many tenants, on PostgreSQL with pgvector (KNW).

Each room is a folder with its SQL; ``memory.py`` is the facade. Import from here: the names below are public, and each
one loads when it is first used.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.knowledge.browse.graph import Graph, Node
    from commonplace.knowledge.config import DOOR_LIMIT, MAX_LIMIT, MemoryModuleConfig, SearchMode
    from commonplace.knowledge.consolidation import (
        LISTED_RUNS,
        RUN_COUNTS,
        ActionKind,
        ConsolidationReport,
        Plan,
        Run,
        RunState,
        consolidate,
        model_spawner,
        plan_rows,
        this_worker,
        without_model,
    )
    from commonplace.knowledge.database import KnowledgeDatabase
    from commonplace.knowledge.entities import Entity, EntityType, MergeReceipt, NameMatch, UnmergeReceipt
    from commonplace.knowledge.events import EventType
    from commonplace.knowledge.kinds import Episode, EpisodeStatus, Fact, Memory, MemoryType, Rule, Validity
    from commonplace.knowledge.lifecycle.maturity import Maturity
    from commonplace.knowledge.memory import KnowledgeMemory
    from commonplace.knowledge.reembedding import BATCH_ROWS, MoveReceipt, MoveState, MoveStatus, Progress
    from commonplace.knowledge.search.found import Found, Scores, json_fields
    from commonplace.knowledge.search.request import MAX_QUERY_CHARS
    from commonplace.knowledge.serialization import json_safe
    from commonplace.knowledge.upkeep import (
        FAINT,
        GONE,
        CleanupReceipt,
        DecayReceipt,
        OnUpkeep,
        UpkeepProgress,
    )
    from commonplace.knowledge.workers import FailedJob, ScheduleState, Worker, WorkerStatus, worker_status
    from commonplace.knowledge.workers.worker import in_process_worker

__all__ = [
    "BATCH_ROWS",
    "DOOR_LIMIT",
    "FAINT",
    "GONE",
    "LISTED_RUNS",
    "MAX_LIMIT",
    "MAX_QUERY_CHARS",
    "RUN_COUNTS",
    "ActionKind",
    "CleanupReceipt",
    "ConsolidationReport",
    "DecayReceipt",
    "Entity",
    "EntityType",
    "Episode",
    "EpisodeStatus",
    "EventType",
    "Fact",
    "FailedJob",
    "Found",
    "Graph",
    "KnowledgeDatabase",
    "KnowledgeMemory",
    "Maturity",
    "Memory",
    "MemoryModuleConfig",
    "MemoryType",
    "MergeReceipt",
    "MoveReceipt",
    "MoveState",
    "MoveStatus",
    "NameMatch",
    "Node",
    "OnUpkeep",
    "Plan",
    "Progress",
    "Rule",
    "Run",
    "RunState",
    "ScheduleState",
    "Scores",
    "SearchMode",
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
        "browse.graph": "Graph Node",
        "config": "DOOR_LIMIT MAX_LIMIT MemoryModuleConfig SearchMode",
        "consolidation": "LISTED_RUNS RUN_COUNTS ActionKind ConsolidationReport Plan Run "
        "RunState consolidate model_spawner plan_rows this_worker without_model",
        "database": "KnowledgeDatabase",
        "entities": "Entity EntityType MergeReceipt NameMatch UnmergeReceipt",
        "events": "EventType",
        "kinds": "Episode EpisodeStatus Fact Memory MemoryType Rule Validity",
        "lifecycle.maturity": "Maturity",
        "memory": "KnowledgeMemory",
        "reembedding": "BATCH_ROWS MoveReceipt MoveState MoveStatus Progress",
        "search.found": "Found Scores json_fields",
        "search.request": "MAX_QUERY_CHARS",
        "serialization": "json_safe",
        "upkeep": "FAINT GONE CleanupReceipt DecayReceipt OnUpkeep UpkeepProgress",
        "workers": "FailedJob ScheduleState Worker WorkerStatus worker_status",
        "workers.worker": "in_process_worker",
    },
)
