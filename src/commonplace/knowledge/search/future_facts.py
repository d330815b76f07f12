"""Facts that hold until a found fact begins.

A fact that begins in the future has superseded the fact of its key that holds now, and searches return active facts
only (KNW-02). So the later fact carries the one that holds until then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from commonplace.core.sources import Source
from commonplace.knowledge.model.kinds import Fact, Memory
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.search.request import SearchRequest
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements


class LaterFacts:
    """Facts that hold until facts of the future begin."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def find(self, memories: Iterable[Memory]) -> Mapping[UUID, Fact | None]:
        """Return the facts that begin in the future by id, each with the fact that holds until then, if any."""
        now = self._session.clock()
        later = _beginning_after(now, memories)
        if not later:
            return {}
        async with self._session.reading() as sql:
            rows = await sql.facts_until(ids=later, now=now, trusts=list(Source), with_flagged=True)
        nothing: dict[UUID, Fact | None] = dict.fromkeys(later)
        return nothing | {row["later_id"]: Fact.from_row(row, now=now) for row in rows}


def _beginning_after(now: datetime, memories: Iterable[Memory]) -> list[UUID]:
    return [each.id for each in memories if isinstance(each, Fact) and each.begins_after(now)]


async def facts_until(
    sql: KnowledgeStatements, memories: Iterable[Memory], request: SearchRequest
) -> dict[UUID, Fact]:
    """Return the facts that hold until some memories begin, by the id of the later fact.

    A round trip only if a memory begins in the future. The facts are as trusted as the request asks. A request about an
    earlier moment finds no such facts, because it finds superseded facts itself.
    """
    later = _beginning_after(request.now, memories)
    if not later or request.narrowing.is_past:
        return {}
    rows = await sql.facts_until(
        ids=later, now=request.now, trusts=list(request.narrowing.trusts), with_flagged=request.with_flagged
    )
    return {row["later_id"]: Fact.from_row(row, now=request.now) for row in rows}


async def with_until(
    sql: KnowledgeStatements, found: Sequence[SearchResult], request: SearchRequest
) -> list[SearchResult]:
    """Return the results, each with the fact that holds until it begins, if any."""
    until = await facts_until(sql, (each.memory for each in found), request)
    return [replace(each, until_then=until.get(each.memory.id)) for each in found]
