"""One series of counts over time, as the macro ``chart`` draws it in steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2s
from typing import Final

LEAST_TOP: Final = 4.0
"""So that an axis of small counts has whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Values of spans of time that follow one another.

    Attributes:
        name: What it is about, as part of an id in a page.
        moments: When each span begins; aware, the oldest first, one at least.
        values: One for each span.
        span: How long each is.
    """

    name: str
    moments: Sequence[datetime]
    values: Sequence[float]
    span: timedelta

    @property
    def times(self) -> list[float]:
        """When each span begins and the last one ends, in seconds since 1970."""
        return [moment.timestamp() for moment in (*self.moments, self.moments[-1] + self.span)]

    @property
    def levels(self) -> list[float]:
        """The values, the last of them up to the end of its span."""
        return [*self.values, self.values[-1]]

    @property
    def top(self) -> float:
        """Where the axis of the values ends."""
        return max(LEAST_TOP, *self.values)

    @property
    def total(self) -> float:
        """The sum of the values."""
        return round(sum(self.values), 2)

    @property
    def id(self) -> str:
        """An id that changes with the values, so that a part of a page that refreshes itself draws it again."""
        content = repr((self.times, list(self.values))).encode()
        return f"{self.name}-{blake2s(content, digest_size=6).hexdigest()}"
