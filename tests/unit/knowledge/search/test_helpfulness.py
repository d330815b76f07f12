"""Helpfulness: what is shown of the memories that were read together with a prompt."""

import pytest

from commonplace.knowledge.rules.helpfulness import helpful
from commonplace.knowledge.rules.relevance import Relevance


def near(place: int, likeness: float = 0.5) -> Relevance:
    """Return a memory near a prompt."""
    return Relevance(
        place=place,
        likeness=likeness,
        relevance=0.1,
        similarity=likeness,
        semantic_rank=1,
        keyword_rank=1,
        rrf_score=0.03,
    )


@pytest.mark.requirement("SHW-04.2")
def test_what_helps_is_shown_the_most_helpful_first() -> None:
    """What helps much less than the best is left out."""
    shown = helpful([near(0), near(1), near(2)], [-1.0, 5.0, -12.0], min_relevance=0.5)
    assert [each.place for each in shown] == [1, 0] or [each.place for each in shown] == [1]
    assert shown[0].relevance > 0.9
    assert 2 not in {each.place for each in shown}


@pytest.mark.requirement("SHW-04.2")
def test_if_nothing_helps_enough_nothing_is_shown() -> None:
    """Without a minimum, everything is, in its order."""
    judged, odds = [near(0), near(1)], [-12.0, -9.0]
    assert helpful(judged, odds, min_relevance=0.5) == []
    assert [each.place for each in helpful(judged, odds, min_relevance=0.0)] == [1, 0]
    assert helpful([], [], min_relevance=0.5) == []


@pytest.mark.requirement("SHW-04.2")
def test_likeness_decides_between_equal_odds() -> None:
    """A memory of the same words is the better one."""
    shown = helpful([near(0, 0.4), near(1, 0.9)], [3.0, 3.0], min_relevance=0.5)
    assert [each.place for each in shown] == [1, 0]
