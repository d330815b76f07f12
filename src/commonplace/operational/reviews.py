"""The review queue: pairs of memories that the judge could not decide, and the decisions.

A decision is remembered for the pair of texts, so that nobody is asked about the same pair twice. Each memory keeps
its own queue in this form; `kind` names the kind of the texts, so that other memories can add kinds.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from commonplace.core.clock import format_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.judge import Verdict, tokens_of
from commonplace.operational.memories import Author, Memory, state_of
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.markers import MemoryCategory, MemoryMarker
from commonplace.storage.rows import Noun

OBSERVATIONS: Final = "observations"
"""The kind of a pair of observations of one service and category."""


class Decision(StrEnum):
    """How the new text of a pair relates to the old text."""

    SAME = "same"
    REFINES = "refines"
    CORRECTS = "corrects"
    DISTINCT = "distinct"

    @property
    def verdict(self) -> Verdict:
        """The judge's verdict with the same meaning."""
        return {
            Decision.SAME: Verdict.SAME,
            Decision.REFINES: Verdict.REFINE,
            Decision.CORRECTS: Verdict.CORRECT,
            Decision.DISTINCT: Verdict.DISTINCT,
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Noun):
    """A pair in the queue.

    Attributes:
        id: Never reused.
        service: The service of both memories; `None` for general memories.
        old_id: The older memory.
        old_observation: Its current text.
        new_id: The newer memory, which was kept beside the older one.
        new_observation: Its current text.
        decision: `None` if the pair waits.
    """

    id: int
    kind: str
    service: str | None
    category: MemoryCategory
    old_id: int
    old_observation: str
    new_id: int
    new_observation: str
    reason: str
    decision: Decision | None
    decided_by: str | None
    explanation: str
    created_at: datetime
    decided_at: datetime | None


def pair_name(memory: Memory, emitted: str) -> str:
    """Return the name of a pair of texts of one service and category, ignoring case and spacing."""
    texts = repr((tokens_of(memory.observation), tokens_of(emitted)))
    about = f"{(memory.service or '').lower()}:{memory.category}"
    return hashlib.sha256(f"{about}:{texts}".encode()).hexdigest()[:32]


async def add(sql: OperationalStatements, old: Memory, new: Memory, reason: str, now: datetime) -> int | None:
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


async def decided_pairs(sql: OperationalStatements, marker: MemoryMarker) -> dict[str, Decision]:
    """Return the decisions on pairs of one service and category, by the name of the pair."""
    rows = await sql.decided_pairs(service=marker.service, category=marker.category)
    return {row["pair"]: Decision(row["verdict"]) for row in rows}


async def get(sql: OperationalStatements, review_id: int) -> Review:
    """Return one review.

    Raises:
        NotFoundError: No review has this id.
    """
    return Review.existing(await sql.get_review(id=review_id), review_id)


async def decide(
    sql: OperationalStatements,
    review: Review,
    decision: Decision,
    pair: tuple[Memory, Memory],
    author: Author,
    *,
    explanation: str = "",
) -> None:
    """Store a decision, with the state of both memories before it.

    Raises:
        InvalidInputError: The pair is already decided.
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
        raise InvalidInputError(
            "review",
            "a pair that waits for a decision; undo a decision to change it",
            f"review {review.id}, which is decided",
        )


async def reopen(sql: OperationalStatements, review: Review) -> dict[int, dict[str, Any]]:
    """Undo a decision, and return the state of each memory before it, by id.

    Raises:
        InvalidInputError: The pair is not decided yet.
    """
    before = await sql.reopen_review(id=review.id)
    if review.decision is None or before is None:
        raise InvalidInputError("review", "a decided pair", f"review {review.id}, which waits")
    return {int(memory_id): state for memory_id, state in json.loads(before).items()}
