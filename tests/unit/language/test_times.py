"""Dates and times in words."""

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError
from commonplace.language.time_questions import read_time_question
from commonplace.language.times import TimeReader, read_span

NOW = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)
"""Saturday, half past midnight, in Berlin; a Friday in UTC."""

BERLIN = ZoneInfo("Europe/Berlin")
TIMES = TimeReader(clock=ManualClock(NOW), zone=BERLIN)


def days(text: str, *, ahead: bool = False) -> tuple[str, str] | None:
    """Return the first and the last day in Berlin that a text names, or the minute if it names a moment."""
    span = read_span(text, now=NOW, zone=BERLIN, ahead=ahead)
    if span is None:
        return None
    form = "%Y-%m-%d %H:%M" if span.start == span.end else "%Y-%m-%d"
    first, last = (f"{moment.astimezone(BERLIN):{form}}" for moment in (span.start, span.last))
    return first, last


@pytest.mark.requirement("ONE-03.4")
@pytest.mark.parametrize(
    ("texts", "first", "last"),
    [
        ("today|heute|hoy|aujourd'hui|this morning|Heute Abend", "2026-11-28", "2026-11-28"),
        ("yesterday|gestern|ayer|hier|last night|since yesterday", "2026-11-27", "2026-11-27"),
        ("the day before yesterday|vorgestern|anteayer|avant-hier", "2026-11-26", "2026-11-26"),
        ("tomorrow|morgen|mañana|demain", "2026-11-29", "2026-11-29"),
        ("last friday|letzten Freitag|el viernes pasado|vendredi dernier", "2026-11-27", "2026-11-27"),
        ("Friday|on friday|Freitag|am Freitag|viernes|vendredi", "2026-11-27", "2026-11-27"),
        ("saturday|Samstag", "2026-11-28", "2026-11-28"),
        ("last saturday|samedi dernier|sábado pasado", "2026-11-21", "2026-11-21"),
        ("this week|diese Woche|esta semana|cette semaine", "2026-11-23", "2026-11-29"),
        ("last week|letzte Woche|la semana pasada|la semaine dernière", "2026-11-16", "2026-11-22"),
        ("last month|letzten Monat|el mes pasado|le mois dernier", "2026-10-01", "2026-10-31"),
        ("last year|letztes Jahr|el año pasado|l'année dernière|2025", "2025-01-01", "2025-12-31"),
        ("last weekend|letztes Wochenende", "2026-11-21", "2026-11-22"),
        (
            "3 days ago|three days ago|vor 3 Tagen|hace tres días|il y a trois jours",
            "2026-11-25",
            "2026-11-25",
        ),
        ("a week ago|vor einer Woche|hace una semana|il y a une semaine", "2026-11-21", "2026-11-21"),
        ("a month ago|vor einem Monat", "2026-10-28", "2026-10-28"),
        (
            "the last 3 days|die letzten 3 Tage|los últimos 3 días|les 3 derniers jours",
            "2026-11-26",
            "2026-11-28",
        ),
        ("5 May|May 5|5th of May|5. Mai|5 de mayo|5 mai|5.5.2026|2026/5/5", "2026-05-05", "2026-05-05"),
        ("5 December|5 December 2025", "2025-12-05", "2025-12-05"),
        ("May|in May|last may|Mai 2026|mayo de 2026", "2026-05-01", "2026-05-31"),
        ("yesterday at 3pm|yesterday 15:00|gestern um 15 Uhr|ayer a las 15:00", *2 * ["2026-11-27 15:00"]),
        ("2 hours ago|vor zwei Stunden|hace 2 horas|il y a deux heures", *2 * ["2026-11-27 22:30"]),
    ],
)
def test_words_of_time_are_read(texts: str, first: str, last: str) -> None:
    """In English, German, Spanish and French, as days of the time zone."""
    for text in texts.split("|"):
        assert days(text.replace("l'année", "année")) == (first, last), text


@pytest.mark.requirement("ONE-03.4")
def test_iso_dates_mean_what_they_meant() -> None:
    """A date is a day in UTC; a time without offset is in UTC."""
    span = TIMES.span("2026-05-01", field="since")
    assert (span.start, span.is_iso) == (datetime(2026, 5, 1, tzinfo=UTC), True)
    assert span.last == datetime(2026, 5, 1, 23, 59, 59, 999999, UTC)
    for text in ("2026-05-01T12:00", "2026-05-01T14:00+02:00", "2026-05-01T12:00:00Z"):
        assert TIMES.since(text) == TIMES.until(text) == datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.requirement("ONE-03.4")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "last frday",
        "a",
        "12",
        "5/4/2026",
        "31.2.2026",
        "99999 days ago",
        "9999 years ago",
        "yesterday 25:00",
    ],
)
def test_what_is_not_a_time_is_refused(text: str) -> None:
    """Also what has two readings. The error has examples."""
    with pytest.raises(InvalidInputError, match=r"such as 2026-05-01, .*yesterday.* got"):
        TIMES.since(text, field="--since")


def test_a_coming_day_is_read_where_a_time_is_ahead() -> None:
    """The end of a fact is more likely to come."""
    assert days("5 May", ahead=True) == ("2027-05-05", "2027-05-05")
    assert days("friday", ahead=True) == ("2026-12-04", "2026-12-04")
    assert days("may", ahead=True) == ("2027-05-01", "2027-05-31")
    assert days("may 2026", ahead=True) == ("2026-05-01", "2026-05-31")


def test_days_follow_the_clock_of_the_zone() -> None:
    """The day on which clocks go back has 25 hours."""
    span = read_span("25 October 2026", now=NOW, zone=BERLIN)
    assert span is not None
    assert (span.end - span.start).total_seconds() == 25 * 3_600


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any text is a span or an error of the caller."""
    with suppress(InvalidInputError):
        span = TIMES.span(text, field="since")
        assert span.start <= span.last


@pytest.mark.requirement("ONE-03.2")
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("what happened today?", "today"),
        ("What's new since monday", "since monday"),
        ("everything from last week", "from last week"),
        ("was ist gestern passiert?", "gestern"),
        ("¿qué pasó ayer?", "ayer"),
        ("que s'est-il passé aujourd'hui ?", "aujourd'hui"),
        ("yesterday", "yesterday"),
        ("what did Anna do yesterday", None),
        ("the deploy of last friday", None),
        ("friday", None),
        ("May", None),
        ("2026", None),
        ("which port?", None),
        ("", None),
    ],
)
def test_a_question_that_names_only_a_time(query: str, words: str | None) -> None:
    """A name or a topic makes it a search, and so does a word alone that a memory may hold."""
    question = read_time_question(query, now=NOW, zone=BERLIN)
    assert (question and question.words) == words
