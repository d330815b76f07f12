"""The choice of memories for the next session's system prompt.

Memories are chosen by confidence across all services until the budget is spent, then grouped by service, general
memories last. A memory that does not fit is skipped, so that a long memory does not exclude shorter ones. The block
with its header never exceeds the budget; if no memory fits, the block is empty. Source: OPS-06, OPS-07, OPS-15,
R-OPS-3, R-OPS-4.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo

from commonplace.core.confidence import ACTIVE_THRESHOLD
from commonplace.operational.model.context import LessonCandidate, MemoryContext
from commonplace.operational.model.markers import GENERAL
from commonplace.operational.rules.context_block import SHORTEST_BULLET_CHARS, BlockBuilder
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.rows import read_row


async def build_memory_context(
    sql: OperationalStatements,
    *,
    budget_tokens: int,
    services: Sequence[str] = (),
    others: bool = True,
    holds: Callable[[str], bool] = lambda _: False,
    zone: tzinfo = UTC,
    dates: bool = False,
) -> MemoryContext:
    """Read memories until the budget is spent, and render them.

    ``sql`` is one consistent view, so that its pages fit together. The memories of ``services`` are chosen first;
    without ``others``, general ones follow, and none of other services. A memory for whose text ``holds`` returns true
    is in quarantine and not shown. ``zone`` decides which day "tomorrow" was. ``dates`` shows when each memory was last
    seen or edited.
    """
    builder = BlockBuilder(
        eligible=await sql.count_eligible(threshold=float(ACTIVE_THRESHOLD)),
        budget_tokens=budget_tokens,
        holds=holds,
        zone=zone,
        dates=dates,
    )
    if services:
        await _offer(sql, builder, services=f",{','.join(services).lower()},")
    if others:
        await _offer(sql, builder, services="")
    elif services:
        await _offer(sql, builder, services=f",{GENERAL},")
    return builder.build()


async def _offer(sql: OperationalStatements, builder: "BlockBuilder", *, services: str) -> None:
    """Offer memories page by page while there is room; ``services`` as in the statement ``eligible``."""
    last: LessonCandidate | None = None
    while builder.room > 0:
        # The remaining room is smaller than a page of memories, so the rest need not be read.
        page = builder.room // SHORTEST_BULLET_CHARS + 1
        rows = await sql.eligible(
            threshold=float(ACTIVE_THRESHOLD),
            max_chars=builder.room,
            services=services,
            after_confidence=last.confidence if last else 2.0,
            after_updated_at=last.updated_at if last else "",
            after_id=last.id if last else 0,
            limit=page,
        )
        for row in rows:
            last = read_row(LessonCandidate, row)
            builder.offer(last)
        if len(rows) < page:
            return
