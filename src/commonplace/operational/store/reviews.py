"""The review queue: pairs of memories that the judge could not decide, and the decisions.

A decision is remembered for the pair of texts, so that nobody is asked about the same pair twice. Each memory keeps
its own queue in this form; `kind` names the kind of the texts, so that other memories can add kinds.
"""

import json
from datetime import datetime
from typing import Any

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ConflictError
from commonplace.judge import PairVerdict
from commonplace.operational.model.markers import MemoryMarker
from commonplace.operational.model.memories import Author, Lesson, state_of
from commonplace.operational.model.reviews import OBSERVATIONS, Review
from commonplace.operational.rules.pairs import pair_name
from commonplace.operational.store.statements import OperationalStatements


async def add(sql: OperationalStatements, old: Lesson, new: Lesson, reason: str, now: datetime) -> int | None:
    """Add a pair to the queue and return its id, or `None` if the pair is already in the queue."""
    review_id: int | None = await sql.insert_review(
        kind=OBSERVATIONS,
        old_id=old.id,
        new_id=new.id,
        pair=pair_name(old, new.observation),
        reason=reason,
        moment=format_timestamp(now),
    )
    return review_id


async def decided_pairs(sql: OperationalStatements, marker: MemoryMarker) -> dict[str, PairVerdict]:
    """Return the decisions on pairs of one service and category, by the name of the pair."""
    rows = await sql.decided_pairs(service=marker.service, category=marker.category)
    return {row["pair"]: PairVerdict(row["verdict"]) for row in rows}


async def get(sql: OperationalStatements, review_id: int) -> Review:
    """Return one review.

    Raises:
        NotFoundError: No review has this id.
    """
    return Review.existing(await sql.get_review(id=review_id), review_id)


async def decide(
    sql: OperationalStatements,
    review: Review,
    decision: PairVerdict,
    pair: tuple[Lesson, Lesson],
    author: Author,
    *,
    explanation: str = "",
) -> None:
    """Store a decision, with the state of both memories before it.

    Raises:
        ConflictError: The pair is already decided.
    """
    done = await sql.decide_review(
        id=review.id,
        verdict=decision.value,
        decided_by=author.actor,
        explanation=explanation,
        before=json.dumps({memory.id: state_of(memory) for memory in pair}, ensure_ascii=False),
        moment=format_timestamp(author.now),
    )
    if done is None:
        message = f"Review {review.id} is already decided. To decide it again, undo the decision first."
        raise ConflictError("review", message, review.id)


async def reopen(sql: OperationalStatements, review: Review) -> dict[int, dict[str, Any]]:
    """Undo a decision, and return the state of each memory before it, by id.

    Raises:
        ConflictError: The pair is not decided yet.
    """
    before = await sql.reopen_review(id=review.id)
    if review.decision is None or before is None:
        message = f"Review {review.id} is not decided yet, so there is nothing to undo."
        raise ConflictError("review", message, review.id)
    return {int(memory_id): state for memory_id, state in json.loads(before).items()}
