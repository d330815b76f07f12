"""Sentences that hold a statement and a question are cut in two."""
# ruff: noqa: RUF001 - punctuation of many scripts

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.questions import is_question, told_and_asked


@pytest.mark.parametrize(
    ("sentence", "told", "asked"),
    [
        ("I keep bees, what do they need in May?", "I keep bees.", "what do they need in May?"),
        ("Our flat has no lift - could you ask for ground floor?", "Our flat has no lift.", "could you"),
        ("we leave on the 4th so what should we pack?", "we leave on the 4th.", "so what should we pack?"),
        ("My dog (Rex, 9, deaf) hates vans, any ideas?", "My dog (Rex, 9, deaf) hates vans.", "any ideas?"),
        ("Is it fine to run, given that I have a stent?", "I have a stent.", "Is it fine to run?"),
        ("Which bulbs fit, my car is a 2014 Polo?", "my car is a 2014 Polo.", "Which bulbs fit?"),
        ("how long do I boil it, we live at 2,000 m", "we live at 2,000 m.", "how long do I boil it?"),
        ("Is it too loud because my desk is in the bedroom?", "my desk is in the bedroom.", "Is it"),
        ("I never eat pork, right?", "I never eat pork.", "right?"),
        ("Ich vertrage keine Milch, was kann ich nehmen?", "Ich vertrage keine Milch.", "was kann"),
        ("Vivo en un quinto sin ascensor, ¿lo subís?", "Vivo en un quinto sin ascensor.", "¿lo subís?"),
        ("Je suis végétalienne, tu peux me trouver un resto ?", "Je suis végétalienne.", "tu peux"),
    ],
)
def test_a_statement_is_cut_from_its_question(sentence: str, told: str, asked: str) -> None:
    """Whichever comes first."""
    parts = told_and_asked(sentence)
    assert told in parts
    assert any(part.startswith(asked) and part.endswith("?") for part in parts)
    assert len(parts) == 2


@pytest.mark.parametrize(
    "sentence",
    [
        "If it snows on Monday, should I stay at home?",
        "Wenn es regnet, soll ich absagen?",
        "Is Porto nice, or is it too hot in August?",
        "Can you book it, please?",
        "Anna, who lives in Rome?",
        "They say bees sleep, is that so?",
        "What is the capital of Peru, Lima?",
        "I keep bees, and they need water.",
        "Since Easter moves every year, how do you find the date?",
        "I can't remember the word, what do you call it?",
    ],
)
def test_other_sentences_stay_whole(sentence: str) -> None:
    """A condition, a question of several parts, or no question."""
    assert told_and_asked(sentence) == [sentence]


@given(st.text(alphabet="Iaswcmy ,.;?¿()-–…'é3", max_size=60))
def test_no_word_is_lost(sentence: str) -> None:
    """The parts hold the words of the sentence in their order, except for "because" and the like."""
    words = [word for part in told_and_asked(sentence) for word in _words(part)]
    assert words == _words(sentence)


def _words(text: str) -> list[str]:
    return "".join(sign if sign.isalnum() else " " for sign in text).split()


@pytest.mark.parametrize(
    ("sentence", "asks"), [("Where is it", True), ("Could you wait?", False), ("It rains?", True)]
)
def test_a_request_is_no_question(sentence: str, asks: bool) -> None:  # noqa: FBT001 - a case
    """It says what to do."""
    assert is_question(sentence) is asks
