"""Sentences, clauses, signals and dates in natural language."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.dates import last_date
from commonplace.language.importance_cues import language_of, signals_of
from commonplace.language.sentences import split_clauses, split_sentences
from commonplace.language.values import concepts, values


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("One two. Three four! Five?", "en", ["One two.", "Three four!", "Five?"]),
        (
            "See Dr. Okoye at 3 p.m. on Monday. Bring it.",
            "en",
            ["See Dr. Okoye at 3 p.m. on Monday.", "Bring it."],
        ),
        ("The walk takes approx. 20 minutes. Fine.", "en", ["The walk takes approx. 20 minutes.", "Fine."]),
        (
            "Der Termin ist am 17. Juni um ca. 10 Uhr. Gut.",
            "de",
            ["Der Termin ist am 17. Juni um ca. 10 Uhr.", "Gut."],
        ),
        ("Sie ist im 5. Monat. Gut.", "de", ["Sie ist im 5. Monat.", "Gut."]),
        (
            "Con la Dra. Gil a las 3 p.m. del lunes. ¡Sí!",
            "es",
            ["Con la Dra. Gil a las 3 p.m. del lunes.", "¡Sí!"],
        ),
        ("M. Petit vient à 15 h. Bien.", "fr", ["M. Petit vient à 15 h.", "Bien."]),
        ("会議は午後がいい。朝は避ける\uff01", None, ["会議は午後がいい。", "朝は避ける\uff01"]),
        ("first line\nsecond line", None, ["first line", "second line"]),
        (" \n\n ", None, []),
    ],
)
def test_text_is_split_into_sentences(text: str, language: str | None, expected: list[str]) -> None:
    """Abbreviations, ordinals and decimal numbers end no sentence."""
    assert split_sentences(text, language) == expected


@given(st.text(max_size=200))
def test_splitting_loses_no_word(text: str) -> None:
    """Joined again, sentences and their clauses are the text, up to whitespace."""
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    clauses = [clause for sentence in sentences for clause in split_clauses(sentence)]
    assert "".join("".join(clauses).split()) == "".join(text.split())


@pytest.mark.requirement("DIG-01.1")
def test_a_long_message_without_punctuation_is_cut_into_clauses() -> None:
    """At conjunctions and before subjects; a short sentence stays whole."""
    said = (
        "so the party is on friday and my aunt comes too but the cook said that gluten is fine "
        "i told her twice it is not"
    )
    assert split_clauses(said) == [
        "so the party is on friday",
        "and my aunt comes too",
        "but the cook said that gluten is fine",
        "i told her twice it is not",
    ]
    assert split_clauses("Bread and butter for two.") == ["Bread and butter for two."]


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Severe allergy to bee stings.", "health"),
        ("Ella tiene asma.", "health"),
        ("Sie sitzt im Rollstuhl.", "health"),
        ("Il est diabétique.", "health"),
        ("妹は卵アレルギーです。", "health"),
        ("Never call before nine.", "constraint"),
        ("Bitte nie vor neun anrufen.", "constraint"),
        ("The rent is due on 3 May.", "deadline"),
        ("Gracias por todo.", "courtesy"),
        ("Turn on the lamp in the hall.", "momentary"),
    ],
)
def test_signals_are_found_in_several_languages(text: str, tag: str) -> None:
    """By the words of the language that the text is in, and by some of others."""
    assert tag in signals_of(text).tags


def test_words_of_another_language_do_not_count() -> None:
    """The German "will" means wants; the English one means nothing here."""
    assert "preference" not in signals_of("The bus will stop at the corner of the street.").tags


def test_a_text_that_does_not_tell_has_no_language() -> None:
    """Names and numbers alone."""
    assert language_of("Okoye 42") is None
    assert language_of("Der Zug ist um 9 da") == "de"


def test_values_carry_their_kind() -> None:
    """Another spelling is the same value."""
    assert values("on 3 May at 9:30, 12 seats") == {"date:3 may", "time:9 30", "number:12"}
    assert values("am 3. Mai um 9.30") == {"date:3 mai", "time:9 30"}
    assert values("3 May") == values("the 3rd of may")
    assert concepts("the appointments") == concepts("Appointment")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dinner on 4 May.", date(2026, 5, 4)),
        ("Dinner on Feb 2.", date(2026, 2, 2)),
        ("Dinner on Nov 2.", date(2026, 11, 2)),
        ("Am 3. August und am 7. September 2027.", date(2027, 9, 7)),
        ("El 9 de junio.", date(2026, 6, 9)),
        ("Le 14 juillet.", date(2026, 7, 14)),
        ("Until 2026-11-01.", date(2026, 11, 1)),
        ("On 31 June.", None),
        ("No date.", None),
    ],
)
def test_the_latest_date_is_found(text: str, expected: date | None) -> None:
    """Without a year it is the nearest such day."""
    assert last_date(text, date(2026, 3, 1)) == expected
