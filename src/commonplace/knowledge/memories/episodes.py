"""Storage of episodes: events of a session, kept for days until they are consolidated."""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, ClassVar, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.lookahead import one_ahead
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.model.drafts import Draft, checked
from commonplace.knowledge.model.kinds import MemoryType, Moment
from commonplace.knowledge.store.draft_rows import columns
from commonplace.knowledge.store.outage import OUTAGES
from commonplace.knowledge.store.passages import store_passages
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.traced import traced
from commonplace.knowledge.store.vectors import EmbeddedText, Embeddings, embed_memories
from commonplace.language.times import EXPECTED, TimeReader

_log = logging.getLogger(__name__)

_LONGEST_DAY: Final = timedelta(hours=25)
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

    is_statement: ClassVar[bool] = False

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
class EpisodeImportReceipt:
    """The numbers of stored episodes and of their batches."""

    stored: int
    batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Checked episodes.

    Attributes:
        rows: The parameters of the statement that stores them.
        embeddings: Their vectors.
    """

    rows: Mapping[str, Any]
    embeddings: Embeddings


class Episodes:
    """Storing of episodes."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def store(
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
        """Store an episode; if the database or the model is out of reach, log this and report it in the receipt."""
        draft = EpisodeDraft(
            content=content,
            butler=butler,
            session_id=session_id,
            importance=importance,
            metadata=metadata,
            created_at=_event_moment(created_at, self._session.times),
            source=source,
        )
        try:
            (receipt,) = await self._session.unless_out_of_reach(
                lambda _: self.store_many([draft], allow_secrets=allow_secrets)
            )
        except OUTAGES as error:
            if not fail_open:
                raise
            _log.error("an episode of butler %r was not stored: %s", butler, error)
            return EpisodeReceipt(id=None, reason=str(error))
        return receipt

    async def store_many(
        self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool = False
    ) -> list[EpisodeReceipt]:
        """Store up to 5,000 episodes, all or none, with one embedding call and one statement."""
        if not drafts:
            return []
        prepared = await self._prepare(drafts, allow_secrets=allow_secrets)
        async with traced(self._session, "create_memory") as note:
            return note([EpisodeReceipt(id=stored) for stored in await self._insert(prepared)])

    async def import_all(
        self,
        drafts: Iterable[EpisodeDraft],
        *,
        batch_rows: int = BATCH_ROWS,
        on_stored: Callable[[Sequence[UUID]], object] | None = None,
        allow_secrets: bool = False,
    ) -> EpisodeImportReceipt:
        """Store any number of episodes in order, batch by batch; embed the next batch while one is stored."""
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
        return EpisodeImportReceipt(stored=stored, batches=batches)

    async def _prepare(self, drafts: Sequence[EpisodeDraft], *, allow_secrets: bool) -> Prepared:
        """Check 1 to 5,000 drafts and compute their vectors without a connection."""
        now = self._session.clock()
        expires_at = now + timedelta(days=self._session.database.settings.episode_days)
        episodes = [checked(draft, allow_secrets=allow_secrets) for draft in inputs.require_batch(drafts)]
        texts = [episode.content for episode in episodes]
        embeddings = await embed_memories(
            self._session.engine, [EmbeddedText(content=text) for text in texts]
        )
        rows = columns(episodes, texts, embeddings) | {
            "created_at": [_happened_at(episode, now) for episode in episodes],
            "expires_at": [expires_at for _ in episodes],
        }
        return Prepared(rows=rows, embeddings=embeddings)

    async def _insert(self, prepared: Prepared) -> list[UUID]:
        async with self._session.writing() as sql:
            await sql.insert_episodes(**prepared.rows)
            await store_passages(sql, MemoryType.EPISODE, prepared.rows["id"], prepared.embeddings)
        return prepared.rows["id"]


def _event_moment(created_at: Moment | None, times: TimeReader) -> Moment | None:
    """Return when an event happened; a week or a longer time does not say so.

    Raises:
        InvalidInputError: The text names neither a moment nor a day.
    """
    if not isinstance(created_at, str):
        return created_at
    span = times.span(created_at, field="created_at")
    if span.end - span.start > _LONGEST_DAY:
        raise InvalidInputError("created_at", EXPECTED, created_at)
    return span.start


def _happened_at(episode: EpisodeDraft, now: datetime) -> datetime:
    return min(episode.created_at, now) if isinstance(episode.created_at, datetime) else now
