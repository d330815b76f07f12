"""Episodes that wait for consolidation, grouped and counted."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.storage.nouns import Noun

EXPIRES_SOON_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup(Noun):
    """The number of waiting episodes of one butler, and the time of the oldest (aware UTC)."""

    butler: str
    episodes: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringEpisodes(Noun):
    """The number of episodes that will expire soon without consolidation, and when the first expires (aware UTC)."""

    episodes: int
    first_at: datetime | None

    @property
    def advice(self) -> str:
        """A warning about the coming expiry, with the remedy; empty if no episode expires."""
        if not self.episodes or self.first_at is None:
            return ""
        verb = "expires" if self.episodes == 1 else "expire"
        return (
            f"{plural(self.episodes, 'session')} {verb} without becoming knowledge, the first on "
            f"{self.first_at:%Y-%m-%d at %H:%M} UTC. `commonplace consolidation show` says how to keep them."
        )


class PendingMethods(KnowledgeSession):
    """The methods of knowledge memory that count waiting episodes."""

    async def pending_groups(self) -> list[PendingGroup]:
        """Return the tenant's waiting episodes by butler, without expired episodes.

        Source: KNW-12.3.
        """
        async with self._reading() as sql:
            return PendingGroup.from_rows(await sql.pending_groups(now=self.clock()))

    async def expiring_episodes(self, *, within_s: float = EXPIRES_SOON_S) -> ExpiringEpisodes:
        """Return the tenant's waiting episodes that expire within a period, by default a day."""
        now = self.clock()
        try:
            before = now + timedelta(seconds=within_s)
        except (ArithmeticError, TypeError, ValueError):
            raise InvalidInputError("within_s", "a number of seconds", within_s) from None
        async with self._reading() as sql:
            row = await sql.expiring_episodes(now=now, before=before)
        return ExpiringEpisodes.from_row(row)
