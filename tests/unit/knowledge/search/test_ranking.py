"""Memories ranked by their words, their meaning and what was said around them."""

import math
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.ranking import ContextualScore, rank_by_context
from support.candidates import EAST, NORTH, candidates
from support.memories import NOW

ALONE: dict[str, Any] = {"next_ids": None}
RARE: dict[str, Any] = {"present": (1, 0)}
COMMON: dict[str, Any] = {"present": (0, 1)}


def scores(*memories: dict[str, Any], query: str = "", **options: Any) -> dict[int, ContextualScore]:  # noqa: ANN401 - of candidates
    """The scores by the numbers of the memories, the best first."""
    ranked = rank_by_context(candidates(memories, **options), query, limit=99)
    return {one.place + 1: one for one in ranked}


def numbers(*memories: dict[str, Any], **options: Any) -> list[int]:  # noqa: ANN401 - of candidates
    """The numbers of the memories in the order of their ranks."""
    return list(scores(*memories, **options))


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """The turn with the rare word leads."""
    assert numbers(COMMON | ALONE, RARE) == [2, 1]


def test_meaning_leads_where_no_word_is_shared() -> None:
    """Without words, the vectors decide."""
    assert numbers(ALONE, {"similarity": 1.0, "vectors": EAST}) == [2, 1]


def test_a_neighbour_of_the_word_comes_before_a_stranger() -> None:
    """The answer stands next to the turn that names the subject, in the same session."""
    assert numbers(RARE, ALONE, ALONE)[:2] == [1, 2]


def test_two_turns_away_counts_and_three_do_not() -> None:
    """The window reaches two turns to either side."""
    found = scores({}, {}, {}, RARE, {}, {}, {})

    assert found[2].words == found[3].words == found[5].words == found[6].words > 0
    assert found[1].words == found[7].words == 0


def test_a_gap_in_the_session_ends_the_window() -> None:
    """Rows that follow one another in the list, and not in a session, are no neighbours."""
    found = scores(RARE | {"next_ids": UUID(int=99)}, {})

    assert {number: one.nearby for number, one in found.items()} == {1: (), 2: ()}


def test_the_words_of_a_date_count_as_if_they_were_written() -> None:
    """A question for March finds what was said in March, by day, month and year."""
    words = {"words": ("march", "1", "2026"), "frequencies": (9, 9, 9)}

    assert numbers({"created_at": NOW + timedelta(days=31)} | ALONE, {}, **words) == [2, 1]


def test_of_two_turns_the_one_that_asks_comes_last() -> None:
    """A question is rarely the answer."""
    assert numbers({"asks": 1} | ALONE, {}) == [2, 1]


@pytest.mark.requirement("SRC-02.1")
def test_a_long_text_gains_nothing_from_holding_everything() -> None:
    """The short text with the word leads the long one with the word."""
    long = {"octets": 5000, "distinct_words": 400, "created_at": NOW + timedelta(days=1)}

    assert numbers(RARE | long | ALONE, RARE) == [2, 1]


@pytest.mark.requirement("SRC-02.1")
@pytest.mark.parametrize(
    "query",
    [
        "what did you recommend?",
        "which tent had you suggested",
        "What you\u2019ve said",
        "Summarize our talks",
        "Welches Zelt hast du empfohlen?",
        "Was haben Sie mir geraten?",
        "Deine Vorschläge zum Zelt",
        "Fasse unsere Gespräche zusammen",
        "¿Qué tienda me recomendaste?",
        "¿Qué me habías sugerido?",
        "Hazme un resumen",
        "Quelle tente m'as-tu conseillée ?",
        "Ce que tu m\u2019avais dit",
        "Résume-moi nos échanges",
    ],
)
def test_a_question_about_an_answer_lets_long_texts_be_long(query: str) -> None:
    """What an assistant said is said at length."""
    long = {"octets": 3000, "distinct_words": 200, "similarity": 0.6, "vectors": EAST} | RARE | ALONE
    short = {"similarity": 0.3} | RARE

    assert numbers(long, short) == [2, 1]
    assert numbers(long, short, query=query) == [1, 2]


