"""Periods in the sentences of the benchmark, and what holds for every sentence."""

import json
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.knowledge.rules.periods import read_period
from commonplace.language import calendar_words

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
"""A Sunday."""

CONFLICTS = [
    ("Mia is on vacation until Friday, 2026-12-11.", None, "2026-12-11", None),
    ("Mia is on vacation until Friday, December 11.", None, "2026-12-11", None),
    (
        "Mia is on vacation until Monday, 2026-12-11.",
        None,
        "2026-12-11",
        "2026-12-11 is a Friday, not Monday",
    ),
    ("Mia ist bis Freitag, den 11.12.2026 im Urlaub.", None, "2026-12-11", None),
    (
        "Mia ist bis Montag, den 11.12.2026 im Urlaub.",
        None,
        "2026-12-11",
        "2026-12-11 is a Friday, not Montag",
    ),
    ("From Monday 7 December the gate is locked.", "2026-12-07", None, None),
    ("From Tuesday 7 December 2026 the gate is locked.", "2026-12-07", None, "2026-12-07 is a Monday"),
    ("Mia est absente jusqu'au lundi 11 décembre 2026.", None, "2026-12-11", "2026-12-11 is a Friday"),
    (
        "Mia está de baja hasta el lunes 11 de diciembre de 2026.",
        None,
        "2026-12-11",
        "2026-12-11 is a Friday",
    ),
    ("A Mia está de férias até segunda-feira, 11 de dezembro de 2026.", None, "2026-12-11", "is a Friday"),
    ("The gate is locked until 2026-12-11 (Monday).", None, "2026-12-11", "is a Friday, not Monday"),
]


def sentences() -> list[dict[str, Any]]:
    """Return the sentences from which the rules were written."""
    files = (DATA / "periods-a.jsonl", DATA / "periods-own.jsonl")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def days(text: str, now: datetime) -> tuple[str | None, str | None]:
    """Return the first and the last day of the period that is read."""
    period = read_period(text, now)
    if period is None:
        return None, None
    first, last = period.valid_from, period.valid_to
    return first and f"{first:%Y-%m-%d}", last and f"{last - timedelta(days=1):%Y-%m-%d}"


@pytest.mark.requirement("TRU-02.1")
@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "pt", "zh", "ja"])
def test_each_sentence_is_read_as_its_author_labelled_it(language: str) -> None:
    """Including the sentences that name no period."""
    rows = [row for row in sentences() if row["lang"] == language]
    assert len(rows) > 30
    read = {
        row["text"]: days(row["text"], datetime.fromisoformat(row["told"]).replace(tzinfo=UTC))
        for row in rows
    }
    assert read == {row["text"]: (row["from"], row["to"]) for row in rows}


@pytest.mark.requirement("TRU-02.2")
@pytest.mark.parametrize(("text", "first", "last", "remark"), CONFLICTS)
def test_a_date_beats_the_weekday_beside_it(
    text: str, first: str | None, last: str | None, remark: str | None
) -> None:
    """If the two disagree, the period says so."""
    period = read_period(text, NOW)
    assert days(text, NOW) == (first, last)
    assert period is not None
    assert (period.remark is None) == (remark is None)
    assert remark is None or remark in (period.remark or "")


def forms(day: date) -> list[str]:
    """Return a date as people write it."""
    names = [each.split("|") for each in calendar_words.MONTHS]
    english = names[day.month - 1][0].capitalize()
    return [
        day.isoformat(),
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day:02}.{day.month:02}.{day.year}",
        f"{day.day} {english} {day.year}",
        f"{english} {day.day}, {day.year}",
        f"{day.day}th of {english} {day.year}",
        f"{day:%A}, {day.isoformat()}",
        f"{day:%A}, {day.day} {english} {day.year}",
        *(f"{day.day}. {name} {day.year}" for name in names[day.month - 1] if name != "may"),
        *(f"{day.day} de {name} de {day.year}" for name in names[day.month - 1] if name != "may"),
    ]


@given(st.dates(date(1950, 1, 1), date(2090, 12, 31)))
def test_a_date_in_any_form_is_that_date(day: date) -> None:
    """With or without the right weekday, in five languages."""
    for form in forms(day):
        assert days(f"The gate is locked until {form}.", NOW) == (None, day.isoformat()), form


@given(
    st.text(max_size=80),
    st.sampled_from(["", "until ", "from 3 May to ", "seit ", "jusqu'au ", "\ue000 until "]),
)
def test_no_text_raises(text: str, before: str) -> None:
    """Also texts with the characters that stand for days."""
    read_period(f"{before}{text}", NOW)


