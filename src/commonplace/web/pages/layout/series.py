"""A series of counts over time, for the macro ``chart``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2s
from typing import Final

LEAST_TOP: Final = 4.0
"""The minimum for the top of the axis, so that small counts get whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values of consecutive spans of time.

    Attributes:
        name: Its name, as part of an id in a page.
        moments: The beginnings of the spans; aware, oldest first, at least one.
        values: One value for each span.
        span: The length of a span.
    """

    name: str
    moments: Sequence[datetime]
    values: Sequence[float]
    span: timedelta

    @property
    def times(self) -> list[float]:
        """The beginnings of the spans and the end of the last, in seconds since 1970."""
        return [moment.timestamp() for moment in (*self.moments, self.moments[-1] + self.span)]

    @property
    def levels(self) -> list[float]:
        """The values, with the last one repeated for the end of its span."""
        return [*self.values, self.values[-1]]

    @property
    def top(self) -> float:
        """The top of the axis of values."""
        return max(LEAST_TOP, *self.values)

    @property
    def total(self) -> float:
        """The sum of the values."""
        return round(sum(self.values), 2)

    @property
    def id(self) -> str:
        """An id that changes with the values, so that a refreshing part redraws the chart."""
        content = repr((self.times, list(self.values))).encode()
        return f"{self.name}-{blake2s(content, digest_size=6).hexdigest()}"