@pytest.mark.requirement("SRC-02.1")
@pytest.mark.parametrize(
    "query",
    [
        "Update my resume",
        "Which tips did Ada give?",
        "Was haben sie gekauft?",
        "¿Dónde existe?",
        "Qui a tout vu ?",
    ],
)
def test_a_question_about_anything_else_keeps_long_texts_short(query: str) -> None:
    """Words that only look like a question about an answer change nothing."""
    long = {"octets": 3000, "distinct_words": 200, "similarity": 0.6, "vectors": EAST} | RARE | ALONE

    assert numbers(long, {"similarity": 0.3} | RARE, query=query) == [2, 1]


def test_the_words_of_a_long_question_do_not_drown_its_meaning() -> None:
    """Each of forty words counts less than each of four."""
    few, many = (
        scores(
            {"present": (1,) * count} | ALONE,
            words=tuple(f"w{number}" for number in range(count)),
            frequencies=(1,) * count,
        )[1].words
        for count in (4, 40)
    )

    assert few < many < 5 * few / 2


@pytest.mark.requirement("SRC-01.1")
def test_facts_and_rules_are_ranked_among_the_episodes() -> None:
    """By the same score, whatever table they come from; of equals, what was chosen to be kept leads."""
    fact = {"types": MemoryType.FACT, "next_ids": None}

    assert numbers(ALONE, fact) == [2, 1]
    assert numbers(RARE | ALONE, fact) == [1, 2]


@pytest.mark.requirement("KNW-34.1")
def test_equal_turns_come_later_first_then_by_id() -> None:
    """The same chain as everywhere."""
    older = ALONE | {"created_at": NOW - timedelta(days=1)}

    assert numbers(older, ALONE | {"ids": UUID(int=9)}, ALONE | {"ids": UUID(int=8)}) == [3, 2, 1]


def test_the_score_is_the_formula() -> None:
    """By hand: a word in the turn and in one neighbour, a vector between two directions."""
    between = (EAST + NORTH) / math.sqrt(2)
    first = scores(
        {"present": (1,), "similarity": 1 / math.sqrt(2), "vectors": between},
        {"present": (1,), "similarity": 1.0, "vectors": EAST, **ALONE},
        words=("rare",),
        frequencies=(1,),
    )[1]

    rarity = math.log(501 / 1.5) / math.log(2 * 501)
    lent = 0.4 * 300 / (300 + 40)
    count = 1 + lent
    context = np.array([1 / math.sqrt(2) + lent, 1 / math.sqrt(2)])
    assert first.words == pytest.approx(rarity * count / (count + 0.9))
    assert first.meaning == pytest.approx(0.6 / math.sqrt(2))
    assert first.context == pytest.approx(0.7 * context[0] / np.linalg.norm(context))
    assert first.form == pytest.approx(0.08 * math.log(6))
    assert first.score == pytest.approx(first.words + first.meaning + first.context + first.form)


def test_a_result_names_the_words_that_it_holds_and_those_around_it() -> None:
    """For the explanation."""
    best = scores(RARE, COMMON)[1]

    assert (best.matched, best.nearby) == (("rare",), ("common",))


def test_only_what_may_be_shown_is_returned() -> None:
    """What is below a floor still lends its words to its neighbours."""
    ranked = rank_by_context(candidates([RARE, {}]), "", limit=9, shown={1})

    assert [(one.place, one.nearby) for one in ranked] == [(1, ("rare",))]


@given(
    present=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=12),
    linked=st.lists(st.booleans(), min_size=12, max_size=12),
    limit=st.integers(1, 15),
)
def test_any_pool_is_ranked_by_falling_scores(
    present: list[tuple[int, int]], linked: list[bool], limit: int
) -> None:
    """Every memory at most once, at most as many as asked for, the best first."""
    memories = [
        {"present": held} | ({} if is_linked else ALONE)
        for held, is_linked in zip(present, linked, strict=False)
    ]

    ranked = rank_by_context(candidates(memories), "", limit=limit)

    found = [one.score for one in ranked]
    assert found == sorted(found, reverse=True)
    assert len({one.place for one in ranked}) == len(ranked) == min(limit, len(memories))
