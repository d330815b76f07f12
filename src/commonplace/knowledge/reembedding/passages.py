"""Passages for long memories without passages: those of an older release, and all after a change of the model."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.reembedding.moves import work_of
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import EmbeddedText, embed_memories

BATCH_ROWS: Final = 16
"""Number of memories in a batch, because a memory has up to 30 passages, and an episode up to a million characters."""

_FIRST: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LongMemory:
    """A long memory without passages."""

    id: UUID
    text: EmbeddedText


async def make_passages(
    pool: asyncpg.Pool, engine: EmbeddingEngine, tenant: str, *, batch_rows: int = BATCH_ROWS
) -> int:
    """Make the missing passages of a tenant's long memories, and return the number of these memories.

    Memories can be stored and searched meanwhile. If the active model is not the engine's, nothing is stored. Each
    batch is one transaction, so a stopped call keeps its work.

    Raises:
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.
    """
    count = 0
    for kind in MemoryType:
        after: UUID | None = _FIRST
        while after is not None:
            async with work_of(pool, tenant, readonly=True) as sql:
                rows = await of_kind(kind, sql).without_passages(after=after, limit=batch_rows)
            memories = [
                _LongMemory(id=row["id"], text=EmbeddedText(content=row["content"], heading=row["heading"]))
                for row in rows
            ]
            batch = await _make(pool, engine, tenant, kind, memories)
            count += batch
            after = memories[-1].id if batch and len(memories) == batch_rows else None
    return count


async def _make(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    tenant: str,
    kind: MemoryType,
    memories: Sequence[_LongMemory],
) -> int:
    if not memories:
        return 0
    embeddings = await embed_memories(engine, [each.text for each in memories])
    async with work_of(pool, tenant) as sql:
        rows = await of_kind(kind, sql).lock_unchanged(
            ids=[each.id for each in memories],
            fingerprint=[_fingerprint(each.text.content) for each in memories],
            version=embeddings.version,
        )
        unchanged_ids = {row["id"] for row in rows}
        places = [place for place, each in enumerate(memories) if each.id in unchanged_ids]
        await store_passages(sql, kind, [memories[place].id for place in places], embeddings.only(*places))
    return len(places)


def _fingerprint(content: str) -> str:
    return hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