TIMELESS = [
    *(
        "Anna",
        "until",
        "from",
        "the",
        "office",
        "closed",
        "bis",
        "geöffnet",
        "ab",
        "seit",
        "lives",
        "in",
        "Porto",
        "hasta",
        "até",
    ),
    *("for", "du", "au", "from now on", "until further notice", "ab sofort"),
]
WORDS = [
    *(
        "from",
        "until",
        "bis",
        "vom",
        "du",
        "au",
        "hasta",
        "até",
        "for",
        "the",
        "next",
        "three",
        "two",
        "weeks",
        "months",
    ),
    *(
        "3",
        "14",
        "December",
        "Februar",
        "mars",
        "2026",
        "2027",
        "KW",
        "50",
        "Q1",
        "week",
        "Monday",
        "viernes",
        "tomorrow",
    ),
    *(
        "and",
        "\u2013",
        "(",
        ")",
        ",",
        "in",
        "im",
        "before",
        "after",
        "end of",
        "closed",
        "will",
        "amanhã",
        "next week",
        "29",
    ),
]


@given(
    st.lists(st.sampled_from(WORDS), max_size=12), st.dates(date(1990, 1, 1), date(2080, 1, 1)), st.times()
)
def test_no_period_ends_before_it_begins(pieces: list[str], day: date, hour: time) -> None:
    """In any zone and on any day."""
    for zone in (UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("America/Los_Angeles")):
        period = read_period(" ".join(pieces), datetime.combine(day, hour, zone))
        if period is not None:
            assert period.valid_from or period.valid_to
            assert not (period.valid_from and period.valid_to) or period.valid_from < period.valid_to


@given(
    st.lists(
        st.sampled_from(TIMELESS),
        max_size=12,
    )
)
def test_a_text_without_digits_and_time_words_names_no_period(pieces: list[str]) -> None:
    """Whatever its other words are."""
    assert read_period(" ".join(pieces), NOW) is None


EAST_ASIAN = [
    *(
        "从",
        "自",
        "到",
        "至",
        "から",
        "まで",
        "起",
        "〜",
        "\uff08",
        "\uff09",
        "の",
        "年",
        "月",
        "日",
        "底",
        "末",
        "0000年",
        "2026年",
    ),
    *(
        "12月9日",
        "2月30日",
        "99月99日",
        "20日",
        "第4季度",
        "第9四半期",
        "下周",
        "来週の月曜日",
        "明天",
        "今後3週間",
        "年底",
        "休",
        "関",
    ),
]


@given(st.lists(st.sampled_from(EAST_ASIAN), max_size=10), st.dates(date(1990, 1, 1), date(2080, 1, 1)))
def test_no_east_asian_period_ends_before_it_begins(pieces: list[str], day: date) -> None:
    """Also of dates that no calendar has."""
    period = read_period("".join(pieces), datetime.combine(day, time(12), UTC))
    if period is not None:
        assert period.valid_from or period.valid_to
        assert not (period.valid_from and period.valid_to) or period.valid_from < period.valid_to


@given(
    st.text(
        alphabet=st.sampled_from("ab0123456789年月日周週曜底末起到至从からまで()\uff08\uff09〜、。"),
        max_size=30,
    )
)
def test_no_east_asian_text_raises(text: str) -> None:
    """Whatever its characters are."""
    read_period(text, NOW)


DOUBTS = [
    "Apparently, ",
    "According to the sign, ",
    "Ana thinks that ",
    "It is not true that ",
    "Ana suggested that ",
    "Every year, ",
    "At least ",
]


@pytest.mark.parametrize("doubt", DOUBTS)
def test_a_word_of_doubt_ends_every_reading(doubt: str) -> None:
    """Without it, the same sentence names a period."""
    sentence = "the yard is closed from 9 to 20 December."
    assert days(sentence, NOW) == ("2026-12-09", "2026-12-20")
    assert days(f"{doubt}{sentence}", NOW) == (None, None)


@pytest.mark.requirement("TRU-02.3")
def test_the_zone_of_the_speaker_decides_what_today_is() -> None:
    """At 23:30 in Los Angeles it is the next day in UTC; the day ends in Los Angeles."""
    told = datetime(2026, 11, 27, 23, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    period = read_period("The gate is locked until tomorrow.", told)
    assert period is not None
    assert period.valid_to == datetime(2026, 11, 29, 8, tzinfo=UTC)
    east = read_period(
        "From today the gate is locked.", datetime(2026, 11, 28, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    )
    assert east is not None
    assert east.valid_from == datetime(2026, 11, 27, 23, 30, tzinfo=UTC), "today has begun"


@pytest.mark.requirement("TRU-02.6")
@given(
    st.sampled_from(
        [
            "{} + {} Dec",
            "{} & {} Dec",
            "{}, {} Dec",
            "{} and {} Dec",
            "{}/{} Dec",
            "Dec {}, {}",
            "Dec {} + {}",
        ]
    ),
    st.integers(1, 31),
    st.integers(1, 31),
    st.sampled_from(["Closed ", "The office is closed on ", "Nobody is in on "]),
)
def test_of_joined_days_none_is_read_alone(form: str, first: int, last: int, before: str) -> None:
    """Both are, as a range of neighbours, or neither."""
    period = read_period(before + form.format(first, last), NOW)
    if period is not None:
        assert period.valid_from is not None
        assert period.valid_to is not None
        assert (period.valid_from.day, (period.valid_to - timedelta(days=1)).day) == (first, last)
