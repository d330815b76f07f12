"""Reading quantities out of tokens: numbers with their units, hedges, limits, ranges and denials.

Source: R-OPS-5.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from commonplace.operational.judge import units
from commonplace.operational.judge.lexicon import HEDGES, LABELS, LOWER_BOUNDS, UPPER_BOUNDS
from commonplace.operational.judge.quantities import Bound, Kind, Quantity

_DAY_MIN: Final = 1_440
_LONGEST_NUMBER: Final = 15
"""Longer runs of digits are identifiers, not amounts."""

_HALF_DAY_H: Final = 12
_ADDRESS_PARTS: Final = 4
_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_TIME: Final = re.compile(r"(?P<hours>[01]?[0-9]|2[0-4]):(?P<minutes>[0-5][0-9])(?::[0-5][0-9])?")
_PLAIN_UNITS: Final = (
    (units.PERCENT, Kind.PERCENT),
    (units.DEGREES, Kind.TEMPERATURE),
    (units.ORDINAL_ENDINGS, Kind.ORDINAL),
)
_NAMED: Final = (
    (units.PERIODS, Kind.DURATION),
    (units.TIMES_OF_DAY, Kind.CLOCK),
    (units.WEEKDAYS, Kind.WEEKDAY),
    (units.MULTIPLES, Kind.NUMBER),
    (units.ORDINALS, Kind.ORDINAL),
)
_BEHIND: Final = {"orabove": Bound.LOWER, "plus": Bound.LOWER, "orbelow": Bound.UPPER}
_DIGITS: Final = re.compile(r"[0-9]+(?:[.,:-][0-9]+)*")


def extract(tokens: Sequence[str]) -> list[str | Quantity]:
    """Return the tokens in order, with each quantity replacing the tokens that it was read from.

    Takes time linear in the number of tokens. Hedges, limits, articles and unit words become part of their quantity.
    """
    return list(_Reader(tokens).parts())


class _Reader:
    """A cursor over tokens; every method that reads advances it."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def parts(self) -> Iterator[str | Quantity]:
        while self.at < len(self.tokens):
            start = self.at
            quantity = self._quantity()
            if quantity is not None:
                yield replace(quantity, text=self._text(start))
                continue
            self.at = start + 1
            yield self.tokens[start]

    def _peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def _text(self, start: int) -> str:
        words = " ".join(self.tokens[start : self.at])
        return re.sub(r"(?<=[0-9]) (?=%|[a-zµ]{1,2}\b)|(?<=[0-9a-z]) (?=-)|(?<=-) ", "", words)

    def _quantity(self) -> Quantity | None:
        denied = self._denied()
        self.at += self._peek() == "http" and _is_digits(self._peek(1))
        label = ""
        if self._peek() in LABELS and (_is_digits(self._peek(1)) or self._peek(1) == "v"):
            label = self._peek()
            self.at += 1
        hedged, bound = self._hedge_and_bound()
        quantity = self._value(label)
        if quantity is None:
            return None
        if self._peek() in _BEHIND:
            bound = _BEHIND[self._peek()]
            self.at += 1
        hedged |= quantity.hedged
        return _bounded(replace(quantity, denied=denied, label=label, hedged=hedged), bound)

    def _denied(self) -> bool:
        if self._peek() not in {"not", "insteadof"}:
            return False
        article = self._peek(1) in {"a", "an"} and _is_digits(self._peek(2))
        denied = article or _starts_value(self._peek(1), self._peek(2))
        self.at += denied + article
        return denied

    def _hedge_and_bound(self) -> tuple[bool, Bound]:
        hedged, bound = False, Bound.NONE
        for _ in range(3):
            word = self._peek()
            if word in HEDGES:
                hedged = True
            elif word in LOWER_BOUNDS:
                bound = Bound.LOWER
            elif word in UPPER_BOUNDS:
                bound = Bound.UPPER
            elif word != "every" or not _is_number(self._peek(1)):
                break
            self.at += 1
        return hedged, bound

    def _value(self, label: str) -> Quantity | None:
        word = self._peek()
        if label == "version" or (word == "v" and _is_digits(self._peek(1))):
            return self._version()
        for table, kind in _NAMED:
            if word in table:
                self.at += 1
                return Quantity(kind=kind, low=table[word], high=table[word])
        if word == "once" and (not self._peek(1) or self._peek(1) in units.COUNTED_ONCE):
            self.at += 1
            return Quantity(kind=Kind.NUMBER, low=1.0, high=1.0)
        if word in {"every", "each"}:
            self.at += 1
            return self._article() or self._unit_quantity()
        return self._article() or self._range(label)

    def _version(self) -> Quantity | None:
        self.at += self._peek() == "v"
        if not _is_digits(self._peek()):
            return None
        self.at += 1
        return _name_or_number(Kind.VERSION, self.tokens[self.at - 1])

    def _article(self) -> Quantity | None:
        """Read "a minute"."""
        unit = self._peek(1)
        if self._peek() not in {"a", "an"} or unit not in units.DURATIONS or len(unit) == 1:
            return None
        self.at += 2
        return Quantity(kind=Kind.DURATION, low=units.DURATIONS[unit], high=units.DURATIONS[unit])

    def _unit_quantity(self) -> Quantity | None:
        """Read the unit of "every minute", "every night" or "every Monday"."""
        word = self._peek()
        seconds = units.DAY_S if word == "night" else units.DURATIONS.get(word) if len(word) > 1 else None
        if seconds is None and word not in units.WEEKDAYS:
            return None
        self.at += 1
        if seconds is None:
            return Quantity(kind=Kind.WEEKDAY, low=units.WEEKDAYS[word], high=units.WEEKDAYS[word])
        return Quantity(kind=Kind.DURATION, low=seconds, high=seconds)

    def _range(self, label: str) -> Quantity | None:
        between = self._peek() == "between" and _starts_value(self._peek(1), "")
        self.at += between
        first = self._single(label)
        if first is None:
            return None
        joined = self._peek() == "-" or (self._peek() in {"to", "and"} and (between or self._peek() == "to"))
        if not joined or first.name or not _is_number(self._peek(1)):
            return first
        start = self.at
        self.at += 1
        digits = self._peek()
        second = self._single(label)
        low = _lower_end(first, second, digits) if second is not None else math.inf
        if second is None or second.high < low:
            self.at = start
            return first
        return replace(second, low=low, hedged=first.hedged or second.hedged)

    def _single(self, label: str) -> Quantity | None:
        token = self._peek()
        if not _is_number(token):
            return None
        if token in units.CARDINALS and not self._peek(1):
            return None
        self.at += 1
        if ":" in token:
            return self._clock(token)
        amount = units.CARDINALS.get(token)
        if amount is None:
            named = _name_or_number(Kind.NUMBER, token)
            if named.name:
                return named
            amount = named.low
        return self._with_unit(amount, label)

    def _with_unit(self, amount: float, label: str) -> Quantity:
        unit = self._peek()
        if unit in units.DURATIONS:
            return self._duration(amount)
        if unit in units.HALVES and 1 <= amount <= _HALF_DAY_H:
            self.at += 1
            minutes = (amount % _HALF_DAY_H + units.HALVES[unit]) * 60
            return Quantity(kind=Kind.CLOCK, low=minutes, high=minutes)
        if unit in units.SIZES:
            self.at += 1
            return Quantity(kind=Kind.SIZE, low=amount * units.SIZES[unit], high=amount * units.SIZES[unit])
        kind = Kind.PORT if label == "port" else Kind.NUMBER
        for written, unit_kind in _PLAIN_UNITS:
            while self._peek() in written:
                kind = unit_kind
                self.at += 1
        return Quantity(kind=kind, low=amount, high=amount)

    def _duration(self, amount: float) -> Quantity:
        unit = units.DURATIONS[self._peek()]
        total = amount * unit
        self.at += 1
        while (smaller := self._compound(unit)) is not None:
            total += smaller[0]
            unit = smaller[1]
        return Quantity(kind=Kind.DURATION, low=total, high=total)

    def _compound(self, unit: float) -> tuple[float, float] | None:
        """Read the next part of "1m30s" or "2 hours and 5 minutes": seconds, and its unit, smaller than the last."""
        joined = self._peek() == "and"
        number, word = self._peek(joined), self._peek(joined + 1)
        if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_NUMBER:
            return None
        if units.DURATIONS.get(word, unit) >= unit:
            return None
        self.at += joined + 2
        return float(number) * units.DURATIONS[word], units.DURATIONS[word]

    def _clock(self, token: str) -> Quantity:
        time = _TIME.fullmatch(token)
        if time is None:
            return Quantity(kind=Kind.ADDRESS, name=token)
        total = (int(time["hours"]) * 60 + int(time["minutes"])) % _DAY_MIN
        if self._peek() in units.HALVES:
            total = total % (_DAY_MIN // 2) + units.HALVES[self._peek()] * 60
            self.at += 1
        return Quantity(kind=Kind.CLOCK, low=float(total), high=float(total))


def _is_digits(token: str) -> bool:
    return _DIGITS.fullmatch(token) is not None


def _is_number(token: str) -> bool:
    return token in units.CARDINALS or _is_digits(token)


def _starts_value(first: str, following: str) -> bool:
    if first in {"a", "an", "every"}:
        return following in units.DURATIONS
    return _is_number(first) or first in units.DURATIONS or (first == "http" and _is_number(following))


def _name_or_number(kind: Kind, digits: str) -> Quantity:
    """Read digits as an amount if they form one: "1,500" and "1.5" do; a date, "1.1.1.1" and 30 digits do not."""
    if kind is Kind.VERSION and "." in digits:
        return Quantity(kind=kind, name=digits)
    if digits.count(".") > 1:
        is_address = digits.count(".") == _ADDRESS_PARTS - 1
        return Quantity(kind=Kind.ADDRESS if is_address else Kind.VERSION, name=digits)
    if len(digits) > _LONGEST_NUMBER or "-" in digits or ":" in digits:
        return Quantity(kind=Kind.ADDRESS, name=digits)
    plain = digits.replace(",", "" if _THOUSANDS.fullmatch(digits) else ".")
    if plain.count(".") > 1:
        return Quantity(kind=Kind.ADDRESS, name=digits)
    return Quantity(kind=kind, low=float(plain), high=float(plain))


def _lower_end(first: Quantity, second: Quantity, digits: str) -> float:
    """Return the lower end of a range in the unit of its upper end: the 60 of "60-90s" is in seconds too."""
    if second.name or first.kind not in {Kind.NUMBER, second.kind}:
        return math.inf
    if first.kind == second.kind:
        return first.low
    amount = units.CARDINALS.get(digits) or _name_or_number(Kind.NUMBER, digits).low
    return first.low * second.high / amount if amount else math.inf


def _bounded(quantity: Quantity, bound: Bound) -> Quantity:
    if quantity.name or bound is Bound.NONE:
        return quantity
    if bound is Bound.LOWER:
        return replace(quantity, bound=bound, high=math.inf)
    return replace(quantity, bound=bound, low=-math.inf)
