"""Which of the facts about its subject a new fact meets."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from commonplace.judge import Verdict, judge
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.rules.near_facts import MOST_NEAR, Meeting, SubjectFact, meeting
from support.judging import CHANCES, DecidedNetwork

pytestmark = pytest.mark.requirement("JDG-06.4")

DRAFT = FactDraft(subject="backup", predicate="kept_for", content="The backups are kept for thirty days")


class OneVerdict(DecidedNetwork):
    """A network that gives all pairs one verdict, and counts them."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__({})
        self.verdict = verdict
        self.pairs = 0

    def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the same probabilities for each pair."""
        self.pairs += len(pairs)
        return np.array([CHANCES[self.verdict]] * len(pairs), dtype=np.float32)


def near(number: int, *, predicate: str = "", ends: bool = False, has_own_key: bool = False) -> SubjectFact:
    """Return a fact about the subject of the draft."""
    return SubjectFact(
        id=UUID(int=number),
        subject="backup",
        predicate=predicate or f"property_{number}",
        content=f"The backups are kept for {number} days",
        tags=(),
        is_spelling=predicate != "",
        has_own_key=has_own_key,
        ends=ends,
    )


@pytest.mark.parametrize("verdict", [Verdict.SAME, Verdict.CORRECT, Verdict.DISTINCT])
def test_a_store_takes_at_most_twenty_comparisons(monkeypatch: pytest.MonkeyPatch, verdict: Verdict) -> None:
    """However many facts there are about the subject."""
    network = OneVerdict(verdict)
    monkeypatch.setattr(judge, "opens", lambda: network)
    met = meeting(DRAFT, [near(number) for number in range(1, 40)])
    assert 0 < network.pairs <= 20
    assert len(met.same) == (MOST_NEAR if verdict is Verdict.SAME else 0)
    assert (met.replaced, met.opposed) == (None, ())


def test_only_a_spelling_of_the_key_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own key needs no target, other predicates wait, and a fact that ends is not compared."""
    monkeypatch.setattr(judge, "opens", lambda: OneVerdict(Verdict.CORRECT))
    own, spelt = near(1, predicate="kept_for", has_own_key=True), near(2, predicate="Kept for")
    assert meeting(DRAFT, [own]) == Meeting()
    assert meeting(DRAFT, [own, spelt, near(3)]) == Meeting(replaced=spelt.id, opposed=(UUID(int=3),))
    assert meeting(DRAFT, [near(3, ends=True)]) == Meeting()
    several = FactDraft(subject="backup", predicate="likes", content=DRAFT.content)
    assert meeting(several, [near(3)]) == Meeting()


def test_a_repeated_fact_of_another_key_is_the_target() -> None:
    """The fact of the own key is found by its key."""
    one, other = UUID(int=1), UUID(int=2)
    assert Meeting(same=(one, other)).target_of({one}) == other
    assert Meeting(same=(one,), replaced=other).target_of({one}) == other
    assert Meeting(same=(one,)).target_of({one}) is None
