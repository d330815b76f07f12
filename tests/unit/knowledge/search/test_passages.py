"""Cutting a long text into passages, and the passage that a line shows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.rules.excerpt import excerpt
from commonplace.knowledge.rules.passages import LONG, MOST, OVERLAP, PASSAGE, PassageSpan, passages, size

pytestmark = pytest.mark.requirement("SHW-08.1")

SENTENCE = "The porter of house {} likes tea with milk. "
CHINESE = "支付服务的部署在星期二失败了两次，因为数据库迁移没有应用到副本上。"  # noqa: RUF001 - a comma of Chinese


def texts_of(text: str) -> list[str]:
    """Return the texts of the passages."""
    return [text[start:end] for start, end in passages(text)]


def test_a_text_that_the_model_reads_whole_has_no_passages() -> None:
    """Up to its last character."""
    assert passages("") == passages("a" * LONG) == []
    assert passages("a" * (LONG + 1))


@given(st.text(max_size=4_000))
def test_passages_cover_the_text_in_order(text: str) -> None:
    """No passage is empty or too long, and only white space is outside of all passages."""
    spans = passages(text * 3)
    end = 0
    for passage in spans:
        assert 0 <= passage.start < passage.end <= len(text) * 3
        assert size((text * 3)[passage.start : passage.end]) <= PASSAGE
    if 0 < len(spans) < MOST:
        for passage in spans:
            assert not (text * 3)[end : passage.start].strip()
            end = passage.end
        assert not (text * 3)[end:].strip()


@pytest.mark.parametrize("separator", [" ", "\n", "\n\n"])
def test_no_sentence_is_cut_or_lost(separator: str) -> None:
    """A passage ends where a sentence or a line ends."""
    sentences = [SENTENCE.format(number).strip() for number in range(200)]
    texts = texts_of(separator.join(sentences))
    assert all(any(sentence in passage for passage in texts) for sentence in sentences)
    assert all(passage.startswith("The porter") and passage.endswith("milk.") for passage in texts)


def test_passages_overlap_by_a_short_sentence() -> None:
    """It stands at the end of one and at the beginning of the next."""
    text = "".join(SENTENCE.format(number) for number in range(100))
    spans = passages(text)
    assert all(0 < before.end - after.start <= OVERLAP for before, after in pairwise(spans))
    long_sentences = " ".join("word " * 40 + f"end{number}." for number in range(20))
    long_spans = passages(long_sentences)
    assert all(before.end <= after.start for before, after in pairwise(long_spans))


def test_a_script_without_spaces_is_cut_at_its_sentences() -> None:
    """Its characters are tokens of their own, so its passages are shorter."""
    texts = texts_of(CHINESE * 20)
    assert all(passage.endswith("。") for passage in texts)
    assert max(map(len, texts)) <= PASSAGE // 5
    assert passages(CHINESE * 6)


@pytest.mark.parametrize("word", ["x", "é", "本", "🦉", ".", "。"])
def test_one_giant_word_is_cut_anywhere(word: str) -> None:
    """In time that grows with its length."""
    spans = passages(word * 100_000)
    assert len(spans) == MOST
    assert spans[0].start == 0
    assert spans[-1].end == 100_000


def test_a_very_long_text_is_covered_evenly() -> None:
    """From its first to its last passage, at equal distances."""
    text = "".join(SENTENCE.format(number) for number in range(5_000))
    spans = passages(text)
    assert len(spans) == MOST
    assert spans[0].start == 0
    assert spans[-1].end == len(text.rstrip())
    gaps = [after.start - before.start for before, after in pairwise(spans)]
    assert max(gaps) < 1.3 * min(gaps)


def test_a_line_shows_the_passage_that_is_nearest_in_meaning() -> None:
    """If the text has less than two words of the topic; a passage with more words goes first."""
    text = "".join(SENTENCE.format(number) for number in range(100))
    nearest = PassageSpan(text.index("The porter of house 50"), len(text))
    assert excerpt(text, "Who drinks hot leaves?", 300, nearest=nearest).startswith(
        "… The porter of house 50"
    )
    assert excerpt(text, "Who drinks hot tea?", 300, nearest=nearest).startswith("… The porter of house 50")
    assert "house 7 " in excerpt(
        text.replace("house 7 ", "yurt 7 house 7 "), "yurt milk", 300, nearest=nearest
    )
    assert excerpt(text, "Who drinks hot leaves?", 300).startswith("The porter of house 0")
    assert excerpt(text, "Who?", 300, nearest=PassageSpan(len(text) - 10, len(text))).endswith("milk. ")
