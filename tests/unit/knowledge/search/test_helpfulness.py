"""Helpfulness: what is shown of the memories that were read together with a prompt."""

import math

import pytest

from commonplace.knowledge.model.bounds import MAX_IMPORTANCE
from commonplace.knowledge.rules.helpfulness import ODDS_ALONE, Reading, by_help, helpful
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


def readings_of(*odds: float, importance: float = 5.0) -> list[Reading]:
    """Return readings of memories of one importance."""
    return [Reading(each, importance) for each in odds]


@pytest.mark.requirement("SHW-04.2")
def test_helpful_memories_are_shown_the_most_helpful_first() -> None:
    """A memory that helps much less than the best one is left out."""
    results = helpful([near(0), near(1), near(2)], readings_of(1.0, 4.0, -3.0), min_relevance=0.58)
    assert [each.place for each in results] == [1, 0]
    assert (results[0].relevance, results[1].relevance) == (1.0, pytest.approx(math.exp(-3.0)))


@pytest.mark.requirement("SHW-04.2")
def test_if_nothing_helps_enough_nothing_is_shown() -> None:
    """Without a minimum, all memories are shown, the most helpful first."""
    relevances, readings = [near(0), near(1)], readings_of(-5.0, -4.0)
    assert helpful(relevances, readings, min_relevance=0.58) == []
    assert [each.place for each in helpful(relevances, readings, min_relevance=0.0)] == [1, 0]
    assert [each.place for each in helpful(relevances, readings, min_relevance=0.05)] == [1, 0]
    assert helpful([], [], min_relevance=0.58) == []


@pytest.mark.requirement("SHW-04.2")
def test_likeness_and_importance_decide_between_equal_odds() -> None:
    """A memory of the same words is the better one, and so is a more important one."""
    results = helpful([near(0, 0.4), near(1, 0.9)], readings_of(3.0, 3.0), min_relevance=0.58)
    assert [each.place for each in results] == [1, 0]
    results = helpful([near(0), near(1)], [Reading(3.0, 4.0), Reading(3.0, 9.0)], min_relevance=0.58)
    assert [each.place for each in results] == [1, 0]


@pytest.mark.requirement("SHW-09.1")
def test_the_odds_of_a_cross_encoder_count_alone() -> None:
    """Even odds are a helpfulness of 0.5, however alike and important a memory is."""
    relevances = [near(0, 0.9), near(1, 0.1)]
    results = helpful(relevances, readings_of(0.0, 1.0, importance=9.0), ODDS_ALONE, min_relevance=0.5)
    assert [(each.place, round(each.relevance, 2)) for each in results] == [(1, 1.0), (0, 0.37)]
    assert len(helpful([near(0)], readings_of(0.0), ODDS_ALONE, min_relevance=0.5)) == 1
    assert helpful([near(0)], readings_of(0.0), ODDS_ALONE, min_relevance=0.58) == []


@pytest.mark.requirement("SHW-10.1")
def test_recall_ranks_by_help_and_leaves_nothing_out() -> None:
    """Memories without a reading follow in their order, with less relevance than those with one."""
    relevances = [near(0, 0.9), near(1, 0.8), near(2, 0.7), near(3, 0.6)]
    ranked = by_help(relevances, readings_of(-2.0, 3.0))
    assert [each.place for each in ranked] == [1, 0, 2, 3]
    assert ranked[1].relevance > ranked[2].relevance == ranked[3].relevance
    assert by_help(relevances, []) == relevances


@pytest.mark.requirement("SHW-10.1")
def test_neither_use_nor_importance_lifts_a_memory_over_one_that_helps_far_more() -> None:
    """Of two memories alike with a topic, one helps ten times as often."""
    best, other = by_help([near(0), near(1)], readings_of(math.log(10), 0.0))
    use, importance = 0.2, 0.3 * (MAX_IMPORTANCE - 5.0) / MAX_IMPORTANCE
    assert 0.4 * (best.relevance - other.relevance) > max(use, importance)
