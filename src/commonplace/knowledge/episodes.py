"""Storing episodes: events of a session, kept for days until they are consolidated."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.lookahead import one_ahead
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.drafts import checked, columns
from commonplace.knowledge.kinds import DEFAULT_IMPORTANCE
from commonplace.knowledge.unit_of_work import require_context, unit_of_work
from commonplace.knowledge.vectors import embed

LIFETIME: Final = timedelta(days=7)
"""The time until an episode expires. Source: KNW-05.1."""

BATCH_ROWS: Final = 250
"""Episodes of a batch: enough to make a transaction cheap, few enough to repeat after a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDraft:
    """An episode to store.

    Attributes:
        content: The event, 1 to 1,000,000 characters.
        butler: The agent whose session it was; the scope of an episode.
        session_id: The session.
        importance: 0.0 to 10.0.
        metadata: A JSON object.
        created_at: When the event happened (aware); now if ``None``. The lifetime starts at the storing in any case.
    """

    content: str
    butler: str
    session_id: UUID | str | None = None
    importance: float = DEFAULT_IMPORTANCE
    metadata: Mapping[str, Any] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeReceipt:
    """The outcome of storing an episode.

    Attributes:
        id: The stored episode; ``None`` if the database or the model was out of reach.
        reason: Why the episode was not stored. The same episode may be stored again later.
    """

    id: UUID | None
    reason: str = ""

    @property
    def stored(self) -> bool:
        """Whether the episode is in the database."""
        return self.id is not None


async def store_episode(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    *,
    content: str,
    butler: str,
    session_id: UUID | str | None = None,
    importance: float = DEFAULT_IMPORTANCE,
    metadata: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> UUID:
    """Store an episode and return its id; see :class:`EpisodeDraft` and :func:`store_episodes`.

    Source: KNW-05.1.
    """
    draft = EpisodeDraft(
        content=content,
        butler=butler,
        session_id=session_id,
        importance=importance,
        metadata=metadata,
        created_at=created_at,
    )
    prepared = await prepare_episodes(engine, [draft], allow_secrets=allow_secrets, clock=clock)
    (stored,) = await insert_episodes(pool, prepared)
    return stored


async def store_episodes(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    drafts: Sequence[EpisodeDraft],
    *,
    allow_secrets: bool = False,
    clock: Clock = utc_now,
) -> list[EpisodeReceipt]:
    """Store up to 5,000 episodes with one computation of vectors and one statement, all or none.

    Returns:
        A receipt for each draft, in the order of the drafts.

    Raises:
        InvalidInputError: A value of a draft is invalid; the message names the field.
        SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
        TenantUnsetError: No request context is set.
        EmbeddingError: The model cannot be used.
        StorageUnavailableError: The server cannot be reached.
    """
    require_context()
    if not drafts:
        return []
    prepared = await prepare_episodes(engine, drafts, allow_secrets=allow_secrets, clock=clock)
    return [EpisodeReceipt(id=stored) for stored in await insert_episodes(pool, prepared)]


Prepared = dict[str, Any]
"""Checked episodes with their vectors, as the parameters of the statement that stores them."""


async def prepare_episodes(
    engine: EmbeddingEngine, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool, clock: Clock
) -> Prepared:
    """Check 1 to 5,000 drafts and compute their vectors without a connection; see :func:`store_episodes`."""
    require_context()
    now = clock()
    episodes = [checked(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
    texts = [episode.content for episode in episodes]
    return columns(episodes, texts, await embed(engine, texts)) | {
        "created_at": [episode.created_at or now for episode in episodes],
        "expires_at": [now + LIFETIME for _ in episodes],
    }


async def insert_episodes(pool: asyncpg.Pool, prepared: Prepared) -> list[UUID]:
    """Store prepared episodes, all or none, and return their ids; see :func:`store_episodes`."""
    async with unit_of_work(pool) as sql:
        await sql.insert_episodes(**prepared)
    return prepared["id"]


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
) -> AsyncGenerator[Prepared]:
    left = iter(drafts)
    while batch := list(islice(left, batch_rows)):
        yield await prepare_episodes(engine, batch, allow_secrets=allow_secrets, clock=clock)
