"""The active facts about the subject of a new fact: which of them it repeats, replaces or contradicts. Pure.

Source: JDG-06.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from commonplace.core.text import collapse_whitespace
from commonplace.judge import Stance
from commonplace.knowledge.model.kinds import PINNED
from commonplace.knowledge.rules import siblings
from commonplace.knowledge.rules.fact_stances import Statement, fact_stances
from commonplace.knowledge.rules.safety import tells_of_danger
from commonplace.storage.rows import Noun

MOST_NEAR: Final = 10
"""The maximum number of facts that a new fact is compared with, each at most twice."""

MOST_OPPOSED: Final = 2
"""A fact that contradicts more facts of other predicates is one of a series, and contradicts none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectFact(Noun):
    """An active fact about the subject of a draft.

    Attributes:
        is_spelling: Whether its key is another spelling of the draft's key.
        has_own_key: Whether it has the draft's key, letter by letter.
        ends: Whether the end of its period is known.
    """

    id: UUID
    subject: str
    predicate: str
    content: str
    tags: tuple[str, ...]
    is_spelling: bool
    has_own_key: bool
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """The facts that a new fact meets.

    Attributes:
        same: The facts that say the same in other words, the most certain first.
        replaced: The fact under another spelling of the key that the new fact corrects, if any.
        opposed: The facts of other predicates that it may contradict; a person decides.
    """

    same: tuple[UUID, ...] = ()
    replaced: UUID | None = None
    opposed: tuple[UUID, ...] = ()

    def target_of(self, own_keys: Collection[UUID]) -> UUID | None:
        """Return the fact of another key that the new fact takes the place of, if any."""
        return next((each for each in self.same if each not in own_keys), self.replaced)


def meeting(draft: Statement, near: Sequence[SubjectFact]) -> Meeting:
    """Return the facts that a draft without an end meets.

    Facts that end are not compared. Pinned facts, and facts on which somebody's safety may depend, are repeated by
    equal words alone. A predicate that holds several values contradicts nothing.

    Args:
        draft: The new fact.
        near: At most ten facts about its subject, the nearest first.
    """
    compared = [each for each in near[:MOST_NEAR] if not each.ends and _plain(each) != _plain(draft)]
    judged = [
        (each, stance, grounds.probability)
        for each, (stance, grounds) in zip(compared, fact_stances(draft, compared), strict=True)
        if grounds is not None
    ]
    judged.sort(key=lambda one: -one[2])
    same = [each.id for each, stance, _ in judged if stance is Stance.SAME and _may_fold(draft, each)]
    changed = [each for each, stance, _ in judged if stance is Stance.OPPOSED]
    if siblings.holds_several(draft.predicate) or siblings.names_a_value(draft.predicate):
        changed = []
    opposed = [each.id for each in changed if not each.is_spelling]
    return Meeting(
        same=tuple(same),
        replaced=next((each.id for each in changed if each.is_spelling and not each.has_own_key), None),
        opposed=tuple(opposed) if len(opposed) <= MOST_OPPOSED else (),
    )


def _may_fold(draft: Statement, fact: SubjectFact) -> bool:
    if fact.has_own_key:
        return True
    return PINNED not in fact.tags and not tells_of_danger(fact) and not tells_of_danger(draft)


def _plain(fact: Statement) -> tuple[str, str, str]:
    return fact.subject, fact.predicate, collapse_whitespace(fact.content).casefold()
