"""Read and check the truths, sessions and questions of a year that authors wrote; see ``benchmarks/data/year``.

    python benchmarks/year_data.py FOLDER...

prints what is wrong with the files of each author, and exits with 1 if it is more than a remark.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

Noun = TypeVar("Noun")

FIRST_DAY: Final = date(2025, 1, 6)
WEEKS: Final = 52
LAST_DAY: Final = FIRST_DAY + timedelta(days=7 * WEEKS - 1)
QUESTION_TIME: Final = time(20, 0)
NOTHING: Final = "nothing"
KINDS: Final = ("fact", "person", "rule", "fix", "move", "seasonal")
PLACES: Final = ("chat", "code", "ops", "note")
MACHINES: Final = ("laptop", "desktop", "server")
CHANGES: Final = ("learn", "change", "confirm", "end")
ASKED_TIMES: Final = ("now", "past", NOTHING)

Alternative: TypeAlias = tuple[str, ...]
"""Words that must all be in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One value of a thing, and the days on which it is true; ``end`` is the first day after them."""

    id: str
    about: str
    what: str
    text: str
    start: date
    end: date | None
    importance: float
    kind: str

    @property
    def key(self) -> tuple[str, str]:
        """The thing whose value this is."""
        return self.about.casefold(), self.what.casefold()

    def holds_on(self, day: date) -> bool:
        """Return whether the value is true on a day."""
        return self.start <= day and (self.end is None or day < self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A note that a careful secretary takes of one truth after a session."""

    truth: str
    how: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YearSession:
    """A talk, a session of a coding agent, a report of an ops agent, or a note that a person writes."""

    at: datetime
    machine: str
    place: str
    name: str
    turns: tuple[tuple[str, str], ...]
    output: str
    learnings: tuple[Learning, ...]
    chatter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YearQuestion:
    """A question of one week, the truth that it asks for, and the words of right, older and mistaken answers."""

    id: str
    week: int
    place: str
    name: str
    text: str
    truth: str
    asks: str
    accepted: tuple[Alternative, ...]
    outdated: tuple[Alternative, ...]
    wrong: tuple[Alternative, ...]

    @property
    def day(self) -> date:
        """The Sunday of the week."""
        return FIRST_DAY + timedelta(days=7 * self.week - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """What one author wrote: one thread of the year. Ids begin with the name of the thread."""

    name: str
    truths: Mapping[str, Truth]
    sessions: tuple[YearSession, ...]
    questions: tuple[YearQuestion, ...]
    errors: tuple[str, ...]


@cache
def _pattern(word: str) -> re.Pattern[str]:
    words = r"\s+".join(re.escape(part) for part in word.split())
    ending = r"(?!\d)" if word[-1:].isdigit() else ""
    return re.compile(rf"(?<!\w){words}{ending}", re.IGNORECASE)


def says(line: str, alternatives: Sequence[Alternative]) -> bool:
    """Return whether one of the alternatives is in a line: all its words, each from the beginning of a word."""
    return any(all(_pattern(word).search(line) for word in words) for words in alternatives)


def read_thread(folder: Path) -> Thread:
    """Read the files of one author; lines that cannot be read are left out and named in ``errors``."""
    errors: list[str] = []
    name = folder.name
    truths = [
        *_records(folder / "truths.jsonl", errors, lambda record, number: _truth(name, record, number)),
    ]
    sessions = [
        *_records(folder / "sessions.jsonl", errors, lambda record, number: _session(name, record, number)),
    ]
    questions = [
        *_records(folder / "questions.jsonl", errors, lambda record, number: _question(name, record, number)),
    ]
    return Thread(
        name=name,
        truths={each.id: each for each in truths},
        sessions=tuple(sorted(sessions, key=lambda each: each.at)),
        questions=tuple(questions),
        errors=tuple(errors),
    )


def _records(
    path: Path, errors: list[str], build: Callable[[Mapping[str, Any], int], Noun]
) -> Iterator[Noun]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    if not lines:
        errors.append(f"{path.name}: no lines")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield build(json.loads(line), number)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                errors.append(f"{path.name}:{number}: {type(error).__name__}: {error}")


def _one_of(value: str, choices: Sequence[str], key: str) -> str:
    if value not in choices:
        msg = f"{key}: expected one of {', '.join(choices)}, got {value!r}"
        raise ValueError(msg)
    return value


def _truth(thread: str, record: Mapping[str, Any], number: int) -> Truth:
    del number
    end = record.get("to")
    return Truth(
        id=f"{thread}/{record['id']}",
        about=record["about"],
        what=record["what"],
        text=record["text"],
        start=date.fromisoformat(record["from"]),
        end=None if end is None else date.fromisoformat(end),
        importance=float(record["importance"]),
        kind=_one_of(record["kind"], KINDS, "kind"),
    )


def _session(thread: str, record: Mapping[str, Any], number: int) -> YearSession:
    del number
    return YearSession(
        at=datetime.combine(date.fromisoformat(record["day"]), time.fromisoformat(record["time"])),
        machine=_one_of(record["machine"], MACHINES, "machine"),
        place=_one_of(record["place"], PLACES, "place"),
        name=record["name"],
        turns=tuple((str(turn[0]), str(turn[1])) for turn in record.get("turns") or ()),
        output=record.get("output") or "",
        learnings=tuple(
            Learning(
                truth=f"{thread}/{each['truth']}",
                how=_one_of(each["how"], CHANGES, "how"),
                text=each["text"],
            )
            for each in record.get("learns") or ()
        ),
        chatter=record.get("chatter") or "",
    )


def _alternatives(value: Sequence[str | Sequence[str]] | None) -> tuple[Alternative, ...]:
    return tuple((each,) if isinstance(each, str) else tuple(each) for each in value or ())


def _question(thread: str, record: Mapping[str, Any], number: int) -> YearQuestion:
    truth = record["truth"]
    return YearQuestion(
        id=f"{thread}/q{number}",
        week=int(record["week"]),
        place=_one_of(record["place"], PLACES, "place"),
        name=record["name"],
        text=record["text"],
        truth=NOTHING if truth == NOTHING else f"{thread}/{truth}",
        asks=_one_of(record["asks"], ASKED_TIMES, "asks"),
        accepted=_alternatives(record.get("accepted")),
        outdated=_alternatives(record.get("outdated")),
        wrong=_alternatives(record.get("wrong")),
    )


def problems(thread: Thread) -> Iterator[str]:
    """Yield what contradicts itself in a thread, beside the lines that cannot be read."""
    yield from thread.errors
    for session in thread.sessions:
        yield from _session_problems(thread, session)
    learned = {each.truth for session in thread.sessions for each in session.learnings}
    for truth in thread.truths.values():
        if truth.id not in learned:
            yield f"truth {truth.id}: no session learns it"
        if truth.end is not None and truth.end <= truth.start:
            yield f"truth {truth.id}: it ends on {truth.end}, before it begins"
    for question in thread.questions:
        yield from _question_problems(thread, question)


def _session_problems(thread: Thread, session: YearSession) -> Iterator[str]:
    place = f"session {session.at:%Y-%m-%d %H:%M}"
    if not FIRST_DAY <= session.at.date() <= LAST_DAY:
        yield f"{place}: not in the year"
    if not (session.output if session.place in {"ops", "note"} else session.turns):
        yield f"{place}: {session.place} without {'output' if session.place in {'ops', 'note'} else 'turns'}"
    for learning in session.learnings:
        truth = thread.truths.get(learning.truth)
        if truth is None:
            yield f"{place}: learns {learning.truth}, which is no truth"
        elif learning.how != "end" and not truth.holds_on(session.at.date()) and truth.end is not None:
            yield f"{place}: {learning.how} {learning.truth}, which is not true on that day"


def _question_problems(thread: Thread, question: YearQuestion) -> Iterator[str]:
    place = f"question {question.id} (week {question.week})"
    if not 1 <= question.week <= WEEKS:
        yield f"{place}: not in the year"
    if NOTHING in {question.asks, question.truth}:
        if question.asks != question.truth:
            yield f"{place}: asks {question.asks!r} of {question.truth!r}"
        if not question.wrong:
            yield f"{place}: wrong is empty"
        return
    truth = thread.truths.get(question.truth)
    if truth is None:
        yield f"{place}: {question.truth} is no truth"
        return
    yield from (f"{place}: {each}" for each in _time_problems(thread, question, truth))
    if not says(truth.text, question.accepted):
        yield f"{place}: no accepted alternative is in the text of {truth.id}"
    if says(truth.text, [*question.outdated, *question.wrong]):
        yield f"{place}: an outdated or wrong alternative is in the text of {truth.id}"


def _time_problems(thread: Thread, question: YearQuestion, truth: Truth) -> Iterator[str]:
    asked_at = datetime.combine(question.day, QUESTION_TIME)
    notes = [
        each.text
        for session in thread.sessions
        for each in session.learnings
        if each.truth == truth.id and each.how != "end" and session.at < asked_at
    ]
    if not notes:
        yield f"{truth.id} is learned only later"
    elif not any(says(text, question.accepted) for text in notes):
        yield f"no accepted alternative is in a note of {truth.id} before that day"
    if question.asks == "now" and not truth.holds_on(question.day):
        yield f"{truth.id} is not true on {question.day}"
    if question.asks == "past" and (truth.end is None or truth.end > question.day):
        yield f"{truth.id} is not over on {question.day}"


def main() -> int:
    """Print the problems of each folder; return the exit status."""
    status = 0
    for folder in map(Path, sys.argv[1:]):
        thread = read_thread(folder)
        lines = [*problems(thread)]
        quiet = sum(not each.learnings for each in thread.sessions)
        things = {each.key for each in thread.truths.values()}
        print(
            f"{thread.name}: {len(thread.truths)} truths of {len(things)} things, "
            f"{len(thread.sessions)} sessions ({quiet} learn nothing), {len(thread.questions)} questions"
        )
        print(*lines, sep="\n")
        status |= bool(lines)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
