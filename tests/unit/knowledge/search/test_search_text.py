"""The words of a text, for what is stored and for what is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.model.search_text import search_query_text, search_text


@pytest.mark.requirement("KNW-11.1", "KNW-11.2")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x00b\t c\n\nd ", "ab c d"),
        ("Über MOSKVA Москва", "über moskva москва"),
        ("cafe\u0301 ﬁle \uff21\uff22\uff23", "café file abc"),
        ("東京タワーに行く", "東京 京タ タワ ワー ーに に行 行く"),
        ("AはB", "a は b"),
        ("서울에서", "서울 울에 에서"),
        ("我爱Python编程", "我爱 python 编程"),
        (None, ""),
        (" \n", ""),
    ],
)
def test_words_of_a_text(text: str | None, expected: str) -> None:
    """Folded and separated; scripts without spaces as bigrams of characters."""
    assert " ".join(search_text(text).split()) == expected


@pytest.mark.requirement("KNW-11.3")
def test_a_query_is_prepared_alike_and_never_cut() -> None:
    """An empty one is empty."""
    assert search_query_text("  Deploy\x00\nnow ") == "deploy now"
    assert search_query_text("東京") == "東京"
    assert search_query_text(None) == search_query_text("") == ""
    long = "word " * 400_000
    assert len(search_query_text(long)) == len(long) - 1 > len(search_text(long))


@given(
    st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=2, max_size=30),
    st.data(),
)
def test_every_part_of_a_run_is_found(run: str, data: st.DataObject) -> None:
    """All bigrams of a part are among those of the whole."""
    start = data.draw(st.integers(0, len(run) - 2))
    end = data.draw(st.integers(start + 2, len(run)))
    assert set(search_query_text(run[start:end]).split()) <= set(search_text(run).split())


@given(st.text())
def test_any_text_gives_words_that_postgresql_takes(text: str) -> None:
    """No NUL, nothing that UTF-8 cannot say."""
    words = search_text(text)
    assert "\x00" not in words
    assert words.encode().decode() == words
