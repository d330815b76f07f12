"""Dates beside words such as "tomorrow"."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.relative_days import (
    lines_with_past,
    with_dates,
    with_new_dates,
    with_past,
    without_past,
)

NOW = datetime(2026, 11, 27, 15, tzinfo=UTC)
"""A Friday."""

DATED = [
    ("The deploy is tomorrow.", "The deploy is tomorrow (2026-11-28)."),
    ("Tomorrow's release is frozen.", "Tomorrow's (2026-11-28) release is frozen."),
    ("Ship next Monday", "Ship next Monday (2026-11-30)"),
    ("No releases this weekend.", "No releases this weekend (2026-11-28\u20132026-11-29)."),
    ("Ben is out next week", "Ben is out next week (2026-11-30\u20132026-12-06)"),
    ("Next month the price rises.", "Next month (2026-12) the price rises."),
    ("Next year we move.", "Next year (2027) we move."),
    ("We hire next quarter.", "We hire next quarter (2027 Q1)."),
    ("Frozen until Monday.", "Frozen until Monday (2026-11-30)."),
    ("Frozen for the next three weeks", "Frozen for the next three weeks (2026-11-27\u20132026-12-18)"),
    (
        "Gone: yesterday.\nBack the day after tomorrow.",
        "Gone: yesterday (2026-11-26).\nBack the day after tomorrow (2026-11-29).",
    ),
    ("Die Praxis ist morgen zu.", "Die Praxis ist morgen (2026-11-28) zu."),
    ("Morgen ist zu.", "Morgen (2026-11-28) ist zu."),
    ("La tienda abre mañana.", "La tienda abre mañana (2026-11-28)."),
    (
        "Hugo est absent demain et après-demain.",
        "Hugo est absent demain (2026-11-28) et après-demain (2026-11-29).",
    ),
    ("O Rui chega amanhã.", "O Rui chega amanhã (2026-11-28)."),
    ("Ben ships Friday next week.", "Ben ships Friday next week (2026-12-04)."),
    ("We moved two days ago.", "We moved two days ago (2026-11-25)."),
    ("Vor drei Tagen ging er.", "Vor drei Tagen (2026-11-24) ging er."),
    ("Il y a trois jours, panne.", "Il y a trois jours (2026-11-24), panne."),
    ("Dentro de dos días migramos.", "Dentro de dos días (2026-11-29) migramos."),
    ("Daqui a dois dias migramos.", "Daqui a dois dias (2026-11-29) migramos."),
    ("The release (tomorrow) is big.", "The release (tomorrow (2026-11-28)) is big."),
]

ALONE = [
    "We hire in the next quarter.",
    "Yesterday (song) is by the Beatles.",
    "The band played Yesterday again.",
    "USA Today reported it.",
    "He said \u201csee you tomorrow\u201d.",
    'He said "see you tomorrow".',
    "`git log --since yesterday` shows it.",
    "See today.py and next_week.md.",
    "See https://example.org/today for more.",
    "Each evening, check tomorrow's calendar.",
    "Retry tomorrow if the build fails.",
    "Put today's date into the header.",
    "Send invoices at the end of the month.",
    "Invoices of the current month are in the folder.",
    "The shop is open from Monday to Friday.",
    "Deploy on Fridays.",
    "Closed next Monday, 30 November.",
    "Closed on 30 November, next Monday.",
    "The last week of May was hot.",
    "The next week he was ill.",
    "Am Morgen ist zu.",
    "Hier gilt Tempo 30.",
    "Abre a las 9 de la mañana.",
    "The weekly report is due today or tomorrow every week.",
    "The deploy is tomorrow (2026-11-28).",
    "2026-11-28 (tomorrow) is the release.",
    "The release is tomorrow, i.e. 2026-11-28.",
    "The release is tomorrow \u2013 28 November.",
    "The release is on Saturday 28 November, that is tomorrow.",
    "Release: tomorrow = 2026-11-28",
    "The release is tomorrow [2026-11-28].",
    "Morgen, d.h. am 28.11., ist Release.",
    "The job runs in two days.",
    "We moved three weeks ago.",
    "Nothing here names a day.",
]


@pytest.mark.requirement("TRU-02.3")
@pytest.mark.parametrize(("text", "dated"), DATED)
def test_a_word_gets_the_date_that_it_means(text: str, dated: str) -> None:
    """Once: neither a second time nor on another day does it change."""
    assert with_dates(text, NOW) == dated
    assert with_dates(dated, NOW) == dated
    if dated != text:
        assert with_dates(dated, NOW + timedelta(days=40)) == dated


@pytest.mark.requirement("TRU-02.3")
@pytest.mark.parametrize("text", ALONE)
def test_other_words_stay_alone(text: str) -> None:
    """Quotations, code, names, habits, and words beside a date."""
    assert with_dates(text, NOW) == text


def test_the_zone_of_the_speaker_decides() -> None:
    """At 23:30 in Los Angeles, tomorrow is not the tomorrow of UTC."""
    told = datetime(2026, 11, 27, 23, 30, tzinfo=ZoneInfo("America/Los_Angeles"))
    assert with_dates("Ship tomorrow", told) == "Ship tomorrow (2026-11-28)"
    assert with_dates("Ship tomorrow", told.astimezone(UTC)) == "Ship tomorrow (2026-11-29)"


def test_a_text_that_would_be_too_long_stays_alone() -> None:
    """The bound of its memory comes first."""
    assert with_dates("Ship tomorrow", NOW, max_chars=20) == "Ship tomorrow"


@given(
    st.lists(
        st.sampled_from(
            [
                "tomorrow",
                "next week",
                "until Friday",
                "(",
                ")",
                "2026-11-28",
                "today's",
                ".",
                "\n",
                "every",
                "Ben",
                "demain",
            ]
        ),
        max_size=10,
    ),
    st.integers(0, 400),
)
def test_a_second_call_changes_nothing(pieces: list[str], days: int) -> None:
    """And nothing is taken from the text."""
    text, said_at = " ".join(pieces), NOW + timedelta(days=days)
    dated = with_dates(text, said_at)
    assert with_dates(dated, said_at) == dated
    assert len(dated) >= len(text)


@given(st.text(max_size=60), st.sampled_from(["", "tomorrow ", "next week "]))
def test_no_text_raises(text: str, before: str) -> None:
    """Whatever its characters are."""
    with_dates(f"{before}{text}", NOW)


@pytest.mark.requirement("TRU-02.4")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Frozen until tomorrow (2026-11-28).", "Frozen until tomorrow (2026-11-28, past)."),
        ("Tomorrow's (2026-11-28) demo", "Tomorrow's (2026-11-28, past) demo"),
        (
            "No deploys this weekend (2026-11-28\u20132026-11-29).",
            "No deploys this weekend (2026-11-28\u20132026-11-29, past).",
        ),
        ("Ben is out next month (2026-11).", "Ben is out next month (2026-11, past)."),
        ("Fermé demain (2026-11-28) soir", "Fermé demain (2026-11-28, past) soir"),
        ("Nächsten Montag (2026-11-30) zu", "Nächsten Montag (2026-11-30, past) zu"),
    ],
)
def test_what_is_over_says_so(text: str, told: str) -> None:
    """Once, and not before the day is over; words that looked back stay as they are."""
    assert with_past(text, date(2026, 11, 28)) == text
    assert with_past(text, date(2027, 1, 10)) == told
    assert with_past(told, date(2027, 1, 10)) == told
    assert without_past(told) == text
    assert with_dates(told, NOW + timedelta(days=90)) == told


@pytest.mark.parametrize(
    "text",
    [
        "It broke yesterday (2026-11-26).",
        "Version 2 (2025-01-01) is out",
        "Back next year (2030)",
        "We moved two days ago (2026-11-25).",
        "nothing",
    ],
)
def test_what_says_no_more_than_a_date_has_no_mark(text: str) -> None:
    """Words that looked back, dates of other words, and days to come."""
    assert lines_with_past(f"{text}\n- {text}", date(2027, 1, 10)) == f"{text}\n- {text}"


@pytest.mark.requirement("TRU-02.5")
def test_an_edit_gets_dates_unless_old_words_lack_theirs() -> None:
    """Nobody knows when those were said."""
    assert with_new_dates("Back tomorrow", "Back soon", NOW) == "Back tomorrow (2026-11-28)"
    assert with_new_dates("Back tomorrow!", "Back tomorrow", NOW) == "Back tomorrow!"
    old = "Back tomorrow (2026-11-20)"
    assert with_new_dates(f"{old} or today", old, NOW) == f"{old} or today (2026-11-27)"
