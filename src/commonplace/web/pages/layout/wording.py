"""Formats of times, numbers and money on the dashboard."""

from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from commonplace.core.clock import format_timestamp, utc_now
from commonplace.core.text import plural

SECOND_MS: Final = 1000
MINUTE_S: Final = 60
HOUR_S: Final = 60 * MINUTE_S
DAY_S: Final = 24 * HOUR_S
DAYS_IN_WORDS: Final = 14
"""The largest age that is shown as an age; older moments are shown as a date."""

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
    span = _span(seconds)
    return f"{span} ago" if span else day(moment)


def until(moment: datetime, at: datetime) -> str:
    """Return the time until a moment in the largest unit that fits; beyond two weeks, the date."""
    seconds = (moment - at).total_seconds()
    if seconds <= 0:
        return "now"
    span = _span(seconds)
    return f"in {span}" if span else day(moment)


def _span(seconds: float) -> str:
    """Return a span in the largest unit that fits; an empty text beyond two weeks."""
    for unit, length_s, longest_s in (("s", 1, MINUTE_S), ("min", MINUTE_S, HOUR_S), ("h", HOUR_S, DAY_S)):
        if seconds < longest_s:
            return f"{seconds // length_s:.0f} {unit}"
    return plural(int(seconds // DAY_S), "day") if seconds < DAYS_IN_WORDS * DAY_S else ""


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
    if (
        milliseconds < MINUTE_S * SECOND_MS - SECOND_MS / 20
    ):  # A duration that rounds to 60.0 s is shown as a minute.
        return f"{milliseconds / SECOND_MS:.1f} s"
    seconds = round(milliseconds / SECOND_MS)
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S} min {seconds % MINUTE_S} s"
    return f"{seconds // HOUR_S} h {seconds % HOUR_S // MINUTE_S} min"


def sentence(text: str) -> str:
    """Return the text of an error or a reason as a sentence: with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}" if text else ""


def commands(text: str) -> Markup:
    """Return text as HTML, with what stands between backticks as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


EVENTS: Final = {
    "entity_merge": "entity merged",
    "entity_unmerge": "entity merge undone",
    "episode_dead_letter": "episode became a dead letter",
    "episode_evicted": "episode deleted to free space",
    "episode_requeued": "episode queued again",
    "fact_fading": "fact faded",
    "fact_retracted": "fact forgotten",
    "fact_superseded": "fact replaced",
    "rule_fading": "rule faded",
    "rule_harmful": "rule marked harmful",
    "rule_helpful": "rule marked helpful",
    "rule_inverted": "rule turned into a warning",
}
"""The names of the audit log that are not words of the pages."""


RELATIONS: Final = {"derived_from": "learned from", "supersedes": "replaces"}


def event(name: str) -> str:
    """Return an event of the audit log in words."""
    return EVENTS.get(name) or name.replace("_", " ")


def relation(name: str) -> str:
    """Return the relation between two nodes of the graph as a verb."""
    return RELATIONS.get(name) or name.replace("_", " ")
