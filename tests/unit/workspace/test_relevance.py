"""The relevance score."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.workspace.model.memories import Note, NoteScope
from commonplace.workspace.rules.relevance import STOPWORDS, rank, recency_bonus, relevance, words

NOW = datetime(2026, 2, 26, 12, 0, tzinfo=UTC)


def memory(text: str, *, number: int = 1, hours: float = 1.0) -> Note:
    """Return a memory of some age."""
    created_at = NOW - timedelta(hours=hours)
    return Note(
        number=number, scope=NoteScope.WORKSPACE, text=text, tags=("database",), created_at=created_at
    )


@pytest.mark.requirement("WSP-09.1")
def test_unique_shared_words_count_in_any_case() -> None:
    """Each word once, however often it stands; tags do not take part."""
    scored = relevance(
        memory("Deploy, deploy: the DEPLOY target"), words("deploy target? Target! database"), NOW
    )
    assert scored.words == {"deploy", "target"}
    assert scored.score == pytest.approx(2 + 0.1)


@pytest.mark.requirement("WSP-09.2", "R-WSP-2")
@pytest.mark.parametrize(
    ("hours", "bonus"), [(-5, 1.0), (0, 1.0), (0.05, 1.0), (0.1, 1.0), (0.2, 0.5), (1, 0.1), (10, 0.01)]
)
def test_the_bonus_for_being_recent(hours: float, bonus: float) -> None:
    """``min(1.0, 0.1 / max(hours, 0.1))``."""
    assert recency_bonus(NOW - timedelta(hours=hours), NOW) == pytest.approx(bonus)


@pytest.mark.requirement("WSP-09.2", "R-WSP-2")
def test_the_bonus_alone_makes_nothing_relevant() -> None:
    """A memory of this minute without a shared word scores zero and is not ranked."""
    fresh = memory("Tabs over spaces", hours=0)
    assert relevance(fresh, words("which database?"), NOW).score == 0.0
    assert rank([fresh], "which database?", NOW) == ()


@pytest.mark.requirement("WSP-09.3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("us-east-1, port_5432!", {"east", "port", "5432"}),
        ("a bc def", {"def"}),
        ("Don't shout: HTTPServer2", {"don", "shout", "httpserver2"}),
        ("naïve Übung", {"naïve", "übung"}),
        ("cafe\u0301", {"café"}),
        ("", set[str]()),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, expected: set[str]) -> None:
    """Split at everything else, lowered, three characters at least."""
    assert words(text) == expected


@pytest.mark.requirement("WSP-09.3")
@pytest.mark.parametrize(
    ("text", "message", "shared"),
    [
        ("用户喜欢使用制表符缩进", "应该用什么缩进?", "缩进"),
        ("データベースは五四三二番", "データベースはどこ?", "データ"[:2]),
        ("데이터베이스는 5432 포트", "데이터베이스 포트가 뭐야?", "데이"),
    ],
)
def test_scripts_without_spaces_match_by_pairs(text: str, message: str, shared: str) -> None:
    """Chinese, Japanese and Korean memories are relevant where pairs of characters meet."""
    assert shared in relevance(memory(text), words(message), NOW).words


@pytest.mark.requirement("WSP-09.4")
def test_the_stopwords_are_the_specifications() -> None:
    """All of them, and no others, drop out."""
    assert len(STOPWORDS) == 84
    digest = hashlib.sha256(" ".join(sorted(STOPWORDS)).encode()).hexdigest()
    assert digest.startswith("c1c3a44d81021b41")
    assert words(" ".join(sorted(STOPWORDS))) == frozenset()
    assert words("please use the project file database") == {"database"}


@pytest.mark.requirement("WSP-09")
def test_rank_puts_the_best_first_and_of_equal_ones_the_newest() -> None:
    """Two words beat one; at equal scores the newer memory leads."""
    memories = [
        memory("database port", number=1, hours=500),
        memory("database", number=2, hours=0.05),
        memory("database", number=3, hours=0.01),
        memory("unrelated", number=4, hours=0),
    ]
    ranked = rank(memories, "database port", NOW)
    assert [found.memory.id for found in ranked] == ["m-1", "m-3", "m-2"]


@pytest.mark.requirement("WSP-09")
@given(st.text(max_size=80), st.text(max_size=80), st.floats(0, 1e5))
def test_a_score_is_the_shared_words_and_less_than_one_more(text: str, message: str, hours: float) -> None:
    """The bonus orders memories with as many words, and never outweighs a word."""
    scored = relevance(memory(text, hours=hours), words(message), NOW)
    assert len(scored.words) <= scored.score <= len(scored.words) + 1
    assert scored.words == words(text) & words(message)
