"""The figures of a year: one row a question, one row a week, and sums of them. They can be written and read as JSON."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from year_data import NOTHING, QUESTION_TIME, Thread, Truth
from year_judge import Answer, Verdict
from year_play import Year

AGES: Final = ((7, "a week"), (30, "30 days"), (90, "90 days"), (180, "180 days"), (10_000, "longer"))
"""How long ago a truth was last said, and the word for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """One question with its verdicts; ``age_days`` is how long ago its truth was last said, -1 for nothing."""

    id: str
    week: int
    asks: str
    place: str
    kind: str
    importance: float
    age_days: int
    block: str
    search: str
    verdict: str

    @property
    def age(self) -> str:
        """How long ago the truth was last said, in words."""
        return next(word for most, word in AGES if self.age_days <= most)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekRow:
    """What a home holds after a week, and what the week took."""

    number: int
    sessions: int
    rows: int
    kinds: Mapping[str, int]
    bytes: int
    tokens_a_day: float
    model_calls: int
    model_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YearFigures:
    """The figures of one model in one year."""

    model: str
    questions: tuple[AskedQuestion, ...]
    weeks: tuple[WeekRow, ...]
    lost: tuple[str, ...]
    mattered: int
    outlived: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def answerable(self) -> list[AskedQuestion]:
        """The questions about something."""
        return [each for each in self.questions if each.asks != NOTHING]

    @property
    def about_nothing(self) -> list[AskedQuestion]:
        """The questions about what was never said."""
        return [each for each in self.questions if each.asks == NOTHING]

    def as_json(self) -> dict[str, Any]:
        """Return the figures as values of JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "YearFigures":
        """Return the figures of values of JSON."""
        return cls(
            model=values["model"],
            questions=tuple(AskedQuestion(**each) for each in values["questions"]),
            weeks=tuple(WeekRow(**each) for each in values["weeks"]),
            lost=tuple(values["lost"]),
            mattered=values["mattered"],
            outlived=tuple(values["outlived"]),
            refused=tuple(values["refused"]),
        )


def figures_of(year: Year, threads: Sequence[Thread]) -> YearFigures:
    """Return the figures of a year that was played."""
    truths = {each.id: each for thread in threads for each in thread.truths.values()}
    moments = _moments(threads)
    return YearFigures(
        model=year.model,
        questions=tuple(_asked(answer.question.id, answer, truths, moments) for answer in year.answers),
        weeks=tuple(
            WeekRow(
                number=week.number,
                sessions=week.sessions,
                rows=week.holdings.rows,
                kinds={
                    name: getattr(week.holdings, name)
                    for name in ("facts", "rules", "episodes", "lessons", "digests", "notes")
                },
                bytes=week.holdings.bytes,
                tokens_a_day=round(week.tokens_a_day, 1),
                model_calls=week.model_calls,
                model_tokens=week.model_tokens,
            )
            for week in year.weeks
        ),
        lost=tuple(f"{each.id}: {each.text}" for each in year.lost),
        mattered=year.mattered,
        outlived=tuple(f"{kind}: {text}" for kind, text in year.outlived),
        refused=year.refused,
    )


def _moments(threads: Sequence[Thread]) -> dict[str, list[datetime]]:
    """Return the moments at which each truth was said."""
    moments: dict[str, list[datetime]] = {}
    for thread in threads:
        for session in thread.sessions:
            for learning in session.learnings:
                if learning.how != "end":
                    moments.setdefault(learning.truth, []).append(session.at)
    return moments


def _asked(
    question_id: str, answer: Answer, truths: Mapping[str, Truth], moments: Mapping[str, Sequence[datetime]]
) -> AskedQuestion:
    question = answer.question
    truth = truths.get(question.truth)
    asked_at = datetime.combine(question.day, QUESTION_TIME)
    said = [at for at in moments.get(question.truth, ()) if at < asked_at]
    return AskedQuestion(
        id=question_id,
        week=question.week,
        asks=question.asks,
        place=question.place,
        kind=NOTHING if truth is None else truth.kind,
        importance=0.0 if truth is None else truth.importance,
        age_days=(asked_at - max(said)).days if said else -1,
        block=answer.block,
        search=answer.search,
        verdict=answer.verdict,
    )


def shares(
    questions: Iterable[AskedQuestion], verdict_of: Callable[[AskedQuestion], str] = lambda each: each.verdict
) -> dict[str, float]:
    """Return the share of each verdict among questions."""
    counts = Counter(map(verdict_of, questions))
    total = sum(counts.values())
    return {verdict.value: counts[verdict] / total if total else 0.0 for verdict in Verdict}
