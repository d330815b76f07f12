"""Import of many episodes: a transcript, or an export of another system."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from typing import Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.lookahead import one_ahead
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.episodes import EpisodeDraft, PreparedEpisodes, insert_episodes, prepare_episodes
from commonplace.knowledge.unit_of_work import require_context

BATCH_ROWS: Final = 250
"""Episodes of a batch: enough to make a transaction cheap, few enough to repeat after a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """The numbers of stored episodes and of their batches."""

    stored: int
    batches: int


async def import_episodes(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Iterable[EpisodeDraft],
    *,
    batch_rows: int = BATCH_ROWS,
    on_stored: Callable[[Sequence[UUID]], object] | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> ImportReceipt:
    """Store any number of episodes in their order, batch by batch; embed the next batch while one is stored.

    Each batch is stored as a whole, and is durable when ``on_stored`` is called. A failure ends the import and keeps
    the batches before it, so a caller that counts the ids of ``on_stored`` can go on after them.

    Args:
        pool: Of knowledge memory.
        engine: Computes the vectors.
        drafts: Read one batch ahead; may be a generator of any length.
        batch_rows: Episodes a batch, 1 to 5,000.
        on_stored: Called with the ids of each batch, in the order of its drafts.
        allow_secrets: Whether text that looks like a secret is stored.
        clock: Gives the present.

    Raises:
        InvalidInputError: ``batch_rows`` is out of range, or a draft of the batch holds what cannot be stored.
        SecretRefusedError: A text of the batch looks like a secret, and ``allow_secrets`` is not set.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used, or is not that of the memories.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.1; measured in docs/benchmarks.md.
    """
    require_context()
    rows = inputs.require_batch_rows(batch_rows)
    stored = batches = 0
    prepared = _prepared(engine, drafts, rows, allow_secrets=allow_secrets, clock=clock)
    async with aclosing(one_ahead(prepared)) as ahead:
        async for batch in ahead:
            ids = await insert_episodes(pool, batch)
            stored, batches = stored + len(ids), batches + 1
            if on_stored is not None:
                on_stored(ids)
    return ImportReceipt(stored=stored, batches=batches)


async def _prepared(
    engine: EmbeddingEngine,
    drafts: Iterable[EpisodeDraft],
    batch_rows: int,
    *,
    allow_secrets: bool,
    clock: Clock,
) -> AsyncGenerator[PreparedEpisodes]:
    left = iter(drafts)
    while batch := list(islice(left, batch_rows)):
        yield await prepare_episodes(engine, batch, allow_secrets=allow_secrets, clock=clock)
