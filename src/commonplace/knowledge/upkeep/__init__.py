"""Upkeep: the decay sweep, the episode cleanup, the audit trail and the statistics of a tenant.

Other rooms and the facade import the names in ``__all__``; everything else in this room is private to it.
"""

from commonplace.knowledge.upkeep.audit import Event, get_event, list_events
from commonplace.knowledge.upkeep.cleanup import DEFAULT_MAX_ENTRIES, CleanupReceipt, run_episode_cleanup
from commonplace.knowledge.upkeep.decay import FAINT, GONE, DecayReceipt, run_decay_sweep
from commonplace.knowledge.upkeep.progress import OnUpkeep, UpkeepProgress
from commonplace.knowledge.upkeep.stats import MemoryStats, memory_stats

__all__ = [
    "DEFAULT_MAX_ENTRIES",
    "FAINT",
    "GONE",
    "CleanupReceipt",
    "DecayReceipt",
    "Event",
    "MemoryStats",
    "OnUpkeep",
    "UpkeepProgress",
    "get_event",
    "list_events",
    "memory_stats",
    "run_decay_sweep",
    "run_episode_cleanup",
]
