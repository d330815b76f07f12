"""Numbers of memories by state (KNW-22)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from commonplace.knowledge.model import inputs
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.database import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStats:
    """Episodes by state; ``backlog_age_hours`` is the age of the oldest pending episode, or ``None``.

    ``unconsolidated`` counts pending episodes, ``leased`` episodes held by a worker, ``failed`` episodes that will be
    retried.
    """

    total: int
    unconsolidated: int
    leased: int
    failed: int
    dead_letter: int
    backlog_age_hours: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactStats:
    """Facts by state; ``active`` leaves out fading facts."""

    active: int
    fading: int
    superseded: int
    expired: int
    retracted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStats:
    """Rules by maturity, without forgotten rules, which are counted separately."""

    candidate: int
    established: int
    proven: int
    anti_pattern: int
    forgotten: int

    @property
    def total(self) -> int:
        """The number of all rules."""
        return self.candidate + self.established + self.proven + self.anti_pattern + self.forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """Numbers of a tenant's memories by state, from one consistent view."""

    episodes: EpisodeStats
    facts: FactStats
    rules: RuleStats

    @classmethod
    def from_row(cls, row: Columns) -> "MemoryStats":
        """Read a row whose columns are named ``<kind>_<state>``."""
        return cls(
            episodes=EpisodeStats(**{name: row[f"episodes_{name}"] for name in EpisodeStats.__slots__}),
            facts=FactStats(**{name: row[f"facts_{name}"] for name in FactStats.__slots__}),
            rules=RuleStats(**{name: row[f"rules_{name}"] for name in RuleStats.__slots__}),
        )


class Statistics:
    """Numbers of memories."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def count(self, *, scope: str | None = None) -> MemoryStats:
        """Count the tenant's memories by state."""
        wanted = inputs.optional_scope(scope)
        async with self._session.reading() as sql:
            return MemoryStats.from_row(await sql.memory_stats(scope=wanted, now=self._session.clock()))

    async def learned_by_day(self, *, since: datetime) -> Mapping[date, int]:
        """Return the number of facts and rules stored on each day (UTC); days without any are left out."""
        async with self._session.reading() as sql:
            return {
                row["day"]: row["memories"]
                for row in await sql.learned_by_day(since=inputs.require_moment(since, field="since"))
            }
