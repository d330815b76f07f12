"""What a recalled memory scores."""

import math
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.rules.scoring import recency, score, tie_break
from support.memories import DAY, NOW, a_fact, a_rule


@pytest.mark.requirement("KNW-08.1")
def test_the_composite_score_is_the_weighted_sum_of_four_parts() -> None:
    """0.4 relevance, 0.3 importance over ten, 0.2 recency, 0.1 effective confidence."""
    fact = a_fact(
        importance=8.0,
        last_referenced_at=NOW - 7 * DAY,
        confidence=0.8,
        decay_rate=0.1,
        last_confirmed_at=NOW - 10 * DAY,
    )

    scored = score(fact, 0.5, ScoreWeights(), NOW)

    assert scored.relevance == pytest.approx(0.5)
    assert scored.importance == pytest.approx(0.8)
    assert scored.recency == pytest.approx(0.5)
    assert scored.confidence == pytest.approx(0.8 * math.exp(-1))
    assert scored.composite == pytest.approx(0.4 * 0.5 + 0.3 * 0.8 + 0.2 * 0.5 + 0.1 * 0.8 * math.exp(-1))


@pytest.mark.requirement("KNW-08.1")
def test_other_weights_are_used_as_they_are() -> None:
    """A weight of one on importance alone makes the score the importance."""
    weights = ScoreWeights(relevance=0.0, importance=1.0, recency=0.0, confidence=0.0)

    assert score(a_fact(importance=3.0), 1.0, weights, NOW).composite == pytest.approx(0.3)


@pytest.mark.requirement("R-KNW-5")
def test_a_rule_has_the_importance_of_five() -> None:
    """Rules have no column for it."""
    assert score(a_rule(), 1.0, ScoreWeights(), NOW).importance == 0.5


@pytest.mark.requirement("KNW-08.2")
def test_recency_halves_in_seven_days() -> None:
    """Now is 1, a week 0.5, two weeks 0.25, never 0."""
    assert recency(NOW, NOW) == 1.0
    assert recency(NOW - 7 * DAY, NOW) == pytest.approx(0.5)
    assert recency(NOW - 14 * DAY, NOW) == pytest.approx(0.25)
    assert recency(None, NOW) == 0.0


@pytest.mark.requirement("KNW-08.2")
@given(days=st.floats(-40_000, 40_000))
def test_recency_is_clamped(days: float) -> None:
    """A clock that jumped gives no score above one, and centuries none below zero."""
    assert 0.0 <= recency(NOW - timedelta(days=days), NOW) <= 1.0


@pytest.mark.requirement("KNW-09.2")
def test_confidence_that_was_never_confirmed_counts_nothing() -> None:
    """Unless it never decays."""
    assert a_fact(decay_rate=0.01, last_confirmed_at=None).effective_confidence == 0.0
    assert a_fact(decay_rate=0.0, last_confirmed_at=None).effective_confidence == 1.0


@given(
    relevance=st.floats(0, 1),
    importance=st.floats(0, 10),
    confidence=st.floats(0, 1),
    days=st.floats(0, 10_000),
)
def test_default_weights_keep_scores_within_zero_and_one(
    relevance: float, importance: float, confidence: float, days: float
) -> None:
    """They sum to one, and so no score leaves the range."""
    fact = a_fact(
        importance=importance,
        confidence=confidence,
        last_referenced_at=NOW - timedelta(days=days),
    )

    assert 0.0 <= score(fact, relevance, ScoreWeights(), NOW).composite <= 1.0 + 1e-9


@pytest.mark.requirement("KNW-34.1")
def test_of_equal_scores_the_later_comes_first_then_the_lower_id() -> None:
    """The chain that every list ends with."""
    older = a_fact(id=UUID(int=1), created_at=NOW - DAY)
    newer_high = a_fact(id=UUID(int=3))
    newer_low = a_fact(id=UUID(int=2))

    assert sorted([older, newer_high, newer_low], key=tie_break) == [newer_low, newer_high, older]
