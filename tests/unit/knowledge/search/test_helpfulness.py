"""Helpfulness: what is shown of the memories that were read together with a prompt."""

import pytest

from commonplace.knowledge.rules.helpfulness import Reading, helpful
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


def read(*odds: float, importance: float = 5.0) -> list[Reading]:
    """Return what the reranker made of memories of one importance."""
    return [Reading(each, importance) for each in odds]


@pytest.mark.requirement("SHW-04.2")
def test_what_helps_is_shown_the_most_helpful_first() -> None:
    """What helps much less than the best is left out."""
    shown = helpful([near(0), near(1), near(2)], read(1.0, 4.0, -3.0), min_relevance=0.58)
    assert [each.place for each in shown] == [1, 0]
    assert shown[0].relevance > shown[1].relevance > 0.9


@pytest.mark.requirement("SHW-04.2")
def test_if_nothing_helps_enough_nothing_is_shown() -> None:
    """Without a minimum, everything is, in its order."""
    judged, readings = [near(0), near(1)], read(-5.0, -4.0)
    assert helpful(judged, readings, min_relevance=0.58) == []
    assert [each.place for each in helpful(judged, readings, min_relevance=0.0)] == [1, 0]
    assert [each.place for each in helpful(judged, readings, min_relevance=0.05)] == [1, 0]
    assert helpful([], [], min_relevance=0.58) == []


@pytest.mark.requirement("SHW-04.2")
def test_likeness_and_importance_decide_between_equal_odds() -> None:
    """A memory of the same words is the better one, and so is a more important one."""
    shown = helpful([near(0, 0.4), near(1, 0.9)], read(3.0, 3.0), min_relevance=0.58)
    assert [each.place for each in shown] == [1, 0]
    shown = helpful([near(0), near(1)], [Reading(3.0, 4.0), Reading(3.0, 9.0)], min_relevance=0.58)
    assert [each.place for each in shown] == [1, 0]
