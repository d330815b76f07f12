"""Dead letters: episodes with no more retries, kept with the last error until they expire (R-KNW-4, KNW-15.1).

Like all episodes they expire seven days after they were stored. Until then an operator can requeue them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.knowledge import inputs
from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.storage.nouns import Noun

MAX_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter(Noun):
    """An episode with no more retries, without its text; times are aware UTC."""

    id: UUID
    butler: str
    created_at: datetime
    expires_at: datetime | None
    retry_count: int
    last_error: str | None


class DeadLetterMethods(KnowledgeSession):
    """The methods of knowledge memory that show and retry dead letters."""

    async def list_dead_letters(self, *, butler: str | None = None) -> list[DeadLetter]:
        """Return the tenant's dead letters, or one butler's, the oldest first, at most 1,000."""
        wanted = inputs.optional_scope(butler, field="butler")
        async with self._reading() as sql:
            return DeadLetter.from_rows(await sql.dead_letters(butler=wanted, limit=MAX_SHOWN))

    async def requeue_dead_letters(
        self, *, butler: str | None = None, episode_id: UUID | str | None = None
    ) -> int:
        """Retry dead letters from the first attempt, unless they have expired.

        Args:
            butler: Only this butler's dead letters.
            episode_id: Only this episode.

        Returns:
            The number of requeued episodes.
        """
        wanted = inputs.optional_scope(butler, field="butler")
        key = inputs.optional_id(episode_id, field="episode_id")
        async with self._writing() as sql:
            return await sql.requeue_dead_letters(butler=wanted, episode_id=key, now=self.clock())
