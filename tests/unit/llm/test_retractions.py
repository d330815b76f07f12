"""Values that a speaker takes back in the same turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.sentences import split_clauses, split_sentences
from commonplace.llm.extractive import Turn, take_notes
from commonplace.llm.extractive.retractions import settled


def said(text: str) -> list[str]:
    """Return the clauses of a turn as the secretary cuts them, settled."""
    return settled([part for one in split_sentences(text) for part in split_clauses(one)])


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("The weekly budget is 120 euros. Oh no, 140 euros.", "The weekly budget is 140 euros."),
        ("The tyres are in rack 14. Correction, rack 41.", "The tyres are in rack 41."),
        (
            "The vet visit is on March 3rd at 4 pm. Sorry, that's the 5th.",
            "The vet visit is on March 5th at 4 pm.",
        ),
        (
            "Der Elternabend ist am 12. Mai um 19 Uhr. Quatsch, am 14. Mai.",
            "Der Elternabend ist am 14. Mai um 19 Uhr.",
        ),
        ("Das Budget sind 90 Euro. Ach nein, 110 Euro.", "Das Budget sind 110 Euro."),
        (
            "The dentist is on May 3 at 2:30 p.m. Sorry, I meant May 5 at 9 a.m.",
            "The dentist is on May 5 at 9 a.m.",
        ),
        (
            "La reunión es el martes a las 10, no, mejor el miércoles a las 11.",
            "La reunión es el miércoles a las 11,",
        ),
        ("Die Straße ist bis 18:00 gesperrt. Moment, bis 19:30.", "Die Straße ist bis 19:30 gesperrt."),
        ("La reunión es el 3 de mayo. No, perdón, el 5 de mayo.", "La reunión es el 5 de mayo."),
        ("La réunion est le 4 juin à 17h. Ah non, pardon, le 6 juin.", "La réunion est le 6 juin à 17h."),
        ("I train on Mondays and Thursdays, no, Mondays and Fridays.", "I train on Mondays and Fridays,"),
    ],
)
def test_the_new_value_takes_the_place_of_the_old_one(text: str, stays: str) -> None:
    """Nothing else of the correction remains."""
    assert [one for one in said(text) if one] == [stays]


@pytest.mark.requirement("DIG-01.1")
def test_what_a_retraction_says_besides_stays() -> None:
    """The reason is a statement of its own."""
    assert said("The budget is 120 euros. Oh no, 140 euros, I forgot her diet food.") == [
        "The budget is 140 euros.",
        "",
        "I forgot her diet food.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "We have 3 kids. Actually, 4 cats live here too.",
        "The budget is 120 euros. No cashews, 140 grams of almonds.",
        "The stand-up is at 9:00. The review is at 15:00.",
        "Buses leave at 7:10 and 7:40. No, at 8:10.",
        "Is it 20 or 30? No, I don't know.",
    ],
)
def test_other_values_stay(text: str) -> None:
    """Another thing, another meaning of the marker, or a correction of one of several values in doubt."""
    assert " ".join(said(text)) == text


@given(st.lists(st.text(alphabet="no, nein 12:3. ßéwait", max_size=30), max_size=6))
def test_no_text_breaks_it(clauses: list[str]) -> None:
    """Each clause has its place."""
    assert len(settled(clauses)) == len(clauses)


@pytest.mark.requirement("DIG-01.1")
@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("My rent went up from 850 to 910 euros in October.", "850", "910"),
        ("Meine Warmmiete steigt ab Januar von 890 auf 945 Euro.", "890", "945"),
        ("Mi cuota subió de 35 a 42 euros al mes.", "35", "42"),
        ("Mon loyer est passé de 850 à 910 euros en octobre.", "850", "910"),
    ],
)
def test_of_a_change_the_new_value_is_noted(text: str, old: str, new: str) -> None:
    """The old value would be read as one that holds."""
    told = take_notes([Turn(role="user", text=text)], 200)
    assert new in told
    assert old not in told
