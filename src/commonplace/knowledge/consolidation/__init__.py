"""Consolidation: turns a butler's episodes into facts and rules, and undoes runs.

Other rooms and the facade import the names in ``__all__``; everything else in this room is private to it.
"""

from commonplace.knowledge.consolidation.attempt import Approve, Plan
from commonplace.knowledge.consolidation.butlers import Notify, run_consolidation
from commonplace.knowledge.consolidation.dead_letters import (
    DeadLetter,
    list_dead_letters,
    requeue_dead_letters,
)
from commonplace.knowledge.consolidation.from_settings import consolidate, without_model
from commonplace.knowledge.consolidation.leases import this_worker
from commonplace.knowledge.consolidation.pending import PendingGroup, pending_groups
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.preview import PlannedChange, plan_rows
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.reviews import Decision, FactReview
from commonplace.knowledge.consolidation.runs import (
    RUN_COUNTS,
    ActionKind,
    Run,
    RunAction,
    RunRecord,
    RunState,
    get_run,
    list_runs,
)
from commonplace.knowledge.consolidation.spawner import Spawner, model_spawner
from commonplace.knowledge.consolidation.undo import UndoReport, undo_run

__all__ = [
    "RUN_COUNTS",
    "ActionKind",
    "Approve",
    "ConsolidationReport",
    "DeadLetter",
    "Decision",
    "FactReview",
    "Notify",
    "PendingGroup",
    "Plan",
    "PlannedChange",
    "Policy",
    "Run",
    "RunAction",
    "RunRecord",
    "RunState",
    "Spawner",
    "UndoReport",
    "consolidate",
    "get_run",
    "list_dead_letters",
    "list_runs",
    "model_spawner",
    "pending_groups",
    "plan_rows",
    "requeue_dead_letters",
    "run_consolidation",
    "this_worker",
    "undo_run",
    "without_model",
]
