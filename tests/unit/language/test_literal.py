"""The words of a query, and the words that a text holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.literal import FORM, MAX_WORDS, PART, WHOLE, BareText, bare, query_words


def share(word: str, text: str) -> float:
    """Return how much of a word a text holds."""
    return query_words(word)[0].share_in(BareText(text))


@pytest.mark.requirement("ONE-03.1")
@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("anna", "Ask Anna.", WHOLE),
        ("restarting", "It restarts at night", FORM),
        ("start", "It restarts at night", PART),
        ("go", "Googled it", 0.0),
        ("go", "Go there", WHOLE),
        ("muller", "Müller", WHOLE),
        ("Mueller", "Müller", WHOLE),
        ("Müller", "Mueller", WHOLE),
        ("strasse", "STRAẞE und Straße", WHOLE),
        ("limits", "api/limits.py", WHOLE),
        ("api/limits.py", "see api/limits.py:12", WHOLE),
        ("51820", "port 151820", PART),
        ("東京", "データベースは東京にある", WHOLE),
        ("don't", "don\u2019t", WHOLE),
    ],
)
def test_a_word_is_found_in_every_spelling(word: str, text: str, expected: float) -> None:
    """As a whole, in another form, or as a part."""
    assert share(word, text) == expected


def test_common_words_count_only_alone() -> None:
    """Phrases in quotes count as one word; parts of a word count less than the word."""
    assert [each.typed for each in query_words("what is the port of Ada?")] == ["port", "Ada"]
    assert [each.typed for each in query_words("what is it?")] == ["what", "is", "it"]
    assert [each.typed for each in query_words('"the port" of Ada')] == ["the port", "Ada"]
    assert [(each.typed, each.weight) for each in query_words("api/limits")] == [
        ("api/limits", 1.0),
        ("api", 0.5),
        ("limits", 0.5),
    ]
    assert query_words("  ") == ()
    assert len(query_words(" ".join(map(str, range(1_000))))) == MAX_WORDS


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_every_word_of_a_text_is_found_in_it(text: str) -> None:
    """Whatever characters it has."""
    for word in text.split():
        if any(map(str.isalnum, bare(word))):
            assert any(each.share_in(BareText(text)) for each in query_words(word))
