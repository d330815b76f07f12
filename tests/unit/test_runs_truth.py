"""The comparison of memories with an author's facts in ``benchmarks/runs_truth.py``, in both directions."""

from datetime import date
from typing import Any

import pytest

from runs_truth import Memory, Score, State, TrueFact, Truth, score, tells_of
from runs_words import words

DAY = date(2026, 5, 31)


def day(text: str) -> date:
    """Return a day of 2026, such as 05-30."""
    return date.fromisoformat(f"2026-{text}")


def true_fact(value: str, subject: str = "choir", relation: str = "rehearsal place", **more: Any) -> TrueFact:  # noqa: ANN401 - of any field
    """Return a fact of an author without days."""
    values: dict[str, Any] = {"subject": subject, "relation": relation, "value": value, "episodes": ("e-1",)}
    values |= {"subjects": (subject,), "values": (value,), "begins": None, "ends": None, **more}
    return TrueFact(**values)


def memory(content: str, subject: str = "choir", predicate: str = "rehearsal_place", **more: Any) -> Memory:  # noqa: ANN401 - of any field
    """Return a memory that began in March."""
    values: dict[str, Any] = {"begins": day("03-01"), **more}
    return Memory(subject=subject, predicate=predicate, content=content, **values)


def compared(facts: list[TrueFact], *memories: Memory, never: tuple[str, ...] = ()) -> Score:
    """Return the score of some memories on 31 May."""
    return score(Truth(facts=tuple(facts), never=never), memories, DAY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-05-30", "30 May 2026"),
        ("May 30th, 2026", "30 May"),
        ("7:30 pm", "19:30"),
        ("Saturday 10-14", "Saturdays 10:00-14:00"),
        ("17-22 March", "March 17-22"),
        ("€24", "24 EUR"),
        ("1,450 euro", "€1450"),
        ("02:00Z", "2:00"),
        ("St Nicholas' Church", "the st nicholas church"),
        ("Tue", "Tuesdays"),
        ("four weeks", "4 weeks"),
        ("15%", "15 per cent"),
    ],
)
def test_spellings_of_one_value_have_the_same_words(one: str, other: str) -> None:
    """Dates, times, prices and numbers."""
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10.11", "10.11.8"),
        ("24.50", "24"),
        ("16 GB", "16:00"),
        ("30 May", "30 June"),
        ("#ops", "#ops-2"),
        ("087 555 0131", "087 555 0199"),
    ],
)
def test_other_values_have_other_words(one: str, other: str) -> None:
    """A version in full and a time are no other spelling."""
    assert words(one) != words(other)


@pytest.mark.parametrize(
    ("value", "content", "tells"),
    [
        ("library", "The choir rehearses in the library.", True),
        ("town hall", "The choir rehearses in the library.", False),
        ("community room of Claddagh library", "The choir is in the Claddagh library room.", True),
        ("community room 3 of the library", "The choir is in the community room of the library.", False),
        ("no deploys on market days", "The choir deploys on market days.", False),
        ("with Kasia", "The choir asked Kasia.", False),
        ("July and August", "The choir pauses from 2026-07-01 to 2026-08-31.", True),
        ("10-14", "The choir sings from 10:00 to 14:00.", True),
    ],
)
def test_a_memory_tells_of_a_value_by_its_words(value: str, content: str, *, tells: bool) -> None:
    """Of many words one may be missing, but no number, and no negation."""
    assert tells_of(memory(content), true_fact(value)) is tells


def test_a_memory_names_the_subject_or_another_name_of_it() -> None:
    """A label for the speaker names it only as the whole subject, or in a rule."""
    fact = true_fact("library", subject="Lantern Street Singers", subjects=("Lantern Street Singers", "I"))
    assert tells_of(memory("In the library", subject="Lantern Street Singers"), fact)
    assert tells_of(memory("In the library", subject="I"), fact)
    assert tells_of(memory("Rehearse in the library", subject="", predicate=""), fact)
    assert not tells_of(memory("I sing in the library", subject="Maeve"), fact)


