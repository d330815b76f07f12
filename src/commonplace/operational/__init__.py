"""Operational memory: what a scheduled ops agent learned about the services it looks after.

The agent prints markers. :class:`OperationalMemory` stores them in a database with a confidence that grows by
reinforcement and shrinks by contradiction and age, and puts the most trusted ones into the next system prompt.
Import from here: the names below are public, and each one loads when it is first used.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.operational.context import MemoryContext, format_confidence
    from commonplace.operational.cooldowns import Cooldown
    from commonplace.operational.decay import GRACE
    from commonplace.operational.events import Event
    from commonplace.operational.lifecycle import Effect
    from commonplace.operational.memories import (
        DEFAULT_CONFIDENCE,
        Change,
        ChangeKind,
        Memory,
        MemoryFilter,
        Sort,
        Wording,
    )
    from commonplace.operational.memory import OperationalMemory, require_category, require_service
    from commonplace.operational.model_reviews import decide_after_session
    from commonplace.operational.output import OutputKind, OutputLine, Shown
    from commonplace.operational.receipts import Receipt, ReceiptKind, ReceiptOutcome, SessionReport
    from commonplace.operational.reviews import Decision, Review, require_decision
    from commonplace.operational.run.agent import RunRequest, find_claude, require_arguments
    from commonplace.operational.run.lock import RunLock
    from commonplace.operational.run.prompt import load_prompt
    from commonplace.operational.run.runner import RunOutcome, RunReport, Watcher, run_session
    from commonplace.operational.run.schedule import Stop, first_due, run_schedule
    from commonplace.operational.sessions import TIERS, Session, SessionStatus
    from commonplace.operational.transcript.markers import (
        GENERAL,
        MAX_SERVICE_CHARS,
        MAX_TEXT_CHARS,
        SERVICE_PATTERN,
        CooldownAction,
        EventLevel,
        MemoryCategory,
    )
    from commonplace.operational.views import ServiceCount

__all__ = [
    "DEFAULT_CONFIDENCE",
    "GENERAL",
    "GRACE",
    "MAX_SERVICE_CHARS",
    "MAX_TEXT_CHARS",
    "SERVICE_PATTERN",
    "TIERS",
    "Change",
    "ChangeKind",
    "Cooldown",
    "CooldownAction",
    "Decision",
    "Effect",
    "Event",
    "EventLevel",
    "Memory",
    "MemoryCategory",
    "MemoryContext",
    "MemoryFilter",
    "OperationalMemory",
    "OutputKind",
    "OutputLine",
    "Receipt",
    "ReceiptKind",
    "ReceiptOutcome",
    "Review",
    "RunLock",
    "RunOutcome",
    "RunReport",
    "RunRequest",
    "ServiceCount",
    "Session",
    "SessionReport",
    "SessionStatus",
    "Shown",
    "Sort",
    "Stop",
    "Watcher",
    "Wording",
    "decide_after_session",
    "find_claude",
    "first_due",
    "format_confidence",
    "load_prompt",
    "require_arguments",
    "require_category",
    "require_decision",
    "require_service",
    "run_schedule",
    "run_session",
]

__getattr__ = lazy_names(
    __name__,
    {
        "context": "MemoryContext format_confidence",
        "cooldowns": "Cooldown",
        "decay": "GRACE",
        "events": "Event",
        "lifecycle": "Effect",
        "memories": "DEFAULT_CONFIDENCE Change ChangeKind Memory MemoryFilter Sort Wording",
        "memory": "OperationalMemory require_category require_service",
        "model_reviews": "decide_after_session",
        "output": "OutputKind OutputLine Shown",
        "receipts": "Receipt ReceiptKind ReceiptOutcome SessionReport",
        "reviews": "Decision Review require_decision",
        "run.agent": "RunRequest find_claude require_arguments",
        "run.lock": "RunLock",
        "run.prompt": "load_prompt",
        "run.runner": "RunOutcome RunReport Watcher run_session",
        "run.schedule": "Stop first_due run_schedule",
        "sessions": "TIERS Session SessionStatus",
        "transcript.markers": "GENERAL MAX_SERVICE_CHARS MAX_TEXT_CHARS SERVICE_PATTERN "
        "CooldownAction EventLevel MemoryCategory",
        "views": "ServiceCount",
    },
)
