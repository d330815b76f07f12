"""A clock that tests move."""

from datetime import UTC, datetime


class StillClock:
    """A clock that stands still at ``now``."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time that the test set."""
        return self.now
