"""Play the threads of a year in one home, and ask the questions of each week."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from year_data import (
    FIRST_DAY,
    NOTHING,
    QUESTION_TIME,
    WEEKS,
    Thread,
    Truth,
    YearQuestion,
    YearSession,
)
from year_home import Holdings, YearHome
from year_judge import Answer, Verdict, judge_lines, judge_results
from year_secretary import Secretary, draw

MATTERS: Final = 8.0
"""The importance from which a truth must not be lost."""

LONG_OVER: Final = timedelta(days=14)
"""What has been over for this long should be gone."""

NIGHT: Final = time(3, 0)
MEASURED_OF: Final = 3
"""Of so many sessions, the tokens of one are measured; it stands for the others."""

NO_CHOICES: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """The figures of one week: answers, what the home holds, tokens of each day's blocks, and the work of the model."""

    number: int
    answers: tuple[Answer, ...]
    holdings: Holdings
    tokens_a_day: float
    sessions: int
    model_calls: int
    model_tokens: int

    def counts(self) -> Counter[Verdict]:
        """Return the number of answers of each verdict."""
        return Counter(each.verdict for each in self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Year:
    """A year that was played.

    Attributes:
        lost: Truths that matter, are true at the end and were learned, and cannot be answered.
        outlived: Current memories that hold only what has been over for two weeks, by kind.
        refused: Texts that a memory refused.
    """

    model: str
    weeks: tuple[Week, ...]
    lost: tuple[Truth, ...]
    mattered: int
    outlived: tuple[tuple[str, str], ...]
    refused: tuple[str, ...]

    @property
    def answers(self) -> list[Answer]:
        """All answers of the year."""
        return [answer for week in self.weeks for answer in week.answers]


async def play_year(
    threads: Sequence[Thread],
    model: str,
    *,
    weeks: int = WEEKS,
    choices: Mapping[str, str] = NO_CHOICES,
    on_week: Callable[[Week], object] = lambda _: None,
) -> Year:
    """Play the sessions of all threads in the order of time, with a night after each day.

    Args:
        threads: What the authors wrote.
        model: One of :data:`year_secretary.MODELS`.
        weeks: How many weeks are played.
        choices: Settings of the home that are not the defaults.
        on_week: Called with the figures of each week.
    """
    truths = {each.id: each for thread in threads for each in thread.truths.values()}
    sessions = sorted((each for thread in threads for each in thread.sessions), key=lambda each: each.at)
    questions = [each for thread in threads for each in thread.questions]
    secretary = Secretary(model=model, truths=truths)
    with tempfile.TemporaryDirectory(prefix="year-") as folder:
        async with YearHome.open(Path(folder), secretary, choices) as home:
            played: list[Week] = []
            for number in range(1, weeks + 1):
                asked = [each for each in questions if each.week == number]
                played.append(await _play_week(home, number, sessions, asked))
                on_week(played[-1])
            last_day = FIRST_DAY + timedelta(days=7 * weeks - 1)
            mattering = _mattering(questions, truths, sessions, last_day)
            answers = [await _ask(home, each) for each in mattering]
            return Year(
                model=model,
                weeks=tuple(played),
                lost=tuple(
                    truths[each.question.truth] for each in answers if each.verdict is not Verdict.RIGHT
                ),
                mattered=len(mattering),
                outlived=_outlived(await home.current_texts(), truths, sessions, last_day),
                refused=tuple(home.refused),
            )


async def _play_week(
    home: YearHome, number: int, sessions: Sequence[YearSession], questions: Sequence[YearQuestion]
) -> Week:
    monday = FIRST_DAY + timedelta(days=7 * (number - 1))
    spending, before = home.secretary.spending, replace(home.secretary.spending)
    asked_at = datetime.combine(monday + timedelta(days=6), QUESTION_TIME)
    of_week = [each for each in sessions if monday <= each.at.date() < monday + timedelta(days=7)]
    tokens, answers = 0, list[Answer]()
    for day in (monday + timedelta(days=each) for each in range(7)):
        home.clock.now = datetime.combine(day, NIGHT, UTC)
        await home.pass_night()
        of_day = [each for each in of_week if each.at.date() == day]
        for session in (each for each in of_day if each.at < asked_at):
            tokens += await _play_session(home, session)
        if day == asked_at.date():
            home.clock.now = asked_at.replace(tzinfo=UTC)
            answers = [await _ask(home, each) for each in questions]
        for session in (each for each in of_day if each.at >= asked_at):
            tokens += await _play_session(home, session)
    return Week(
        number=number,
        answers=tuple(answers),
        holdings=await home.holdings(),
        tokens_a_day=tokens / 7,
        sessions=len(of_week),
        model_calls=spending.calls - before.calls,
        model_tokens=spending.tokens - before.tokens,
    )


async def _play_session(home: YearHome, session: YearSession) -> int:
    """Play a session, and return an estimate of the tokens that it gets: each third session is measured."""
    is_measured = draw("tokens", session.name, f"{session.at}") < 1 / MEASURED_OF
    tokens = await home.injected_tokens(session) * MEASURED_OF if is_measured else 0
    await home.play(session)
    return tokens


async def _ask(home: YearHome, question: YearQuestion) -> Answer:
    blocks = await home.blocks(question.place, question.name, question.text)
    lines = blocks.prompt if question.asks == NOTHING else (*blocks.prompt, *blocks.session)
    return Answer(
        question=question,
        block=judge_lines(question, lines),
        search=judge_results(question, await home.search(question)),
    )


def _mattering(
    questions: Sequence[YearQuestion],
    truths: Mapping[str, Truth],
    sessions: Sequence[YearSession],
    last_day: date,
) -> list[YearQuestion]:
    """Return the last question of each truth that matters, was learned and is true on the last day."""
    learned = {
        learning.truth
        for session in sessions
        for learning in session.learnings
        if session.at.date() <= last_day and learning.how != "end"
    }
    last: dict[str, YearQuestion] = {}
    for question in sorted(questions, key=lambda each: each.week):
        truth = truths.get(question.truth)
        if (
            question.asks == "now"
            and truth is not None
            and truth.id in learned
            and truth.importance >= MATTERS
            and truth.holds_on(last_day)
        ):
            last[truth.id] = question
    return list(last.values())


def _outlived(
    texts: Sequence[tuple[str, str]],
    truths: Mapping[str, Truth],
    sessions: Sequence[YearSession],
    last_day: date,
) -> tuple[tuple[str, str], ...]:
    """Return the current memories that hold a note of what is long over, and no note of what is still true."""
    notes = [
        (learning.text, truths[learning.truth])
        for session in sessions
        for learning in session.learnings
        if learning.truth in truths and learning.how != "end"
    ]
    over = [text for text, truth in notes if truth.end is not None and truth.end <= last_day - LONG_OVER]
    current = [text for text, truth in notes if truth.holds_on(last_day)]
    return tuple(
        (kind, text)
        for kind, text in texts
        if any(each in text for each in over) and not any(each in text for each in current)
    )
