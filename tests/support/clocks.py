"""A clock for tests."""

from datetime import datetime, timedelta


class SetClock:
    """A clock that stands where it is put."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the moment that was set."""
        return self.now

    def advance(self, **span: float) -> None:
        """Move the clock on, by the keywords of ``timedelta``."""
        self.now += timedelta(**span)
