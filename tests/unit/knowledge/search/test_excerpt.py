"""The part of a long text that a line shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.rules.excerpt import excerpt

FILLING = "The committee met again and nothing was decided about any of it. "
NEEDLE = "The boiler of the hut is restarted with the red switch behind the stairs."

pytestmark = pytest.mark.requirement("SHW-03.1")


@pytest.mark.parametrize("place", [0, 7, 31, 400, 2000])
def test_the_passage_about_the_topic_is_shown(place: int) -> None:
    """Wherever it stands in the text."""
    text = FILLING * place + NEEDLE + " " + FILLING * 40
    shown = excerpt(text, "how do I restart the boiler?", 300)
    assert NEEDLE in shown
    assert len(shown) <= 300
    assert shown.startswith("… ") is (place > 1)
    assert shown.endswith("…")


def test_a_short_text_stays_as_it_is() -> None:
    """To the last character."""
    assert excerpt(NEEDLE, "boiler", len(NEEDLE)) == NEEDLE


@pytest.mark.parametrize("topic", ["", "of the", "zebra"])
def test_without_a_shared_word_the_text_begins_at_its_beginning(topic: str) -> None:
    """As it was before."""
    assert excerpt(FILLING * 30, topic, 100).startswith(FILLING)


def test_the_end_of_a_text_is_reached() -> None:
    """The last word counts as well."""
    assert excerpt("x " * 5_000 + "heron", "heron", 90).endswith("heron")


@given(text=st.text(max_size=400), topic=st.text(max_size=30), chars=st.integers(8, 200))
def test_an_excerpt_has_room(text: str, topic: str, chars: int) -> None:
    """Whatever the characters are."""
    assert len(excerpt(text, topic, chars)) <= chars
