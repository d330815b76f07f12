"""Decisions of a person about knowledge memory."""

from commonplace.knowledge.consolidation.reviews import FactReview, FactReviews
from commonplace.knowledge.entities.candidates import SubjectReviews
from commonplace.knowledge.lifecycle.opposed import OpposedReviews
from commonplace.knowledge.lifecycle.review import DuplicateReviews, WaitingMemories, WaitingMemory
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.store.session import KnowledgeSession


class KnowledgeReviews:
    """Pairs of facts to decide about: ``memory.reviews``.

    A new fact that supersedes a fact that matters waits here until a person decides about the pair.

    Attributes:
        duplicates: Pairs of facts, and of rules, that may say the same.
        opposed: Pairs of rules that contradict each other.
        subjects: Subjects of facts that may name an entity.
    """

    def __init__(self, session: KnowledgeSession) -> None:
        self._facts = FactReviews(session)
        self._waiting = WaitingMemories(session)
        self.duplicates = DuplicateReviews(session)
        self.opposed = OpposedReviews(session)
        self.subjects = SubjectReviews(session)

    async def decide(self, review_id: int, decision: str) -> FactReview:
        """Decide about a pair, and return it.

        ``same`` and ``corrects`` leave the old fact superseded. ``refines`` and ``distinct`` make it active again; the
        new fact is kept beside it, with its value in the predicate.

        Raises:
            InvalidInputError: The decision is unknown, the pair is decided, or the old fact cannot become active again.
            NotFoundError: No pair has the id.
        """
        return await self._facts.decide(review_id, decision)

    async def undo(self, review_id: int) -> FactReview:
        """Undo a decision, and return the pair; the old fact is superseded again.

        Raises:
            InvalidInputError: The pair is not decided.
            UndoRefusedError: One of its facts is no longer active, or another fact now has the key of the new fact.
            NotFoundError: No pair has the id.
        """
        return await self._facts.undo(review_id)

    async def waiting(self, *, limit: int = LIST_LIMIT) -> list[WaitingMemory]:
        """Return facts and rules to confirm or forget, longest unconfirmed first.

        These are facts that contradict a more trusted fact, memories whose text looks like an instruction, used
        memories that will fade within 14 days, memories whose source was superseded or forgotten after their last
        confirmation, and rules that did harm since then. A person's confirmation removes a memory from the list. Of
        equal held facts, only the first is listed.
        """
        return await self._waiting.list(limit=limit)

    async def list(self, *, decided: bool = False, limit: int = LIST_LIMIT) -> list[FactReview]:
        """Return the tenant's waiting pairs, oldest first, or the decided pairs, latest first."""
        return await self._facts.list(decided=decided, limit=limit)
