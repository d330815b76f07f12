"""Storage of episodes: events of a session, kept for days until they are consolidated."""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID

from commonplace.core.lookahead import one_ahead
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.drafts import Draft, checked
from commonplace.knowledge.model.kinds import DEFAULT_IMPORTANCE, Moment
from commonplace.knowledge.store.draft_rows import columns
from commonplace.knowledge.store.outage import OUTAGES
from commonplace.knowledge.store.session import KnowledgeSession, storage_function
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.vectors import embed

_log = logging.getLogger(__name__)

LIFETIME: Final = timedelta(days=7)
"""The time until an episode expires. Source: KNW-05.1."""

BATCH_ROWS: Final = 250
"""Number of episodes in a batch: enough to make transactions cheap, few enough to repeat after a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeDraft(Draft):
    """An episode to store.

    Attributes:
        content: The event, 1 to 1,000,000 characters.
        butler: The agent that ran the session; the scope of an episode.
        session_id: The session.
        importance: 0.0 to 10.0.
        metadata: A JSON object.
        created_at: When the event happened; now if it is ``None`` or in the future. The lifetime always starts when it
            is stored.
        source: Where the event comes from, if that is less trusted than the session that stores it: a
            :class:`~commonplace.core.sources.Source`.
    """

    content: str
    butler: str
    session_id: UUID | str | None = None
    importance: float = DEFAULT_IMPORTANCE
    metadata: Mapping[str, Any] | None = None
    created_at: Moment | None = None
    source: str | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """The numbers of stored episodes and of their batches."""

    stored: int
    batches: int


Prepared = dict[str, Any]
"""Checked episodes with their vectors, as the parameters of the statement that stores them."""


class EpisodeMethods(KnowledgeSession):
    """The methods of knowledge memory that store episodes."""

    async def store_episode(
        self,
        *,
        content: str,
        butler: str,
        session_id: UUID | str | None = None,
        importance: float = DEFAULT_IMPORTANCE,
        metadata: Mapping[str, Any] | None = None,
        created_at: Moment | None = None,
        source: str | None = None,
        allow_secrets: bool = False,
        fail_open: bool = True,
    ) -> EpisodeReceipt:
        """Store an episode; if the database or the model is out of reach, log this and report it in the receipt.

        For the parameters see :class:`EpisodeDraft`. With ``fail_open=False``, an outage raises its error instead.

        Raises:
            InvalidInputError: A value is malformed; nothing was written.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            StorageError: ``fail_open`` is not set, and the database is out of reach.
            EmbeddingError: ``fail_open`` is not set, and the model cannot be used.

        Source: KNW-05.1, KNW-24.2.
        """
        draft = EpisodeDraft(
            content=content,
            butler=butler,
            session_id=session_id,
            importance=importance,
            metadata=metadata,
            created_at=created_at,
            source=source,
        )
        try:
            (receipt,) = await self._unless_out_of_reach(
                lambda _: self.store_episodes([draft], allow_secrets=allow_secrets)
            )
        except OUTAGES as error:
            if not fail_open:
                raise
            _log.error("an episode of butler %r was not stored: %s", butler, error)
            return EpisodeReceipt(id=None, reason=str(error))
        return receipt

    async def store_episodes(
        self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool = False
    ) -> list[EpisodeReceipt]:
        """Store up to 5,000 episodes, all or none, with one embedding call and one statement.

        Returns:
            A receipt for each draft, in the order of the drafts.

        Raises:
            InvalidInputError: A value of a draft is invalid; the message names the field.
            SecretRefusedError: A text looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used.
        """
        if not drafts:
            return []
        prepared = await self._prepare(drafts, allow_secrets=allow_secrets)
        async with traced(self, "create_memory") as note:
            return note([EpisodeReceipt(id=stored) for stored in await self._insert(prepared)])

    async def import_episodes(
        self,
        drafts: Iterable[EpisodeDraft],
        *,
        batch_rows: int = BATCH_ROWS,
        on_stored: Callable[[Sequence[UUID]], object] | None = None,
        allow_secrets: bool = False,
    ) -> ImportReceipt:
        """Store any number of episodes in order, batch by batch; embed the next batch while one is stored.

        Each batch is stored all or none, and is durable when ``on_stored`` is called. A failure ends the import and
        keeps earlier batches, so a caller that counts the ids passed to ``on_stored`` can resume after them.

        Args:
            drafts: Read one batch ahead; may be a generator of any length.
            batch_rows: Episodes per batch, 1 to 5,000.
            on_stored: Called with the ids of each batch, in the order of its drafts.
            allow_secrets: Whether text that looks like a secret is stored.

        Raises:
            InvalidInputError: ``batch_rows`` is out of range, or a draft of the batch cannot be stored.
            SecretRefusedError: A text of the batch looks like a secret, and ``allow_secrets`` is not set.
            EmbeddingError: The model cannot be used, or is not the model of the memories.

        Source: KNW-05.1; measured in docs/benchmarks.md.
        """
        rows, left = inputs.require_batch_rows(batch_rows), iter(drafts)

        async def prepared() -> AsyncGenerator[Prepared]:
            while batch := list(islice(left, rows)):
                yield await self._prepare(batch, allow_secrets=allow_secrets)

        stored = batches = 0
        async with aclosing(one_ahead(prepared())) as ahead:
            async for batch in ahead:
                ids = await self._insert(batch)
                stored, batches = stored + len(ids), batches + 1
                if on_stored is not None:
                    on_stored(ids)
        return ImportReceipt(stored=stored, batches=batches)

    async def _prepare(self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool) -> Prepared:
        """Check 1 to 5,000 drafts and compute their vectors without a connection."""
        now = self.clock()
        episodes = [checked(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
        texts = [episode.content for episode in episodes]
        return columns(episodes, texts, await embed(self.engine, texts)) | {
            "created_at": [_happened_at(episode, now) for episode in episodes],
            "expires_at": [now + LIFETIME for _ in episodes],
        }

    async def _insert(self, prepared: Prepared) -> list[UUID]:
        async with self._writing() as sql:
            await sql.insert_episodes(**prepared)
        return prepared["id"]


def _happened_at(episode: EpisodeDraft, now: datetime) -> datetime:
    return min(episode.created_at, now) if isinstance(episode.created_at, datetime) else now


store_episode = storage_function(
    EpisodeMethods,
    EpisodeMethods.store_episode,
    needs_engine=True,
    take=lambda receipt: receipt.id,
    fail_open=False,
)
store_episodes = storage_function(EpisodeMethods, EpisodeMethods.store_episodes, needs_engine=True)
import_episodes = storage_function(EpisodeMethods, EpisodeMethods.import_episodes, needs_engine=True)
