"""Dead letters: episodes with no retries left, kept with the last error until they expire (R-KNW-4, KNW-15.1).

Like all episodes they expire seven days after they were stored. Until then an operator can requeue them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.core.errors import UndoRefusedError
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun

MAX_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter(Noun):
    """An episode with no retries left, without its text; times are aware UTC."""

    id: UUID
    butler: str
    created_at: datetime
    expires_at: datetime | None
    retry_count: int
    last_error: str | None


class DeadLetters:
    """Episodes with no retries left."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(self, *, butler: str | None = None) -> list[DeadLetter]:
        """Return the dead letters of the tenant or of one butler, oldest first, at most 1,000."""
        wanted = inputs.optional_scope(butler, field="butler")
        async with self._session.reading() as sql:
            return DeadLetter.from_rows(await sql.dead_letters(butler=wanted, limit=MAX_SHOWN))

    async def requeue(self, *, butler: str | None = None, episode_id: UUID | str | None = None) -> int:
        """Requeue unexpired dead letters, with all attempts available again.

        Args:
            butler: Only this butler's dead letters.
            episode_id: Only this episode, by its id or its short id.

        Returns:
            The number of requeued episodes.

        Raises:
            InvalidInputError: The id is malformed, or several episodes have the short id.
            NotFoundError: No episode has the short id.
        """
        wanted = inputs.optional_scope(butler, field="butler")
        async with self._session.writing() as sql:
            key = None
            if episode_id is not None:
                key = await find_id(sql, episode_id, MemoryType.EPISODE, field="episode_id")
            return await sql.requeue_dead_letters(butler=wanted, episode_id=key, now=self._session.clock())

    async def undo_requeue(self, episode_id: UUID | str) -> None:
        """Make a requeued episode a dead letter again, with its former attempts and error.

        Raises:
            InvalidInputError: The id is malformed.
            UndoRefusedError: The episode was not requeued, or a run has taken it since.
            NotFoundError: No episode has the short id.
        """
        async with self._session.writing() as sql:
            key = await find_id(sql, episode_id, MemoryType.EPISODE, field="episode_id")
            if await sql.undo_requeue(id=key) is None:
                reason = "the episode was not requeued, or a run has taken it since"
                raise UndoRefusedError("episode_id", "the retry", reason, str(key))
