"""Relevance for a topic, and the floor below which a memory is not shown."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.relevance import Relevance, relevant
from support.candidates import candidates

FACT: dict[str, Any] = {"types": MemoryType.FACT, "next_ids": None, "own": 0}
RULE: dict[str, Any] = FACT | {"types": MemoryType.RULE}
FLOOR = 0.58


def judged(*memories: dict[str, Any], **options: Any) -> dict[int, Relevance]:  # noqa: ANN401 - of several types
    """What is shown, by its number, in its order."""
    words = {name: options.pop(name) for name in ("words", "frequencies") if name in options}
    given_ = {"min_relevance": FLOOR, "scoped": True, "by_meaning": True, "limit": 10} | options
    return {one.place + 1: one for one in relevant(candidates(memories, **words), **given_)}


@pytest.mark.requirement("RCL-01.1")
def test_nothing_is_shown_for_a_topic_that_nothing_is_about() -> None:
    """Not even what matters most, nor a common word in common."""
    assert judged(FACT | {"importance": 10.0, "similarity": 0.2}, RULE) == {}
    assert judged(FACT | {"similarity": 0.2, "present": (1,)}, words=("one",), frequencies=(1,)) == {}


@pytest.mark.requirement("RCL-01.1")
def test_a_rare_word_in_common_lifts_a_memory_over_the_floor() -> None:
    """A name or a code says more than the meaning of a short text."""
    assert list(judged(FACT | {"similarity": 0.28, "present": (1, 0)}, FACT)) == [1]


@pytest.mark.requirement("RCL-01.1")
def test_beside_a_much_better_one_a_memory_is_not_shown() -> None:
    """Below half of the best likeness; a rule, and what is important, has it easier."""
    weak = {"similarity": 0.25}

    assert list(judged(FACT | {"similarity": 0.7}, FACT | weak)) == [1]
    assert list(judged(FACT | {"similarity": 0.7}, RULE | weak)) == [1, 2]
    assert list(judged(FACT | {"similarity": 0.7}, FACT | weak | {"importance": 10.0})) == [1, 2]


@pytest.mark.requirement("RCL-01.1")
def test_a_second_topic_is_shown_beside_a_much_better_match() -> None:
    """The memory has a telling word that the best one lacks; a common word is not enough."""
    best = FACT | {"similarity": 0.7, "present": (1, 0, 0)}
    words = {"words": ("kafka", "priya", "time"), "frequencies": (1, 1, 400)}
    other = FACT | {"similarity": 0.2}

    assert list(judged(best, other | {"present": (0, 1, 0)}, **words)) == [1, 2]
    assert list(judged(best, other | {"present": (0, 0, 1)}, **words)) == [1]
    assert list(judged(best, other, **words)) == [1]


@pytest.mark.requirement("RCL-01.1")
def test_a_number_or_code_finds_the_memory_that_has_it() -> None:
    """A lone number is unlike any sentence. Every word of the topic must be there; other words need the meaning."""
    found = FACT | {"similarity": 0.12, "present": (1,)}
    assert list(judged(FACT, found, words=("6432",), frequencies=(1,))) == [2]
    assert list(judged(FACT, found, words=("v3.2",), frequencies=(1,))) == [2]
    assert judged(FACT, found, words=("cool",), frequencies=(1,)) == {}
    assert judged(FACT, found, words=("6432",), frequencies=(200,)) == {}
    assert judged(found | {"present": (1, 0)}, words=("6432", "budget"), frequencies=(1, 1)) == {}


@pytest.mark.requirement("RCL-01.1")
def test_no_allowance_shows_a_memory_with_nothing_in_common() -> None:
    """Neither that it is a rule nor that it is important."""
    alike, other = {"similarity": 0.42}, {"similarity": 0.09, "importance": 10.0}
    assert list(judged(FACT | alike, RULE | other)) == [1]


@pytest.mark.requirement("RCL-01.1")
def test_without_a_floor_everything_is_returned() -> None:
    """The caller's wish."""
    assert set(judged(FACT, RULE, min_relevance=0.0)) == {1, 2}


@pytest.mark.requirement("KNW-08.1", "RCL-01.1")
def test_relevance_spreads() -> None:
    """The best is 1.0, the next one well below, where the specified share of ranks had 0.98 and 0.97."""
    found = judged(*(FACT | {"similarity": 0.7 - 0.08 * place} for place in range(4)))

    relevance = [one.relevance for one in found.values()]
    assert relevance[0] == 1.0
    assert all(after < before - 0.1 for before, after in pairwise(relevance))


@pytest.mark.requirement("RCL-02.1")
@pytest.mark.parametrize("likeness", [0.5, 0.6, 0.7])
def test_a_recent_use_does_not_lift_a_bystander_over_the_answer(likeness: float) -> None:
    """The answer was never used; an earlier recall showed the bystander a moment ago."""
    found = judged(FACT | {"similarity": 0.7}, FACT | {"similarity": 0.7 * likeness})
    ahead = 0.4 * (found[1].relevance - found[2].relevance)
    assert ahead > 0.2


@pytest.mark.requirement("RCL-02.1")
def test_a_rule_has_no_lead_over_a_fact_that_is_more_alike() -> None:
    """Rules are found by less likeness, but they help no more often."""
    relevances = judged(FACT | {"similarity": 0.6}, RULE | {"similarity": 0.5})
    assert relevances[1].relevance > relevances[2].relevance


@pytest.mark.requirement("RCL-03.1")
def test_the_best_does_not_depend_on_the_limit() -> None:
    """Nor does the relevance of any memory."""
    memories = [FACT | {"similarity": 0.7 - 0.01 * place} for place in range(30)]

    few, many = judged(*memories, limit=1), judged(*memories, limit=30)

    assert len(few) == 10
    assert {number: few[number].relevance for number in few} == {
        number: many[number].relevance for number in few
    }


def test_words_alone_are_compared_where_there_are_no_vectors() -> None:
    """While memories move to another model."""
    assert list(judged(FACT, FACT | {"present": (1, 0)}, by_meaning=False)) == [2]


@given(
    similarity=st.lists(st.floats(-1, 1), min_size=1, max_size=20),
    min_relevance=st.floats(0, 1),
)
def test_relevance_is_from_zero_to_one(similarity: list[float], min_relevance: float) -> None:
    """Whatever the candidates are."""
    found = judged(*(FACT | {"similarity": value} for value in similarity), min_relevance=min_relevance)

    assert all(0.0 <= one.relevance <= 1.0 for one in found.values())
