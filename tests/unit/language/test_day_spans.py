"""Words of a text that name days."""

from datetime import date, timedelta

import pytest

from commonplace.language.calendar_days import add_units, easter, iso_week, months_from
from commonplace.language.day_meanings import SpanKind
from commonplace.language.day_spans import find_day_spans

TODAY = date(2026, 11, 25)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "kind", "first", "last"),
    [
        ("closed on 2026-12-11 again", SpanKind.DAY, "2026-12-11", "2026-12-11"),
        ("closed on 11.12.2026", SpanKind.DAY, "2026-12-11", "2026-12-11"),
        ("closed on 25/12/2026", SpanKind.DAY, "2026-12-25", "2026-12-25"),
        ("in KW 53/2026", SpanKind.STRETCH, "2026-12-28", "2027-01-03"),
        ("in Q1 2027", SpanKind.STRETCH, "2027-01-01", "2027-03-31"),
        ("no segundo semestre de 2027", SpanKind.STRETCH, "2027-07-01", "2027-12-31"),
        ("the week after next", SpanKind.STRETCH, "2026-12-07", "2026-12-13"),
        ("tomorrow", SpanKind.NEAR, "2026-11-26", "2026-11-26"),
        ("kommenden Freitag", SpanKind.NEAR, "2026-11-27", "2026-11-27"),
        ("Friday next week", SpanKind.NEAR, "2026-12-04", "2026-12-04"),
        ("the end of next month", SpanKind.END, "2026-12-31", "2026-12-31"),
        ("next week (2027-01-04\u20132027-01-10)", SpanKind.STRETCH, "2027-01-04", "2027-01-10"),
        ("tomorrow (2026-12-24)", SpanKind.NEAR, "2026-12-24", "2026-12-24"),
    ],
)
def test_words_name_days(text: str, kind: SpanKind, first: str, last: str) -> None:
    """The date in brackets counts, whenever it is read."""
    (span,) = find_day_spans(text, TODAY)
    assert span.kind is kind
    assert span.options == ((date.fromisoformat(first), date.fromisoformat(last)),)


@pytest.mark.parametrize(
    "text",
    [
        "version 2026.11",
        "cabinet 12.05",
        "call 061 555 20 26",
        "it may rain",
        "file_tomorrow.py",
        "1250 francs",
    ],
)
def test_other_numbers_and_words_name_none(text: str) -> None:
    """Versions, numbers and code."""
    assert find_day_spans(text, TODAY) == []


@pytest.mark.parametrize(
    "text", ["31.02.2027", "2026-13-45", "03/04/2027", "mid-March", "KW 60", "Friday the 13th"]
)
def test_days_that_nobody_could_tell_are_vague(text: str) -> None:
    """So that no reader skips them."""
    assert [span.kind for span in find_day_spans(text, TODAY)] == [SpanKind.VAGUE]


def test_days_without_a_year_may_be_of_several() -> None:
    """In order."""
    (span,) = find_day_spans("3 March", TODAY)
    assert [first.year for first, _ in span.options] == [2025, 2026, 2027]
    assert not span.has_year


@pytest.mark.parametrize(
    ("year", "day"), [(2024, "2024-03-31"), (2025, "2025-04-20"), (2027, "2027-03-28"), (2038, "2038-04-25")]
)
def test_easter(year: int, day: str) -> None:
    """As in the tables."""
    assert easter(year) == date.fromisoformat(day)


def test_lengths_end_on_real_days() -> None:
    """A month after 31 January is the last day of February."""
    assert months_from(date(2027, 1, 31), 1) == date(2027, 2, 28)
    assert add_units(date(2028, 2, 29), "year", 1) == date(2029, 2, 28)
    assert add_units(TODAY, "fortnight", 1) == TODAY + timedelta(days=14)
    assert iso_week(2025, 53) is None
