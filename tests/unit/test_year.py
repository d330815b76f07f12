"""The simulated year in ``benchmarks/year.py``: its data, its judge, its models and its picture."""

import json
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree as ET

import pytest

from year_data import Learning, Thread, Truth, YearQuestion, YearSession, problems, read_thread, says
from year_figures import AskedQuestion, WeekRow, YearFigures, shares
from year_judge import Answer, Verdict, judge_lines, judge_results
from year_picture import PANELS, draw_year
from year_secretary import Secretary, permanence_of

OLD = Truth(
    id="home/shoe-1",
    about="Emil",
    what="shoe size",
    text="Emil wears shoe size 29.",
    start=date(2024, 10, 1),
    end=date(2025, 4, 12),
    importance=4,
    kind="fact",
)
NEW = Truth(
    id="home/shoe-2",
    about="Emil",
    what="shoe size",
    text="Emil wears shoe size 30.",
    start=date(2025, 4, 12),
    end=None,
    importance=4,
    kind="fact",
)
QUESTION = YearQuestion(
    id="home/q1",
    week=18,
    place="chat",
    name="assistant",
    text="which size for emil",
    truth=NEW.id,
    asks="now",
    accepted=(("size 30",), ("30", "shoe")),
    outdated=(("size 29",),),
    wrong=(("size 38",),),
)


def session(day: date, *learnings: Learning, chatter: str = "") -> YearSession:
    """Return a conversation of a day."""
    return YearSession(
        at=datetime.combine(day, time(12)),
        machine="laptop",
        place="chat",
        name="assistant",
        turns=(("me", "he is at 30 now"), ("ai", "They grow fast.")),
        output="",
        learnings=learnings,
        chatter=chatter,
    )


def change(truth: Truth, how: str = "change") -> Learning:
    """Return the note of a truth."""
    return Learning(truth=truth.id, how=how, text=truth.text)


def thread(*sessions: YearSession, questions: tuple[YearQuestion, ...] = ()) -> Thread:
    """Return a thread with both values of a thing."""
    return Thread(
        name="home",
        truths={each.id: each for each in (OLD, NEW)},
        sessions=sessions,
        questions=questions,
        errors=(),
    )


def test_words_are_found_from_their_beginning() -> None:
    """A number is not a part of a longer one, and all words of an alternative are in one line."""
    assert says("Emil now wears shoe size 30.", QUESTION.accepted)
    assert not says("Emil wears size 300 or 130.", QUESTION.accepted)
    assert says("30 is the size of his shoes", QUESTION.accepted)
    assert not says("30 is his number", QUESTION.accepted)


def test_the_first_line_that_says_something_decides() -> None:
    """A line with the right value is right even if it names the old one too."""
    old, new, other = (
        "Emil wears shoe size 29.",
        "It was size 29, and is size 30 now.",
        "Jonna wears size 38.",
    )
    assert judge_lines(QUESTION, ["Emil likes trains.", old, new]) is Verdict.OUTDATED
    assert judge_lines(QUESTION, [new, old]) is Verdict.RIGHT
    assert judge_lines(QUESTION, [other, new]) is Verdict.WRONG
    assert judge_lines(QUESTION, ["Emil likes trains."]) is Verdict.UNKNOWN
    assert judge_results(QUESTION, ["a", "b", "c", "d", "e", new]) is Verdict.UNKNOWN
    assert judge_results(QUESTION, ["a", f"User: no, not size 29\nAssistant: noted.\n{new}"]) is Verdict.RIGHT


def test_a_search_answers_what_the_block_does_not() -> None:
    """The block comes without asking; of a question about nothing, it alone decides."""
    answer = Answer(question=QUESTION, block=Verdict.UNKNOWN, search=Verdict.RIGHT)
    assert answer.verdict is Verdict.RIGHT
    answer = Answer(question=QUESTION, block=Verdict.OUTDATED, search=Verdict.RIGHT)
    assert answer.verdict is Verdict.OUTDATED


def test_a_thread_without_faults_has_no_problems() -> None:
    """Each truth is learned while it holds, and the question asks for the value of its day."""
    sessions = (session(date(2025, 1, 8), change(OLD, "learn")), session(date(2025, 4, 14), change(NEW)))
    assert [*problems(thread(*sessions, questions=(QUESTION,)))] == []


def test_problems_name_what_contradicts_itself() -> None:
    """A value is not confirmed after its end, and a question does not ask for what comes later."""
    late = session(date(2025, 5, 20), change(OLD, "confirm"), change(NEW))
    lines = [*problems(thread(late, questions=(QUESTION,)))]
    assert lines == [
        "session 2025-05-20 12:00: confirm home/shoe-1, which is not true on that day",
        "question home/q1 (week 18): home/shoe-2 is learned only later",
    ]


