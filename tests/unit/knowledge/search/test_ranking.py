"""Episodes ranked by their words, their meaning and what was said around them."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.search.ranking import QueryWord, Turn, rank_by_context

NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
EAST, NORTH = np.eye(384, dtype=np.float32)[:2]
WORDS = [QueryWord(word="rare", rarity=0.8), QueryWord(word="common", rarity=0.1)]


def turn(number: int, **changed: Any) -> Turn:  # noqa: ANN401 - fields of several types
    """An episode that holds no word, means nothing of the query, and is followed by the next number."""
    fields: dict[str, Any] = {
        "id": UUID(int=number),
        "next_id": UUID(int=number + 1),
        "created_at": NOW,
        "content": "said",
        "distinct_words": 5,
        "present": 0,
        "vector": NORTH,
        **changed,
    }
    return Turn(**fields)


def numbers(turns: list[Turn], words: list[QueryWord] = WORDS, limit: int = 10) -> list[int]:
    """The numbers of the turns in the order of their ranks."""
    return [ranked.turn.id.int for ranked in rank_by_context(turns, words, EAST, limit=limit)]


def test_nothing_is_ranked_of_nothing() -> None:
    """No candidates, no results."""
    assert rank_by_context([], WORDS, EAST, limit=10) == []


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """The turn with the rare word leads."""
    assert numbers([turn(1, present=0b10, next_id=None), turn(2, present=0b01)]) == [2, 1]


def test_meaning_leads_where_no_word_is_shared() -> None:
    """Without words, the vectors decide."""
    assert numbers([turn(1, next_id=None), turn(2, vector=EAST)], words=[]) == [2, 1]


def test_a_neighbour_of_the_word_comes_before_a_stranger() -> None:
    """The answer stands next to the turn that names the subject, in the same session."""
    stranger = turn(10, next_id=None)

    assert numbers([turn(1, present=0b01), turn(2, next_id=None), stranger])[:2] == [1, 2]


def test_two_turns_away_counts_and_three_do_not() -> None:
    """The window reaches two turns to either side."""
    session = [turn(number) for number in range(1, 8)]
    session[3] = turn(4, present=0b01)
    scores = {ranked.turn.id.int: ranked.words for ranked in rank_by_context(session, WORDS, EAST, limit=10)}

    assert scores[2] == scores[3] == scores[5] == scores[6] > 0
    assert scores[1] == scores[7] == 0


def test_a_gap_in_the_session_ends_the_window() -> None:
    """Rows that follow one another in the list, and not in a session, are no neighbours."""
    ranked = rank_by_context([turn(1, present=0b01, next_id=UUID(int=99)), turn(2)], WORDS, EAST, limit=2)

    assert {one.turn.id.int: one.nearby for one in ranked} == {1: (), 2: ()}


def test_the_words_of_a_date_count_as_if_they_were_written() -> None:
    """A question for May finds what was said in May, by day, month and year."""
    may = [
        QueryWord(word="may", rarity=0.5),
        QueryWord(word="3", rarity=0.5),
        QueryWord(word="2026", rarity=0.5),
    ]
    june = turn(1, created_at=NOW + timedelta(days=31), next_id=None)

    assert numbers([june, turn(2)], words=may) == [2, 1]


def test_of_two_turns_the_one_that_asks_comes_last() -> None:
    """A question is rarely the answer."""
    assert numbers([turn(1, content="is it so?", next_id=None), turn(2, content="it is so")]) == [2, 1]


@pytest.mark.requirement("KNW-34.1")
def test_equal_turns_come_later_first_then_by_id() -> None:
    """The same chain as everywhere."""
    older = turn(1, next_id=None, created_at=NOW - timedelta(days=1))

    assert numbers([older, turn(3, next_id=None), turn(2, next_id=None)]) == [2, 3, 1]


def test_the_score_is_the_formula() -> None:
    """By hand: a word in the turn and in one neighbour, a vector between two directions."""
    between = ((EAST + NORTH) / math.sqrt(2)).astype(np.float32)
    session = [turn(1, present=0b01, vector=between), turn(2, present=0b01, next_id=None, vector=EAST)]

    (first,) = (one for one in rank_by_context(session, WORDS, EAST, limit=2) if one.turn.id.int == 1)

    count = 1 + 0.4
    context = np.array([1 / math.sqrt(2) + 0.4, 1 / math.sqrt(2)])
    assert first.words == pytest.approx(0.8 * count / (count + 0.9))
    assert first.meaning == pytest.approx(0.6 / math.sqrt(2))
    assert first.context == pytest.approx(0.6 * context[0] / np.linalg.norm(context))
    assert first.form == pytest.approx(0.1 * math.log(6))
    assert first.score == pytest.approx(first.words + first.meaning + first.context + first.form)


def test_a_result_names_the_words_that_it_holds_and_those_around_it() -> None:
    """For the explanation."""
    ranked = rank_by_context([turn(1, present=0b01), turn(2, present=0b10)], WORDS, EAST, limit=1)

    assert (ranked[0].matched, ranked[0].nearby) == (("rare",), ("common",))


@given(
    present=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    linked=st.lists(st.booleans(), min_size=12, max_size=12),
    limit=st.integers(1, 15),
)
def test_any_pool_is_ranked_by_falling_scores(present: list[int], linked: list[bool], limit: int) -> None:
    """Every turn at most once, at most as many as asked for, the best first."""
    turns = [
        turn(at, present=bits, next_id=UUID(int=at + 1) if linked[at] else None)
        for at, bits in enumerate(present)
    ]

    ranked = rank_by_context(turns, WORDS, EAST, limit=limit)

    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)
    assert len({one.turn.id for one in ranked}) == len(ranked) == min(limit, len(turns))
