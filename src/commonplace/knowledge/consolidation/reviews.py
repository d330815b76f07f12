"""Reviews: pairs of a new fact, of a run or stored, and an old fact that matters and that it superseded (CNS-01).

A new fact with the subject and predicate of a known fact supersedes it, as specified. If the known fact was permanent,
important or pinned, a person may decide that both hold. The decision is remembered for the two texts: when a later run
proposes the pair again, it is applied without asking.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from commonplace.core.choices import require_one_of
from commonplace.core.errors import ConflictError, NotFoundError, UndoRefusedError
from commonplace.judge import PairVerdict
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules import siblings
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class FactReview(Noun):
    """A pair of facts.

    Attributes:
        id: Never reused.
        run_id: The run that stored the new fact, or ``None`` if no run did.
        predicate: The predicate that both facts had when the new one was stored.
        reason: Why the old fact is important.
        decision: ``None`` if the pair waits.
        decided_by: The actor who decided.
    """

    id: int
    run_id: UUID | None
    old_id: UUID
    new_id: UUID
    subject: str
    predicate: str
    old_content: str
    new_content: str
    reason: str
    decision: PairVerdict | None
    decided_by: str | None
    created_at: datetime
    decided_at: datetime | None


class FactReviews:
    """Pairs of facts of which the new one superseded an old one that matters: a person decides."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(self, *, decided: bool = False, limit: int = LIST_LIMIT) -> list[FactReview]:
        """Return the tenant's waiting pairs, oldest first, or the decided pairs, latest first."""
        require_page(limit)
        async with self._session.reading() as sql:
            return FactReview.from_rows(await sql.list_fact_reviews(decided=decided, limit=limit))

    async def decide(self, review_id: int, decision: str) -> FactReview:
        """Decide about a pair, and return it."""
        verdict = require_one_of(PairVerdict, decision, field="decision")
        async with self._session.writing() as sql:
            review = await _get(sql, review_id)
            if review.decision is not None:
                message = "The pair is already decided. To decide it again, undo the decision first."
                raise ConflictError("review_id", message, review_id)
            if verdict.keeps_both:
                await _keep_both(sql, review)
            await sql.set_decision(id=review_id, decision=verdict, now=self._session.clock())
            return await _get(sql, review_id)

    async def undo(self, review_id: int) -> FactReview:
        """Undo a decision, and return the pair; the old fact is superseded again."""
        now = self._session.clock()
        async with self._session.writing() as sql:
            review = await _get(sql, review_id)
            if review.decision is None:
                message = "The pair is not decided yet, so there is nothing to undo."
                raise ConflictError("review_id", message, review_id)
            if review.decision.keeps_both:
                await _lock(sql, review)
                if await sql.supersede_fact(id=review.old_id, by_id=review.new_id, now=now) is None:
                    reason = "one of the facts is no longer active"
                    raise UndoRefusedError("review_id", "the decision", reason, review_id)
                try:
                    await sql.set_predicate(id=review.new_id, predicate=review.predicate)
                except asyncpg.UniqueViolationError as error:
                    reason = f"another active fact now has the key {review.subject} {review.predicate}"
                    raise UndoRefusedError("review_id", "the decision", reason, review_id) from error
            await sql.set_decision(id=review_id, decision=None, now=now)
            return await _get(sql, review_id)


async def _keep_both(sql: KnowledgeStatements, review: FactReview) -> None:
    predicate = siblings.with_value(review.subject, review.predicate, review.new_content)
    if predicate == review.predicate:
        predicate = f"{predicate}_2"
    await _lock(sql, review)
    restored = None
    with suppress(asyncpg.UniqueViolationError):
        async with sql.connection.transaction():
            await sql.stand_beside(id=review.new_id, predicate=predicate, old_id=review.old_id)
            restored = await sql.reactivate_fact(id=review.old_id)
    if restored is None:
        message = (
            "The old fact cannot become active again, because it is no longer superseded or another active fact has "
            "its key. Decide same or corrects."
        )
        raise ConflictError("review_id", message, review.id)


async def _lock(sql: KnowledgeStatements, review: FactReview) -> None:
    await of_kind(MemoryType.FACT, sql).lock(ids=[review.old_id, review.new_id])


async def _get(sql: KnowledgeStatements, review_id: int) -> FactReview:
    row = await sql.get_fact_review(id=review_id)
    if row is None:
        raise NotFoundError("review", review_id)
    return FactReview.from_row(row)
