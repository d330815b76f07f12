"""Feedback on rules: the arithmetic of effectiveness and of promotion."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.rules.maturity import Standing, after_harmful, after_helpful, anti_pattern_text

NEW = Standing(maturity=Maturity.CANDIDATE, effectiveness=0.0, applied=0, successes=0, harms=0)
OLD = timedelta(days=30)
YOUNG = timedelta(days=29, hours=23)


def standing(maturity: str, *, successes: int, harms: int = 0) -> Standing:
    """Return a standing with that many marks."""
    return replace(
        NEW, maturity=Maturity(maturity), successes=successes, harms=harms, applied=successes + harms
    )


@pytest.mark.requirement("KNW-03.1", "KNW-21.1")
@pytest.mark.parametrize(
    ("successes", "harms", "expected"),
    [
        (3, 0, "candidate"),
        (4, 0, "established"),
        (4, 3, "established"),
        (4, 4, "candidate"),
        (100, 0, "established"),
    ],
)
def test_promotion_to_established(successes: int, harms: int, expected: str) -> None:
    """With five successes and an effectiveness of 0.6, by this mark; one state at a time."""
    marked = after_helpful(standing("candidate", successes=successes, harms=harms), age=OLD)
    assert marked.maturity == expected
    assert marked.effectiveness == (successes + 1) / (successes + harms + 1)


@pytest.mark.requirement("KNW-03.2")
@pytest.mark.parametrize(
    ("successes", "harms", "age", "expected"),
    [
        (13, 0, OLD, "established"),
        (14, 0, YOUNG, "established"),
        (14, 0, OLD, "proven"),
        (15, 4, OLD, "proven"),
        (15, 5, OLD, "established"),
    ],
)
def test_promotion_to_proven(successes: int, harms: int, age: timedelta, expected: str) -> None:
    """With fifteen successes, an effectiveness of 0.8 and thirty days."""
    assert (
        after_helpful(standing("established", successes=successes, harms=harms), age=age).maturity == expected
    )


@pytest.mark.requirement("KNW-03.3", "KNW-03.4", "KNW-21.2")
@pytest.mark.parametrize(
    ("maturity", "successes", "expected"),
    [
        ("established", 6, "candidate"),
        ("established", 7, "established"),
        ("proven", 16, "established"),
        ("proven", 17, "proven"),
        ("proven", 1, "established"),
        ("candidate", 1, "candidate"),
    ],
)
def test_demotion(maturity: str, successes: int, expected: str) -> None:
    """Below 0.6 and 0.8 after one harm; one state at a time."""
    marked = after_harmful(standing(maturity, successes=successes))
    assert marked.maturity == expected
    assert marked.effectiveness == successes / (successes + 4 + 0.01)


@pytest.mark.requirement("KNW-21.3", "KNW-03.5")
def test_inversion_is_due_after_three_harms_and_little_effect() -> None:
    """Both are needed, and an anti-pattern is not inverted again."""
    marks = [NEW]
    for _ in range(3):
        marks.append(after_harmful(marks[-1]))
    assert [mark.needs_inversion for mark in marks] == [False, False, False, True]
    assert not after_harmful(standing("candidate", successes=7, harms=2)).needs_inversion
    assert after_harmful(standing("candidate", successes=5, harms=2)).needs_inversion
    assert not replace(marks[-1], maturity=Maturity.ANTI_PATTERN).needs_inversion


@pytest.mark.requirement("KNW-03.5")
def test_the_text_of_an_anti_pattern() -> None:
    """In the specification's words."""
    assert anti_pattern_text("skip tests", ["it broke", "twice"]) == (
        "ANTI-PATTERN: Do NOT skip tests. This caused problems because: it broke; twice"
    )
    assert anti_pattern_text("x", []).endswith("because: no reason was given")


@given(st.lists(st.booleans(), max_size=60), st.sampled_from(Maturity))
def test_any_feedback_keeps_the_numbers_right(marks: list[bool], start: Maturity) -> None:
    """Counts add up, effectiveness is a share, states move by one, and anti-patterns stay."""
    order = [Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN]
    current = replace(NEW, maturity=start)
    for helped in marks:
        following = after_helpful(current, age=OLD) if helped else after_harmful(current)
        if start is Maturity.ANTI_PATTERN:
            assert following.maturity is start
        else:
            moved = order.index(following.maturity) - order.index(current.maturity)
            assert moved in ({0, 1} if helped else {0, -1})
        current = following
    assert (current.applied, current.successes) == (len(marks), sum(marks))
    assert current.applied == current.successes + current.harms
    assert 0.0 <= current.effectiveness <= 1.0
