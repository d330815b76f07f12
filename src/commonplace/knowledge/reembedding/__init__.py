"""Re-embedding: moves all memories to another embedding model while they are stored and searched (KNW-31.2).

A move stores the new model's vector beside the vector in use, row by row and tenant by tenant, then indexes the new
vectors, then renames the columns in one transaction of milliseconds. Searches use the old vectors until then. The rows
record the progress, so a killed move can be run again. The former vectors stay, so going back embeds only new memories.

Other rooms and the facade import the names in ``__all__``; everything else in this room is private to it.
"""

from commonplace.knowledge.reembedding.leftovers import abort_reembedding, drop_former_vectors
from commonplace.knowledge.reembedding.moves import (
    BATCH_ROWS,
    Move,
    MoveEndedError,
    MoveProgress,
    MoveState,
    MoveStatus,
    MoveStep,
    OnProgress,
    reembedding_status,
)
from commonplace.knowledge.reembedding.moving import MoveReceipt, reembed

__all__ = [
    "BATCH_ROWS",
    "Move",
    "MoveEndedError",
    "MoveProgress",
    "MoveReceipt",
    "MoveState",
    "MoveStatus",
    "MoveStep",
    "OnProgress",
    "abort_reembedding",
    "drop_former_vectors",
    "reembed",
    "reembedding_status",
]