def test_a_memory_may_have_a_part_of_the_value_as_its_subject() -> None:
    """A discount code tells of the sale of a shop, but a client is not what he buys."""
    sale = true_fact("15% off green folders (SHAMROCK15)", subject="shop", relation="sale")
    assert tells_of(memory("SHAMROCK15 gives 15% off green folders.", subject="SHAMROCK15"), sale)
    assert not tells_of(memory("SHAMROCK15 gives 10% off green folders.", subject="SHAMROCK15"), sale)
    client = true_fact("Kestrel Cycles", subject="Tomasz", relation="client")
    assert not tells_of(memory("Kestrel Cycles pays late.", subject="Kestrel Cycles"), client)


@pytest.mark.parametrize(
    ("content", "tells"), [("Kettle is the user's dog.", True), ("Kettle weighs 29 kg.", False)]
)
def test_a_memory_whose_subject_is_the_value_names_the_relation(content: str, *, tells: bool) -> None:
    """An author wrote who the dog of the user is; the memory says of Kettle that it is the dog."""
    fact = true_fact("Kettle", subject="user", relation="dog")
    assert tells_of(memory(content, subject="Kettle", predicate="notes"), fact) is tells


@pytest.mark.parametrize(("ends", "is_right"), [("05-20", True), ("05-21", True), ("05-27", False)])
def test_an_end_may_be_a_value_or_the_end_of_a_period(ends: str, *, is_right: bool) -> None:
    """A contract that ran until a day is over, and that it did stays true."""
    fact = true_fact("20 May", subject="contract", relation="end")
    told = memory("The contract ends on 20 May.", "contract", "end", ends=day(ends))
    assert bool(compared([fact], told).right) is is_right


@pytest.mark.parametrize(
    ("predicate", "content", "is_about"),
    [
        ("rehearsal_place", "The disk of the library is dying, said the choir.", True),
        ("runs_on", "anything", True),
        ("", "anything", True),
        ("complaint", "The choir rehearsal place is the library.", True),
        ("complaint", "Maeve dislikes the long walk from the bus stop to the library.", False),
    ],
)
def test_a_memory_is_about_a_fact_by_its_key_or_because_it_says_little_else(
    predicate: str, content: str, *, is_about: bool
) -> None:
    """A verb alone names no relation."""
    assert memory(content, predicate=predicate).is_about(true_fact("library")) is is_about


@pytest.mark.parametrize(
    ("begins", "ends", "state"),
    [
        (None, None, State.CURRENT),
        (None, "05-31", State.PAST),
        ("05-31", None, State.CURRENT),
        ("06-01", None, State.FUTURE),
        ("03-01", "06-01", State.CURRENT),
    ],
)
def test_states_of_facts_and_memories(begins: str | None, ends: str | None, state: State) -> None:
    """A fact does not hold on the day with which it ends."""
    days: dict[str, Any] = {"begins": begins and day(begins), "ends": ends and day(ends)}
    assert true_fact("library", **days).state(DAY) is state
    assert memory("library", **days).state(DAY) is state


def test_a_superseded_memory_without_an_end_is_past() -> None:
    """One whose successor is to come holds until then."""
    assert memory("library", is_over=True).state(DAY) is State.PAST
    assert memory("library", is_over=True, ends=day("06-30")).state(DAY) is State.CURRENT


@pytest.mark.parametrize(
    ("begins", "ends", "is_over", "result"),
    [
        ("03-01", "04-23", True, "right"),
        ("03-01", "04-24", True, "right"),
        ("03-01", "04-25", True, "period"),
        ("02-01", "04-23", True, "period"),
        ("03-01", None, False, "lost"),
    ],
)
def test_a_fact_is_right_in_its_state_with_its_days(
    begins: str, ends: str | None, result: str, *, is_over: bool
) -> None:
    """They may differ by one day."""
    fact = true_fact("library", begins=day("03-01"), ends=day("04-23"))
    held = memory("In the library.", begins=day(begins), ends=ends and day(ends), is_over=is_over)
    assert getattr(compared([fact], held), result)


