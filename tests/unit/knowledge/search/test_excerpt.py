"""The part of a long text that a line shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.rules.excerpt import excerpt

FILLING = "The staging port of the hut was discussed at length, and nothing was decided about the switch. "
PASSAGE = "The boiler of the hut is restarted with the red switch behind the stairs."
QUESTION = "how do I restart the boiler of the hut? what about its staging port?"

pytestmark = pytest.mark.requirement("SHW-03.1")


@pytest.mark.parametrize("chars", [150, 300, 600])
@pytest.mark.parametrize("place", [7, 31, 400, 2000])
def test_the_whole_passage_about_the_topic_is_shown(place: int, chars: int) -> None:
    """Wherever it stands, though all of the text shares words with the topic."""
    text = FILLING * place + PASSAGE + " " + FILLING * 40
    shown = excerpt(text, QUESTION, chars)
    assert PASSAGE in shown
    assert len(shown) <= chars
    assert shown.startswith("… ")
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("topic", "passage"),
    [
        ("retries", "Set MAX_RETRIES to 3."),
        ("Gießener Straße", "Die GIESSENER STRASSE ist gesperrt."),
        ("für Käse", "Die Regale sind für Käse da."),
        ("港口", "预发布环境的港口是5433。"),
    ],
)
def test_words_are_found_however_they_are_written(topic: str, passage: str) -> None:
    """Case, other letters for the same, names in code, and scripts without spaces."""
    assert passage in excerpt(f"{'Nothing is said here. ' * 90}{passage} {'Nor here. ' * 90}", topic, 120)


def test_a_short_text_stays_as_it_is() -> None:
    """To the last character."""
    assert excerpt(PASSAGE, "boiler", len(PASSAGE)) == PASSAGE


@pytest.mark.parametrize("topic", ["", "of the", "zebra"])
def test_without_a_shared_word_the_beginning_is_shown(topic: str) -> None:
    """As much as there is room for."""
    shown = excerpt(FILLING * 30, topic, 100)
    assert shown != FILLING * 30
    assert (FILLING * 30).startswith(shown.removesuffix("…"))


def test_the_last_word_is_reached() -> None:
    """The passage uses the room that there is."""
    shown = excerpt("x " * 5_000 + "heron", "heron", 90)
    assert shown.endswith("heron")
    assert len(shown) > 80


@given(
    words=st.lists(st.sampled_from(["boiler", "hut", "port", "a" * 90, "stairs", "."]), max_size=200),
    topic=st.lists(st.sampled_from(["boiler", "hut", "a" * 90, "zebra"]), max_size=4),
    chars=st.integers(20, 200),
)
def test_an_excerpt_has_room_and_a_word_of_the_topic(words: list[str], topic: list[str], chars: int) -> None:
    """Whatever the words are."""
    text = " ".join(words)
    shown = excerpt(text, " ".join(topic), chars)
    assert len(shown) <= chars
    if len(text) > chars and any(word in topic and len(word) < chars // 2 for word in words):
        assert any(word in shown for word in topic)
