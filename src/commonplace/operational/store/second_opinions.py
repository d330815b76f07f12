"""The rows of second opinions: one for each call of a model about doubtful pairs."""

from collections.abc import Sequence
from datetime import datetime

from commonplace.core.clock import format_timestamp
from commonplace.operational.model.reviews import Review
from commonplace.operational.model.second_opinions import (
    A_DAY,
    OpinionCall,
    OpinionFigures,
    SecondOpinion,
)
from commonplace.operational.store.statements import OperationalStatements


async def figures(sql: OperationalStatements, now: datetime) -> OpinionFigures:
    """Return the sums of the calls within 24 hours.

    A clock that was set back does not hide the calls before: those of the next 24 hours count as well.
    """
    after, before = format_timestamp(now - A_DAY), format_timestamp(now + A_DAY)
    return OpinionFigures.from_row(await sql.opinion_figures(after=after, before=before))


async def pairs(sql: OperationalStatements, *, most_calls: int, limit: int) -> list[Review]:
    """Return pairs that a model may decide: those with the fewest calls first, of these the newest."""
    return Review.from_rows(await sql.pairs_for_opinion(most_calls=most_calls, limit=limit))


async def begin(sql: OperationalStatements, model: str, pairs: Sequence[Review], now: datetime) -> int:
    """Count a call before it is made, and return its id."""
    return await sql.begin_opinion(model=model, pairs=len(pairs), moment=format_timestamp(now))


async def end(
    sql: OperationalStatements, call: OpinionCall, opinion: SecondOpinion, *, is_answered: bool
) -> None:
    """Store what a call came to; if the model answered, count the call for the pairs that it did not decide."""
    if call.id is None:
        return
    await sql.end_opinion(
        id=call.id,
        decided=len(opinion.decided),
        tokens=opinion.tokens,
        took_ms=round(opinion.took_s * 1000),
    )
    if is_answered:
        for review in call.pairs:
            await sql.count_undecided_call(id=review.id)
