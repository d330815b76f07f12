"""App memory: at most ten digests per space, made from an app's ended conversations.

A model sees them when a conversation of the app is in focus again. Rules are pure functions. The subagent makes and
compacts memories; the loop does so for a host. Import from this package: each public name loads at its first use.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.apps.conversations import Message
    from commonplace.apps.digests.loop import CatchUp
    from commonplace.apps.digests.queue import DigestState, ListedState, QueuedDigest
    from commonplace.apps.energy import EnergyPolicy, EnergyStatus
    from commonplace.apps.exchange import FORMAT, Document, Export, as_document
    from commonplace.apps.memories import MAX_CONTENT_CHARS, MAX_MEMORIES, Memory, Metadata
    from commonplace.apps.memory import AppMemory
    from commonplace.apps.metrics import Counts
    from commonplace.apps.names import MAX_ID_CHARS, require_app_id
    from commonplace.apps.receipts import CompactionReceipt, DigestOutcome, DigestReceipt, ImportReceipt
    from commonplace.apps.registry import AppStatus, ListedApp
    from commonplace.apps.statistics import DAY, HOUR, Statistics
    from commonplace.apps.views import SpentEnergy

__all__ = [
    "DAY",
    "FORMAT",
    "HOUR",
    "MAX_CONTENT_CHARS",
    "MAX_ID_CHARS",
    "MAX_MEMORIES",
    "AppMemory",
    "AppStatus",
    "CatchUp",
    "CompactionReceipt",
    "Counts",
    "DigestOutcome",
    "DigestReceipt",
    "DigestState",
    "Document",
    "EnergyPolicy",
    "EnergyStatus",
    "Export",
    "ImportReceipt",
    "ListedApp",
    "ListedState",
    "Memory",
    "Message",
    "Metadata",
    "QueuedDigest",
    "SpentEnergy",
    "Statistics",
    "as_document",
    "require_app_id",
]

__getattr__ = lazy_names(
    __name__,
    {
        "conversations": "Message",
        "digests.loop": "CatchUp",
        "digests.queue": "DigestState ListedState QueuedDigest",
        "energy": "EnergyPolicy EnergyStatus",
        "exchange": "FORMAT Document Export as_document",
        "memories": "MAX_CONTENT_CHARS MAX_MEMORIES Memory Metadata",
        "memory": "AppMemory",
        "metrics": "Counts",
        "names": "MAX_ID_CHARS require_app_id",
        "receipts": "CompactionReceipt DigestOutcome DigestReceipt ImportReceipt",
        "registry": "AppStatus ListedApp",
        "statistics": "DAY HOUR Statistics",
        "views": "SpentEnergy",
    },
)