@pytest.mark.parametrize(
    ("content", "more", "is_right"),
    [
        ("The concert is in the church on Saturday 2026-05-30.", {}, True),
        ("On 30 May 240 people came to the church.", {}, True),
        ("The concert is in the church.", {}, False),
        ("The concert is in the church on 29 May.", {}, False),
        ("The concert is in the church.", {"begins": day("05-30"), "ends": day("05-30")}, True),
    ],
)
def test_an_event_is_told_by_its_day_or_its_period(
    content: str, more: dict[str, Any], *, is_right: bool
) -> None:
    """With its day it stays true when it is over; without it the memory is wrongly current."""
    fact = true_fact("church", relation="concert", begins=day("05-30"), ends=day("05-30"))
    result = compared([fact], memory(content, predicate="concert_place", **more))
    assert (bool(result.right), bool(result.current)) == (is_right, not is_right)


def test_an_event_to_come_may_hold_already_but_not_be_over() -> None:
    """An appointment is known before its day."""
    fact = true_fact("dentist", relation="appointment", begins=day("06-09"), ends=day("06-09"))
    content = "The dentist appointment is on 9 June."
    assert compared([fact], memory(content)).right
    assert compared([fact], memory(content, ends=day("05-20"))).lost


def test_an_exception_may_stand_beside_the_usual_value() -> None:
    """The usual value is right before and after it only if both have their days."""
    relation = "mail"
    facts = [
        true_fact("Rory", relation=relation, begins=day("04-08"), ends=day("05-11")),
        true_fact("Ines", relation=relation, begins=day("05-11"), ends=day("05-25")),
        true_fact("Rory", relation=relation, begins=day("05-25")),
    ]
    usual = memory("Rory answers the mail.", predicate="mail", begins=day("04-08"))
    exception = memory(
        "Ines answers the mail.", predicate="mail_in_may", begins=day("05-11"), ends=day("05-24")
    )
    assert len(compared(facts, usual, exception).right) == 3
    assert len(compared(facts, usual).right) == 0
    late = memory("Rory answers the mail.", predicate="mail", begins=day("04-20"))
    assert len(compared(facts, late, exception).right) == 1


def test_a_second_memory_of_a_current_fact_is_doubled() -> None:
    """Neither a rule nor a side remark is."""
    facts = [true_fact("library")]
    first = memory("In the library.")
    assert compared(facts, first, memory("The library is it.", predicate="rehearsal_place_2")).doubled
    assert not compared(facts, first, memory("Go to the library.", subject="", predicate="")).doubled
    remark = memory(
        "Maeve dislikes the walk to the library of the choir from her flat.", predicate="complaint"
    )
    assert not compared(facts, first, remark).doubled


def test_a_value_of_the_past_is_wrongly_current() -> None:
    """Not if the memory names the value of today as well, or is about something else."""
    facts = [true_fact("hall", ends=day("04-23")), true_fact("library", begins=day("04-23"))]
    assert compared(facts, memory("In the hall.")).current
    assert not compared(facts, memory("In the library, no longer in the hall.")).current
    assert not compared(
        facts, memory("The roof of the hall leaks on the choir.", predicate="weather")
    ).current
    assert not compared(facts, memory("In the hall.", ends=day("04-23"))).current


@pytest.mark.parametrize(
    ("content", "is_current"),
    [
        ("The choir rehearses on Mondays.", True),
        ("The choir never rehearses on Mondays.", False),
        ("The choir sings well.", False),
    ],
)
def test_a_statement_that_nobody_should_keep_is_wrongly_current(content: str, *, is_current: bool) -> None:
    """The remark of the author does not count, and a denial is none."""
    never = ("The choir rehearses on Mondays (b-31, only considered by some of them, dropped later)",)
    assert bool(compared([], memory(content, predicate="x"), never=never).current) is is_current
