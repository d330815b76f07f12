"""Storing of the passages of long memories; see :mod:`commonplace.knowledge.rules.passages`."""

from collections.abc import Sequence
from uuid import UUID

from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import Embeddings
from commonplace.storage.database import Statements


async def store_passages(
    sql: Statements, kind: MemoryType, ids: Sequence[UUID], embeddings: Embeddings
) -> None:
    """Store the passages of memories in the transaction that stores their texts; without long texts, do nothing.

    Args:
        sql: The transaction.
        kind: The kind of the memories.
        ids: The memories, in the order of the embeddings.
        embeddings: From :func:`~commonplace.knowledge.store.vectors.embed_memories`.
    """
    if not embeddings.passages:
        return
    rows = [
        (ids[at], place, each.passage.start, each.passage.end, each.vector)
        for at, passages in embeddings.passages.items()
        for place, each in enumerate(passages)
    ]
    memory_id, place, start_char, end_char, vectors = map(list, zip(*rows, strict=True))
    await of_kind(kind, sql).insert_passages(
        memory_id=memory_id, place=place, start_char=start_char, end_char=end_char, embedding=vectors
    )
