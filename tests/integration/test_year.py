"""A few weeks of the simulated year in ``benchmarks/year.py``, through the doors of a real home."""

from datetime import date, datetime, time

from year_data import Learning, Thread, Truth, YearQuestion, YearSession
from year_figures import figures_of
from year_judge import Verdict
from year_play import Year, play_year


def truth(name: str, text: str, start: date, end: date | None = None, **fields: str) -> Truth:
    """Return a value of what Emil wears, unless the fields say something else."""
    values = {"about": "Emil", "what": "shoe size", "kind": "fact"} | fields
    return Truth(id=f"home/{name}", text=text, start=start, end=end, importance=8, **values)


OLD = truth("old", "Emil wears shoe size 29.", date(2024, 1, 1), date(2025, 1, 20))
NEW = truth("new", "Emil now wears shoe size 30.", date(2025, 1, 20))
FIX = truth(
    "fix",
    "A full index brings the thumbnails of photoprism back.",
    date(2024, 1, 1),
    about="photoprism",
    what="missing thumbnails",
    kind="fix",
)


def session(day: date, place: str, said: str, known: Truth, how: str = "learn") -> YearSession:
    """Return a session in which one truth is said."""
    return YearSession(
        at=datetime.combine(day, time(12)),
        machine="laptop",
        place=place,
        name="assistant" if place == "chat" else "otter",
        turns=(("me", said), ("ai", "Noted.")) if place == "chat" else (),
        output=said if place == "ops" else "",
        learnings=(Learning(truth=known.id, how=how, text=known.text),),
        chatter="",
    )


def question(name: str, week: int, place: str, text: str, known: Truth, *words: str) -> YearQuestion:
    """Return a question whose answer holds the first word, and an outdated one the second."""
    return YearQuestion(
        id=f"home/{name}",
        week=week,
        place=place,
        name="assistant" if place == "chat" else "otter",
        text=text,
        truth=known.id,
        asks="now",
        accepted=((words[0],),),
        outdated=tuple((word,) for word in words[1:]),
        wrong=(),
    )


THREAD = Thread(
    name="home",
    truths={each.id: each for each in (OLD, NEW, FIX)},
    sessions=(
        session(date(2025, 1, 7), "chat", "emils shoes are size 29, are they wide enough?", OLD),
        session(date(2025, 1, 8), "ops", "Ran a full index of photoprism: the thumbnails are back.", FIX),
        session(date(2025, 1, 21), "chat", "he needs new shoes, he is at 30 now", NEW, "change"),
    ),
    questions=(
        question("q1", 1, "chat", "what shoe size does emil wear?", OLD, "size 29"),
        question("q2", 4, "chat", "what shoe size does emil wear?", NEW, "size 30", "size 29"),
        question("q3", 4, "ops", "photoprism shows no thumbnails", FIX, "full index"),
    ),
    errors=(),
)


async def played(url: str, model: str) -> Year:
    """Play four weeks with a model."""
    return await play_year([THREAD], model, weeks=4, choices={"postgres_url": url})


async def test_a_strong_model_knows_the_new_value_and_the_fix(knowledge_url: str) -> None:
    """Sessions, nights and questions go through the doors; the old value is history, and its episode is gone."""
    year = await played(knowledge_url, "strong")
    assert [each.verdict for each in year.answers] == [Verdict.RIGHT] * 3
    assert (year.lost, year.mattered, year.refused) == ((), 2, ())
    last = year.weeks[-1]
    assert (last.holdings.facts, last.holdings.lessons, last.holdings.digests) == (1, 1, 2)
    assert sum(week.model_calls for week in year.weeks) > 0
    assert sum(week.sessions for week in year.weeks) == 3
    figures = figures_of(year, [THREAD])
    assert [(each.week, each.age_days) for each in figures.questions] == [(1, 5), (4, 12), (4, 25)]


async def test_without_a_model_only_lessons_and_recent_sessions_are_known(knowledge_url: str) -> None:
    """After a week, the episode with the new value has expired."""
    year = await played(knowledge_url, "absent")
    assert {each.question.id: each.verdict for each in year.answers}["home/q3"] is Verdict.RIGHT
    assert sum(week.model_calls for week in year.weeks) == 0
    assert (year.weeks[-1].holdings.facts, year.weeks[-1].holdings.episodes) == (0, 0)
