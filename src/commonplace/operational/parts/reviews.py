"""The review queue: pairs of memories that wait for a decision, and the decisions."""

from commonplace.core.choices import require_one_of
from commonplace.core.request_context import current_actor
from commonplace.judge import PairVerdict
from commonplace.operational.lessons import lifecycle
from commonplace.operational.model.memories import (
    Author,
)
from commonplace.operational.model.reviews import Review
from commonplace.operational.store import reviews
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.store import Store


class OperationalReviews:
    """Lists, decides and reopens the pairs that the judge could not decide."""

    def __init__(self, store: Store[OperationalStatements]) -> None:
        self._store = store

    async def get(self, review_id: int) -> Review:
        """Return a pair, decided or not.

        Raises:
            NotFoundError: No review has this id.
        """
        async with self._store.reading() as sql:
            return await reviews.get(sql, review_id)

    async def count(self, *, decided: bool = False) -> int:
        """Return how many pairs wait for a decision, or were decided."""
        return int(await self._store.reads.count_reviews(decided=int(bool(decided))))

    async def decide(
        self, review_id: int, verdict: str, *, explanation: str = "", actor: str | None = None
    ) -> Review:
        """Apply a decision to a waiting pair, and remember it for the pair.

        Args:
            review_id: The pair.
            verdict: How the new text relates to the old one: same, refines, corrects or distinct.
            explanation: The reason, for the history.
            actor: Who decides; by default the actor of the request context, or the operator.

        Raises:
            NotFoundError: No review has this id.
            InvalidInputError: The verdict is not one of the four, or the pair is already decided.
        """
        decision = require_one_of(PairVerdict, verdict, field="verdict")
        author = Author(actor=actor or current_actor(), now=self._store.now())
        async with self._store.writing() as sql:
            review = await reviews.get(sql, review_id)
            return await lifecycle.settle(sql, review, decision, author, explanation=explanation)

    async def undo(self, review_id: int) -> Review:
        """Restore both memories of a decided pair to their state before the decision; the pair waits again.

        A memory that was seen again or edited after the decision stays as it is.

        Raises:
            NotFoundError: No review has this id.
            InvalidInputError: The pair is not decided yet.
        """
        async with self._store.writing() as sql:
            review = await reviews.get(sql, review_id)
            return await lifecycle.undo(sql, review, Author(actor=current_actor(), now=self._store.now()))

    async def list(self, *, decided: bool = False, limit: int = 50, offset: int = 0) -> list[Review]:
        """Return the pairs that wait for a decision, oldest first, or the decided pairs, newest first."""
        return Review.from_rows(
            await self._store.reads.reviews_of_status(decided=int(bool(decided)), limit=limit, offset=offset)
        )
