"""Quantities read out of observations, and how they compare."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.judge.quantities import Agreement, Bound, Dimension, Quantity, compare
from commonplace.judge.quantity_reading import extract
from commonplace.judge.words import fold, tokenise

pytestmark = pytest.mark.requirement("R-OPS-5")


def read(text: str) -> list[Quantity]:
    """Return the quantities of a text."""
    return [part for part in extract(tokenise(fold(text))) if isinstance(part, Quantity)]


def the(text: str) -> Quantity:
    """Return the only quantity of a text."""
    (quantity,) = read(text)
    return quantity


@pytest.mark.parametrize(
    ("text", "kind", "low", "high"),
    [
        ("60s", Dimension.DURATION, 60, 60),
        ("60 seconds", Dimension.DURATION, 60, 60),
        ("one minute", Dimension.DURATION, 60, 60),
        ("a minute", Dimension.DURATION, 60, 60),
        ("1m", Dimension.DURATION, 60, 60),
        ("1m30s", Dimension.DURATION, 90, 90),
        ("2 hours and 5 minutes", Dimension.DURATION, 7500, 7500),
        ("half an hour", Dimension.DURATION, 1800, 1800),
        ("a quarter of an hour", Dimension.DURATION, 900, 900),
        ("every quarter of an hour", Dimension.DURATION, 900, 900),
        ("500ms", Dimension.DURATION, 0.5, 0.5),
        ("60-90s", Dimension.DURATION, 60, 90),
        ("20 to 30 minutes", Dimension.DURATION, 1200, 1800),
        ("between 2 and 3 hours", Dimension.DURATION, 7200, 10800),
        ("weekly", Dimension.DURATION, 604800, 604800),
        ("every night", Dimension.DURATION, 86400, 86400),
        ("a second attempt", Dimension.ORDINAL, 2, 2),
        ("3 to 5 pm", Dimension.CLOCK, 900, 1020),
        ("every week", Dimension.DURATION, 604800, 604800),
        ("each week", Dimension.DURATION, 604800, 604800),
        ("the last attempt", Dimension.ORDINAL, -1, -1),
        ("once a day", Dimension.DURATION, 86400, 86400),
        ("every 7 days", Dimension.DURATION, 604800, 604800),
        ("1,5 GB", Dimension.SIZE, 1.5 * 1024**3, 1.5 * 1024**3),
        ("1536 MiB", Dimension.SIZE, 1.5 * 1024**3, 1.5 * 1024**3),
        ("85%", Dimension.PERCENT, 85, 85),
        ("85 percent", Dimension.PERCENT, 85, 85),
        ("70 °C", Dimension.TEMPERATURE, 70, 70),
        ("3 am", Dimension.CLOCK, 180, 180),
        ("03:00", Dimension.CLOCK, 180, 180),
        ("11:30 pm", Dimension.CLOCK, 1410, 1410),
        ("12 am", Dimension.CLOCK, 0, 0),
        ("noon", Dimension.CLOCK, 720, 720),
        ("Sundays", Dimension.WEEKDAY, 6, 6),
        ("sonntags", Dimension.WEEKDAY, 6, 6),
        ("los miércoles", Dimension.WEEKDAY, 2, 2),
        ("le vendredi", Dimension.WEEKDAY, 4, 4),
        ("wöchentlich", Dimension.DURATION, 604_800, 604_800),
        ("copia diaria", Dimension.DURATION, 86_400, 86_400),
        ("rapport mensuel", Dimension.DURATION, 2_628_000, 2_628_000),
        ("mitternacht", Dimension.CLOCK, 0, 0),
        ("à minuit", Dimension.CLOCK, 0, 0),
        ("port 8080", Dimension.PORT, 8080, 8080),
        ("3000/tcp", Dimension.PORT, 3000, 3000),
        ("1,500 files", Dimension.NUMBER, 1500, 1500),
        ("the second attempt", Dimension.ORDINAL, 2, 2),
        ("2nd attempt", Dimension.ORDINAL, 2, 2),
        ("retry twice", Dimension.NUMBER, 2, 2),
        ("retry once", Dimension.NUMBER, 1, 1),
        ("twice a year", Dimension.DURATION, 15768000, 15768000),
        ("three quarters of an hour", Dimension.DURATION, 2700, 2700),
    ],
)
def test_reads_an_amount_in_base_units(text: str, kind: Dimension, low: float, high: float) -> None:
    """A number with its unit becomes an interval in the base unit of its kind."""
    quantity = the(text)
    assert (quantity.kind, quantity.low, quantity.high) == (kind, low, high)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("at least 4 GB", Bound.LOWER),
        ("more than 5s", Bound.LOWER),
        ("15 or newer", Bound.LOWER),
        ("> 80%", Bound.LOWER),
        ("up to 30s", Bound.UPPER),
        ("within 30s", Bound.UPPER),
        ("no more than 3", Bound.UPPER),
        ("60s", Bound.NONE),
    ],
)
def test_reads_a_limit(text: str, bound: Bound) -> None:
    """Words around a number make it a limit."""
    assert the(text).bound is bound


@pytest.mark.parametrize("text", ["version 2.4.1", "v2.4.1", "10.0.0.1", "2026-01-31"])
def test_digits_that_only_identify_have_a_name(text: str) -> None:
    """A version, an address and a date are compared as they stand."""
    assert the(text).name


@pytest.mark.parametrize("text", ["once the lock is released", "takes a long time", "ipv6", "one", "a b c"])
def test_words_that_look_like_amounts_are_left_alone(text: str) -> None:
    """Without a unit or a counting place, "once", "a" and "one" are words."""
    assert read(text) == []


def test_reads_a_daily_crontab_entry() -> None:
    """Minute and hour of a crontab entry are a period of a day and a time of day."""
    assert read("5 2 * * *") == read("daily at 2:05")


def test_marks_a_denied_number() -> None:
    """In "302, not 200" the second number is denied."""
    assert [(one.low, one.denied) for one in read("Returns HTTP 302 when healthy, not 200")] == [
        (302.0, False),
        (200.0, True),
    ]


@pytest.mark.parametrize(
    ("one", "other", "agreement"),
    [
        ("60s", "one minute", Agreement.AGREE),
        ("60s", "90s", Agreement.DIFFER),
        ("about 60s", "65s", Agreement.AGREE),
        ("60s", "65s", Agreement.DIFFER),
        ("about 60s", "3 minutes", Agreement.DIFFER),
        ("60-90s", "75s", Agreement.AGREE),
        ("60-90s", "5 minutes", Agreement.DIFFER),
        ("up to 30s", "20s", Agreement.AGREE),
        ("up to 30s", "45s", Agreement.DIFFER),
        ("at least 4 GB", "at least 8 GB", Agreement.DIFFER),
        ("at least 4 GB", "a minimum of 4096 MB", Agreement.AGREE),
        ("under 1 minute", "more than 10 minutes", Agreement.DIFFER),
        ("at least 2 GB", "at most 4 GB", Agreement.APART),
        ("around 3am", "3:15 am", Agreement.AGREE),
        ("3am", "5pm", Agreement.DIFFER),
        ("port 8080", "8080", Agreement.AGREE),
        ("v2.4", "version 2.5", Agreement.DIFFER),
        ("version 16", "16", Agreement.AGREE),
        ("60s", "60%", Agreement.APART),
        ("1.1.1.1", "9.9.9.9", Agreement.DIFFER),
        ("1.5 TB", "1500 GB", Agreement.AGREE),
        ("64 MB", "64000 KB", Agreement.AGREE),
        ("100 GB", "102 GB", Agreement.DIFFER),
        ("100 Mbit/s", "12.5 MB/s", Agreement.AGREE),
        ("100 Mbit/s", "1 Gbit/s", Agreement.DIFFER),
        ("31.12.2026", "2026-12-31", Agreement.AGREE),
        ("*/15 * * * *", "every quarter of an hour", Agreement.AGREE),
    ],
)
def test_compares_what_is_comparable(one: str, other: str, agreement: Agreement) -> None:
    """Quantities of one kind agree where their intervals meet, in either order."""
    assert compare(the(one), the(other)) is agreement
    assert compare(the(other), the(one)) is agreement


@given(seconds=st.integers(min_value=1, max_value=100_000))
def test_units_of_one_amount_agree(seconds: int) -> None:
    """An amount agrees with itself in minutes, and differs from its double."""
    assert compare(the(f"{seconds * 60}s"), the(f"{seconds} minutes")) is Agreement.AGREE
    assert compare(the(f"{seconds}s"), the(f"{2 * seconds} seconds")) is Agreement.DIFFER


@given(text=st.text(alphabet="0123456789.,:-%sm aver/°\n", max_size=80))
def test_any_digits_can_be_read(text: str) -> None:
    """Reading never raises and loses no order: what is not a quantity stays a token."""
    parts = extract(tokenise(fold(text)))
    assert all(isinstance(part, (str, Quantity)) for part in parts)
    assert len(parts) <= len(tokenise(fold(text)))


@pytest.mark.parametrize("text", ["0 times a day", "zero times a day", f"{'9' * 400} times a day"])
def test_senseless_amounts_are_read_all_the_same(text: str) -> None:
    """No amount that an agent writes raises."""
    assert extract(tokenise(fold(text)))
