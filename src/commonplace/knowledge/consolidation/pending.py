"""Episodes that wait for consolidation, grouped and counted."""

from dataclasses import dataclass
from datetime import datetime

from commonplace.knowledge.connection.session import KnowledgeSession, storage_function
from commonplace.storage.nouns import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup(Noun):
    """The number of waiting episodes of one butler, and the time of the oldest (aware UTC)."""

    butler: str
    episodes: int
    oldest_at: datetime


class PendingMethods(KnowledgeSession):
    """The method of knowledge memory that counts waiting episodes."""

    async def pending_groups(self) -> list[PendingGroup]:
        """Return the tenant's waiting episodes by butler, without expired episodes.

        Raises:
            StorageUnavailableError: The server cannot be reached.

        Source: KNW-12.3.
        """
        async with self._reading() as sql:
            return PendingGroup.from_rows(await sql.pending_groups(now=self.clock()))


pending_groups = storage_function(PendingMethods, PendingMethods.pending_groups)
