"""Facts that hold until a found fact begins.

A fact that begins in the future has superseded the fact of its key that holds now, and searches return active facts
only (KNW-02). So the later fact carries the one that holds until then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from commonplace.knowledge.kinds import Fact, Memory
from commonplace.knowledge.search.found import Found
from commonplace.knowledge.search.request import SearchRequest
from commonplace.storage.database import Statements


async def facts_until(
    sql: Statements, memories: Iterable[Memory], request: SearchRequest
) -> dict[UUID, Fact]:
    """Return the facts that hold until some memories begin, by the id of the later fact.

    A round trip only if a memory begins in the future. The facts are as trusted as the request asks. A request about an
    earlier moment finds no such facts, because it finds superseded facts itself.
    """
    later = [
        each.id
        for each in memories
        if isinstance(each, Fact) and (each.valid_from or request.now) > request.now
    ]
    if not later or request.is_past:
        return {}
    rows = await sql.facts_until(
        ids=later, now=request.now, trusts=list(request.trusts), with_flagged=request.with_flagged
    )
    return {row["later_id"]: Fact.from_row(row, now=request.now) for row in rows}


async def with_until(sql: Statements, found: Sequence[Found], request: SearchRequest) -> list[Found]:
    """Return the results, each with the fact that holds until it begins, if any."""
    until = await facts_until(sql, (each.memory for each in found), request)
    return [replace(each, until_then=until.get(each.memory.id)) for each in found]
