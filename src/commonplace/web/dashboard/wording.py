"""Formats of times, numbers and money on the dashboard."""

from datetime import UTC, datetime
from typing import Final

from commonplace.core.clock import format_timestamp, utc_now
from commonplace.core.text import plural

SECOND_MS: Final = 1000
MINUTE_S: Final = 60
HOUR_S: Final = 60 * MINUTE_S
DAY_S: Final = 24 * HOUR_S
DAYS_IN_WORDS: Final = 14
"""The largest age that is not written as a date."""

JUST_NOW_S: Final = 10
CENT: Final = 0.01


def now() -> datetime:
    """Return the present."""
    return utc_now()


def ago(moment: datetime, at: datetime) -> str:
    """Return the age of a moment in the largest unit that fits; beyond two weeks, the date."""
    seconds = (at - moment).total_seconds()
    if seconds < JUST_NOW_S:
        return "just now"
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s ago"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S:.0f} min ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S:.0f} h ago"
    if seconds < DAYS_IN_WORDS * DAY_S:
        return plural(int(seconds // DAY_S), "day") + " ago"
    return day(moment)


def until(moment: datetime, at: datetime) -> str:
    """Return the time until a moment in the largest unit that fits; beyond two weeks, the date."""
    seconds = (moment - at).total_seconds()
    if seconds <= 0:
        return "now"
    if seconds < MINUTE_S:
        return f"in {seconds:.0f} s"
    if seconds < HOUR_S:
        return f"in {seconds // MINUTE_S:.0f} min"
    if seconds < DAY_S:
        return f"in {seconds // HOUR_S:.0f} h"
    if seconds < DAYS_IN_WORDS * DAY_S:
        return f"in {plural(int(seconds // DAY_S), 'day')}"
    return day(moment)


def day(moment: datetime) -> str:
    """Return the date of a moment, in UTC."""
    return f"{moment.astimezone(UTC):%-d %b %Y}"


def stamp(moment: datetime) -> str:
    """Return a moment to the second, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def iso(moment: datetime) -> str:
    """Return a moment as ISO 8601."""
    return format_timestamp(moment, precision="seconds")


def number(value: float) -> str:
    """Return a number with separators of thousands."""
    return f"{value:,}"


def decimal(value: float) -> str:
    """Return a confidence with one or two decimals (R-OPS-4)."""
    text = f"{value:.2f}"
    return text.removesuffix("0")


def percent(value: float) -> str:
    """Return a share as a whole percentage."""
    return f"{value * 100:.0f} %"


def money(value: float) -> str:
    """Return US dollars, with four decimals below a cent."""
    return f"${value:.4f}" if 0 < value < CENT else f"${value:,.2f}"


def duration(milliseconds: float) -> str:
    """Return a duration in its two largest units."""
    if milliseconds < SECOND_MS:
        return f"{milliseconds:.0f} ms"
    if milliseconds < MINUTE_S * SECOND_MS - SECOND_MS / 20:  # what rounds to 60.0 s is a minute
        return f"{milliseconds / SECOND_MS:.1f} s"
    seconds = round(milliseconds / SECOND_MS)
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min {seconds % MINUTE_S} s"
    return f"{seconds // HOUR_S} h {seconds % HOUR_S // MINUTE_S} min"
