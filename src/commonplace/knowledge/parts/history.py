"""The past of knowledge memory."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from uuid import UUID

from commonplace.knowledge.browse.history import ChangeHistory, KnowledgeDiff
from commonplace.knowledge.model.bounds import MAX_LIMIT
from commonplace.knowledge.model.kinds import Fact, Memory, Moment
from commonplace.knowledge.search.future_facts import LaterFacts
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.upkeep.stats import Statistics


class History:
    """Changes, and facts in the order of time: ``memory.history``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._changes = ChangeHistory(session)
        self._later = LaterFacts(session)
        self._statistics = Statistics(session)

    async def diff(
        self,
        since: Moment,
        until: Moment | None = None,
        *,
        scope: str | None = None,
        limit: int = MAX_LIMIT,
        offset: int = 0,
    ) -> KnowledgeDiff:
        """Return the changes between two moments.

        Args:
            since: The earlier moment.
            until: The later moment; now if ``None``. A date stands for the end of that day.
            scope: Return only global facts and rules and those of this scope; ``None`` for all.
            limit: Maximum number of facts, and of rules, 1 to 1,000.
            offset: The number of facts, and of rules, to skip.

        Raises:
            InvalidInputError: A parameter is malformed, or the later moment is not later.
        """
        return await self._changes.diff(since, until, scope=scope, limit=limit, offset=offset)

    async def timeline(
        self,
        subject: str = "",
        *,
        entity_id: UUID | str | None = None,
        limit: int = MAX_LIMIT,
        offset: int = 0,
    ) -> list[Fact]:
        """Return the facts of a subject or an entity, in the order in which they became true.

        Superseded and expired facts are included; forgotten facts are not.

        Args:
            subject: The subject; case, separators and a leading article do not matter.
            entity_id: The entity.
            limit: Maximum number of facts, 1 to 1,000.
            offset: The number of facts to skip.

        Raises:
            InvalidInputError: A parameter is malformed, or neither a subject nor an entity is given.
        """
        return await self._changes.timeline(subject, entity_id=entity_id, limit=limit, offset=offset)

    async def chain(self, fact_id: UUID | str) -> list[Fact]:
        """Return a fact with its predecessors and successors, newest first; an empty list if it does not exist."""
        return await self._changes.chain(fact_id)

    async def later_facts(self, memories: Iterable[Memory]) -> Mapping[UUID, Fact | None]:
        """Return the facts that begin in the future by id, each with the fact that holds until then, if any.

        A round trip only if a fact begins in the future.
        """
        return await self._later.find(memories)

    async def learned_by_day(self, *, since: datetime) -> Mapping[date, int]:
        """Return the number of facts and rules stored on each day (UTC); days without any are left out."""
        return await self._statistics.learned_by_day(since=since)
