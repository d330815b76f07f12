"""Reading quantities out of tokens: numbers with their units, hedges, limits, ranges and denials.

One pattern describes a quantity. It reads a text whose tokens are each followed by one space.

Source: R-OPS-5.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from commonplace.judge import units
from commonplace.judge.lexicon import HEDGES, LABELS, LOWER_BOUNDS, UPPER_BOUNDS
from commonplace.judge.quantities import Bound, Dimension, Quantity
from commonplace.judge.units import DURATIONS

_BOUNDS: Final = (
    dict.fromkeys((*LOWER_BOUNDS, "orabove", "plus"), Bound.LOWER)
    | dict.fromkeys((*UPPER_BOUNDS, "orbelow"), Bound.UPPER)
)  # fmt: skip
_NAMED: Final = {
    word: (kind, amount)
    for kind, amounts in (
        (Dimension.DURATION, DURATIONS | units.PERIODS),
        (Dimension.CLOCK, units.TIMES_OF_DAY),
        (Dimension.WEEKDAY, units.WEEKDAYS),
        (Dimension.NUMBER, units.MULTIPLES | {"once": 1.0}),
        (Dimension.ORDINAL, units.ORDINALS),
    )
    for word, amount in amounts.items()
}
"""Words that are amounts without a number; units of time are amounts behind "every" or "a"."""

_UNITS: Final = {
    word: (kind, factor)
    for kind, factors in (
        (Dimension.SIZE, units.SIZES),
        (Dimension.PERCENT, dict.fromkeys(units.PERCENT, 1.0)),
        (Dimension.TEMPERATURE, dict.fromkeys(units.DEGREES, 1.0)),
        (Dimension.ORDINAL, dict.fromkeys(units.ORDINAL_ENDINGS, 1.0)),
    )
    for word, factor in factors.items()
}
_LONGEST_NUMBER: Final = 15
"""Longer runs of digits are identifiers, not amounts."""

_ADDRESS_DOTS: Final = 3
_DAY_MIN: Final = 1_440
_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_TIME: Final = re.compile(r"(?P<hours>[01]?[0-9]|2[0-4])(?::(?P<minutes>[0-5][0-9])(?::[0-5][0-9])?)?")
_SECONDS: Final = re.compile(r"(\S+) ([^\W\d]+)")


def _any(words: Iterable[str]) -> str:
    """Return a pattern for one of some words."""
    return f"(?:{'|'.join(map(re.escape, words))}) "


def _durations() -> str:
    """Return a pattern for a unit of time and smaller ones behind it: the "m 30 s" of "1m30s"."""
    patterns: list[str] = []
    smaller = ""
    for _, names in groupby(sorted(DURATIONS, key=DURATIONS.__getitem__), DURATIONS.__getitem__):
        unit = _any(names)
        patterns.append(unit + smaller)
        smaller = rf"(?:(?:and )?[0-9]{{1,{_LONGEST_NUMBER}}} {unit})?{smaller}"
    return "|".join(patterns)


_CARDINAL: Final = _any(units.CARDINALS)
_NUMBER: Final = rf"(?:[0-9]\S* |{_CARDINAL}(?!\Z))"
_UNIT: Final = rf"(?:{_durations()}|{_any(units.HALVES)}|(?:{_any(_UNITS)})*)"
_TO_SECOND: Final = (
    rf"(?P<range>(?:- |to |(?(between)and |(?!)))(?P<second>{_NUMBER})(?P<second_unit>{_UNIT}))?"
)
_VALUES: Final = (
    r"(?:version (?:v )?|v )(?P<version>[0-9]\S* )",
    rf"(?:every |each )?(?P<named>{_any(_NAMED.keys() - (DURATIONS.keys() - units.ORDINALS) - {'once'})})",
    rf"(?P<once>once )(?=\Z|{_any(units.COUNTED_ONCE)})",
    rf"(?:every |each |an? )+(?P<period>{_any(word for word in DURATIONS if len(word) > 1)})",
    rf"(?P<between>between )?(?P<first>{_NUMBER})(?P<first_unit>{_UNIT}){_TO_SECOND}",
)
_QUANTITY: Final = re.compile(
    rf"(?P<denied>(?:not|insteadof) (?:an? (?=[0-9]))?)?"
    rf"(?:http (?=[0-9]))?(?:(?P<label>{_any(LABELS - {'version'})})(?=[0-9]|v ))?"
    rf"(?P<limits>(?:{_any(HEDGES | LOWER_BOUNDS | UPPER_BOUNDS)}|every (?={_NUMBER})){{0,3}})"
    rf"(?:{'|'.join(_VALUES)})(?P<behind>{_any(('orabove', 'plus', 'orbelow'))})?"
)


def extract(tokens: Sequence[str]) -> list[str | Quantity]:
    """Return the tokens in order, with each quantity replacing the tokens that it was read from.

    Takes time linear in the number of tokens. Hedges, limits, articles and unit words become part of their quantity.
    """
    text = "".join(f"{token} " for token in tokens)
    parts: list[str | Quantity] = []
    at = 0
    while at < len(text):
        match = _QUANTITY.match(text, at)
        if match is None:
            at, start = text.index(" ", at) + 1, at
            parts.append(text[start : at - 1])
        else:
            quantity, end = _read(match)
            parts.append(quantity)
            at = end
    return parts


def _read(match: re.Match[str]) -> tuple[Quantity, int]:
    """Return a quantity with the position at which it ends."""
    quantity, end = _value(match), match.end()
    words = [*match["limits"].split(), (match["behind"] or "").strip()]
    if match["range"] and quantity.low == quantity.high:
        # "From 30s to 10s" has two amounts.
        end = match.start("range")
    bound = next((_BOUNDS[word] for word in reversed(words) if word in _BOUNDS), Bound.NONE)
    is_amount = not quantity.name
    return replace(
        quantity,
        low=-math.inf if is_amount and bound is Bound.UPPER else quantity.low,
        high=math.inf if is_amount and bound is Bound.LOWER else quantity.high,
        bound=bound if is_amount else Bound.NONE,
        hedged=not HEDGES.isdisjoint(words),
        denied=match["denied"] is not None,
        label="version" if match["version"] else (match["label"] or "").strip(),
    ), end


def _value(match: re.Match[str]) -> Quantity:
    word = match["named"] or match["once"] or match["period"]
    if word:
        kind, amount = _NAMED[word.strip()]
        return Quantity(kind=kind, low=amount, high=amount)
    if match["version"]:
        return _plain(Dimension.VERSION, match["version"].strip())
    kind = Dimension.PORT if match["label"] == "port " else Dimension.NUMBER
    if match["range"]:
        low = _amount(match["first"], match["first_unit"] or match["second_unit"], kind)
        high = _amount(match["second"], match["second_unit"], kind)
        if low.kind is high.kind and not high.name and low.low < high.high:
            return replace(high, low=low.low)
    return _amount(match["first"], match["first_unit"], kind)


def _amount(number: str, unit: str, kind: Dimension) -> Quantity:
    """Read a number with its unit; ``kind`` is the kind of a number that has none."""
    cardinal = units.CARDINALS.get(number.strip())
    digits = number.strip() if cardinal is None else f"{cardinal:g}"
    word = unit.partition(" ")[0]
    if ":" in digits or word in units.HALVES:
        return _clock(digits, units.HALVES.get(word))
    plain = _plain(kind, digits)
    factor = 1.0
    if plain.name:
        return plain
    if word in DURATIONS:
        seconds = sum(
            float(count) * DURATIONS[name] for count, name in _SECONDS.findall(f"{plain.low} {unit}")
        )
        return Quantity(kind=Dimension.DURATION, low=seconds, high=seconds)
    if word in _UNITS:
        kind, factor = _UNITS[word]
    return Quantity(kind=kind, low=plain.low * factor, high=plain.low * factor)


def _clock(digits: str, half: int | None) -> Quantity:
    """Read a time of day, given the hours before its half of the day."""
    time = _TIME.fullmatch(digits)
    if time is None:
        return Quantity(kind=Dimension.ADDRESS, name=digits)
    minutes = float(int(time["hours"]) * 60 + int(time["minutes"] or 0)) % _DAY_MIN
    if half is not None:
        minutes = minutes % (_DAY_MIN / 2) + half * 60
    return Quantity(kind=Dimension.CLOCK, low=minutes, high=minutes)


def _plain(kind: Dimension, digits: str) -> Quantity:
    """Read digits as an amount if they form one: "1,500" and "1.5" do; a date, "1.1.1.1" and 30 digits do not."""
    plain = digits.replace(",", "" if _THOUSANDS.fullmatch(digits) else ".")
    is_dotted = plain.count(".") > 1 or (kind is Dimension.VERSION and "." in plain)
    if is_dotted and digits.count(".") != _ADDRESS_DOTS:
        return Quantity(kind=Dimension.VERSION, name=digits)
    if is_dotted or len(digits) > _LONGEST_NUMBER or "-" in digits or ":" in digits:
        return Quantity(kind=Dimension.ADDRESS, name=digits)
    return Quantity(kind=kind, low=float(plain), high=float(plain))