def test_lines_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A small error of an author costs its line."""
    good = {
        "id": "a",
        "about": "Emil",
        "what": "size",
        "text": "30",
        "from": "2025-01-01",
        "importance": 4,
        "kind": "fact",
    }
    (tmp_path / "truths.jsonl").write_text(
        f"{json.dumps(good)}\n{json.dumps(good | {'kind': 'joke'})}\n", encoding="utf-8"
    )
    read = read_thread(tmp_path)
    assert len(read.truths) == 1
    assert read.errors[0].startswith("truths.jsonl:2: ValueError: kind: expected one of fact, person")


async def consolidated(
    secretary: Secretary, known: str, *sessions: YearSession
) -> dict[str, list[dict[str, str]]]:
    """Return the lists of the answer to a prompt that shows sessions and a known memory."""
    ids = [str(uuid4()) for _ in sessions]
    secretary.sessions.update(zip(ids, sessions, strict=True))
    answer = await secretary("\n".join([known, *ids]), trigger_source="test")
    return json.loads(answer.removeprefix("```json\n").removesuffix("\n```"))


async def test_a_strong_model_updates_the_fact_that_it_is_shown() -> None:
    """What changes names its target, and what is confirmed is not stored again."""
    secretary = Secretary(model="strong", truths={each.id: each for each in (OLD, NEW)})
    known = json.dumps({"id": "id-1", "subject": "Emil", "predicate": "shoe size", "content": OLD.text})
    lists = await consolidated(secretary, known, session(date(2025, 4, 14), change(NEW)))
    (update,) = lists["updated_facts"]
    assert (update["target_id"], update["content"]) == ("id-1", NEW.text)
    secretary.sessions.clear()
    lists = await consolidated(secretary, known, session(date(2025, 2, 1), change(OLD, "confirm")))
    assert (lists["confirmations"], lists["new_facts"]) == (["id-1"], [])


async def test_the_faults_of_a_mediocre_model_follow_from_the_words() -> None:
    """Of many notes it drops about three in ten, always the same ones."""
    truths = {
        f"home/{number}": Truth(
            id=f"home/{number}",
            about=f"thing {number}",
            what="place",
            text=f"Thing {number} is in box {number}.",
            start=OLD.start,
            end=None,
            importance=5,
            kind="fact",
        )
        for number in range(400)
    }
    day = session(date(2025, 3, 1), *(change(each, "learn") for each in truths.values()))
    counts = {len(Secretary(model="mediocre", truths=truths).notes_of(day)) for _ in range(3)}
    assert len(counts) == 1
    assert 0.65 < counts.pop() / 400 < 0.75
    assert len(Secretary(model="strong", truths=truths).notes_of(day)) == 400


@pytest.mark.parametrize(
    ("what", "kind", "permanence"),
    [("birthday", "person", "permanent"), ("address", "move", "stable"), ("shoe size", "fact", "standard")],
)
def test_permanence_follows_from_what_is_said(what: str, kind: str, permanence: str) -> None:
    """The models do not know how long a truth will hold."""
    assert permanence_of(replace(OLD, what=what, kind=kind)) == permanence


def figures(model: str) -> YearFigures:
    """Return the figures of two weeks."""
    question = AskedQuestion(
        id="home/q1",
        week=1,
        asks="now",
        place="chat",
        kind="fact",
        importance=4,
        age_days=40,
        block="unknown",
        search="right",
        verdict="right",
    )
    weeks = tuple(
        WeekRow(
            number=number,
            sessions=5,
            rows=10 * number,
            kinds={"facts": 10 * number},
            bytes=number * 100_000,
            tokens_a_day=400.0,
            model_calls=3,
            model_tokens=9_000,
        )
        for number in (1, 2)
    )
    return YearFigures(
        model=model,
        questions=(question, replace(question, verdict="unknown")),
        weeks=weeks,
        lost=(),
        mattered=0,
        outlived=(),
        refused=(),
    )


def test_figures_can_be_written_and_read() -> None:
    """What ``--save`` writes, ``--read`` reads."""
    year = figures("strong")
    assert YearFigures.from_json(json.loads(json.dumps(year.as_json()))) == year
    assert shares(year.answerable) == {"right": 0.5, "outdated": 0.0, "unknown": 0.5, "wrong": 0.0}
    assert year.answerable[0].age == "90 days"


def test_the_picture_has_a_line_for_each_model_in_each_panel() -> None:
    """It is a well-formed SVG, and text from outside cannot break it."""
    picture = ET.fromstring(draw_year([figures("strong"), figures("a <b>")], title="A & B"))  # noqa: S314 - own text
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2 * len(PANELS)
    assert all(len((each.get("points") or "").split()) == 2 for each in lines)
