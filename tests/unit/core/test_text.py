"""Text on its way into storage and search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core import text
from commonplace.core.errors import InvalidInputError

ANY_TEXT = st.text(st.characters(), max_size=200)  # lone surrogates included


@pytest.mark.requirement("KNW-11.1")
def test_nul_is_removed() -> None:
    """PostgreSQL stores no NUL."""
    assert text.preprocess_text("a\x00b\x00") == "ab"
    assert text.preprocess_search_query("a\x00b") == "ab"


@pytest.mark.requirement("KNW-11.2")
def test_whitespace_is_collapsed_and_stripped() -> None:
    """Tabs, newlines and runs of blanks are one blank."""
    assert text.preprocess_text("  a\t\tb\n\n c \r\n") == "a b c"


@pytest.mark.requirement("KNW-11")
@given(st.text(max_size=50), st.integers(min_value=0, max_value=3))
def test_truncation_falls_between_characters(tail: str, offset: int) -> None:
    """At most 1 MiB of UTF-8, and never half a character."""
    long = "x" * offset + "€" * (text.MAX_SEARCH_TEXT_BYTES // 3 + 1) + tail
    cut = text.preprocess_text(long)
    assert len(cut.encode()) <= text.MAX_SEARCH_TEXT_BYTES
    assert len(cut.encode()) > text.MAX_SEARCH_TEXT_BYTES - 4
    assert long.startswith(cut)


@pytest.mark.requirement("KNW-11.3")
def test_a_query_is_cleaned_and_never_cut() -> None:
    """Empty and missing queries are empty; long ones stay whole."""
    assert text.preprocess_search_query(None) == text.preprocess_search_query("  \x00 ") == ""
    long = "word " * (text.MAX_SEARCH_TEXT_BYTES // 4)
    assert len(text.preprocess_search_query(long)) == len(long) - 1


@given(ANY_TEXT)
def test_cleaned_text_fits_every_store(value: str) -> None:
    """It encodes as UTF-8, holds no NUL, and cleaning it again changes nothing."""
    cleaned = text.clean_text(value)
    assert "\x00" not in cleaned.encode().decode()
    assert text.clean_text(cleaned) == cleaned


def test_a_cut_emoji_becomes_a_replacement_character() -> None:
    """Half of a surrogate pair is replaced, a whole pair is joined."""
    assert text.replace_surrogates("a\ud83d") == "a\N{REPLACEMENT CHARACTER}"
    assert text.replace_surrogates("\ud83d\ude00") == "\N{GRINNING FACE}"


@given(ANY_TEXT, st.integers(min_value=0, max_value=60))
def test_trimmed_text_fits(value: str, limit: int) -> None:
    """Never longer than the limit; text that fits is left alone."""
    trimmed = text.trim_to(value, limit)
    assert len(trimmed) <= limit
    assert (trimmed == value) == (len(value) <= limit)


def test_trimming_prefers_the_end_of_a_word() -> None:
    """A word is not cut where one ends in the second half."""
    assert text.trim_to("one two three four", 10) == "one two…"
    assert text.trim_to("abcdefghijkl", 5) == "abcd…"


@pytest.mark.parametrize(
    "value", ["", "  \n", "\x00", "\u200b\xad \u202e", "\u2800", None, 3, ["a"], "x" * 11]
)
def test_text_that_is_required_is_refused_by_field(value: object) -> None:
    """The error names the field and what was expected."""
    with pytest.raises(InvalidInputError, match="note: expected text of 1 to 10 characters"):
        text.require_text(value, field="note", max_chars=10)


def test_text_that_is_required_comes_back_cleaned() -> None:
    """NUL and blanks at the ends go."""
    assert text.require_text(" a\x00b ", field="note", max_chars=2) == "ab"


def test_a_text_that_cleaning_changes_is_said_to_be_changed(caplog: pytest.LogCaptureFixture) -> None:
    """By the field, and not for ordinary text."""
    assert text.require_text("plain", field="content", max_chars=10) == "plain"
    assert caplog.text == ""
    assert text.require_text("a\x00b\ud83d", field="content", max_chars=10) == "ab\ufffd"
    assert "content: NUL characters were removed" in caplog.text


def test_what_is_shown_drives_no_terminal() -> None:
    """Control characters become escapes that can be read; line breaks, tabs and every script stay."""
    assert text.visible("a\x1b[2Jb\x07\u202ec\x9b") == r"a\x1b[2Jb\x07\u202ec\x9b"
    assert text.visible("a\tb\nc é 启 🐢") == "a\tb\nc é 启 🐢"


def test_plurals() -> None:
    """A count takes its noun with it."""
    assert text.plural(1, "memory", "memories") == "1 memory"
    assert text.plural(2000, "memory", "memories") == "2,000 memories"
    assert text.plural(0, "day") == "0 days"
