"""How long a run may take, and when episodes are tried again. Pure.

Time limits are seconds. The defaults fit a hosted model that answers within a minute or two.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.clock import CLOCKS_DIFFER_BY
from commonplace.core.errors import (
    EmbeddingError,
    InvalidInputError,
    ModelAccessError,
    ModelBudgetError,
    ModelCannotError,
    ModelUnavailableError,
    StorageError,
)

OUTAGES: Final = (
    ModelUnavailableError,
    ModelAccessError,
    ModelBudgetError,
    ModelCannotError,
    EmbeddingError,
    StorageError,
)
"""What is no fault of the episodes: they wait, and no attempt is counted. A refusal, a time limit and an answer that
cannot be read may well be theirs, and count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits of consolidation.

    Attributes:
        lease_s: How long a worker that gives no sign keeps a butler's episodes. It gives one every third of this, so
            that two may get lost; what a worker left behind when it died waits this long.
        timeout_s: What a model has for one answer.
        max_attempts: After so many that count, an episode is a dead letter. With the pauses below the last attempt
            comes a quarter of an hour after the first.
        backoff_s: The pause after the first attempt; each further one is twice as long.
        max_backoff_s: The longest pause, an hour: an episode lives for seven days, and has to be tried again within.
        outage_s: The pause while the model cannot be used at all; longer where it says so itself.
    """

    lease_s: float = 120.0
    timeout_s: float = 300.0
    max_attempts: int = 5
    backoff_s: float = 60.0
    max_backoff_s: float = 3_600.0
    outage_s: float = 300.0

    def __post_init__(self) -> None:
        """Refuse limits with which nothing would ever be consolidated.

        Raises:
            InvalidInputError: One of them is not above 0.
        """
        for name in self.__slots__:
            value = getattr(self, name)
            if not value > 0:
                raise InvalidInputError(name, "a number above 0", value)

    def pause(self, *, attempts: int, error: Exception) -> timedelta:
        """Return how long episodes wait after a failure.

        Args:
            attempts: That count, this one included where it does.
            error: Why it failed.
        """
        if not counts(error):
            asked_s = error.retry_after_s if isinstance(error, ModelUnavailableError) else None
            return timedelta(seconds=min(max(self.outage_s, asked_s or 0.0), self.max_backoff_s))
        # Doubling ends before the number grows beyond what a float holds.
        doubled = self.backoff_s * 2 ** min(max(attempts - 1, 0), 30)
        return timedelta(seconds=min(doubled, self.max_backoff_s))

    def latest_lease(self, now: datetime) -> datetime:
        """Return until when a lease can last that somebody has now; a later one is of a clock that was wrong."""
        return now + timedelta(seconds=self.lease_s) + CLOCKS_DIFFER_BY

    def latest_attempt(self, now: datetime) -> datetime:
        """Return for when an attempt can have been put off now; a later one is of a clock that was wrong."""
        return now + timedelta(seconds=self.max_backoff_s) + CLOCKS_DIFFER_BY


def counts(error: Exception) -> bool:
    """Whether a failure counts as an attempt of its episodes."""
    return not isinstance(error, OUTAGES)


def group_size(fitting: int, *, attempts: int) -> int:
    """Return how many episodes to try together, of those that fit into a run.

    Each failed attempt halves their number, so that one episode on which a model fails takes few others with it.

    Args:
        fitting: How many of the oldest fit, 1 or more.
        attempts: Those made on the oldest so far.
    """
    return max(1, fitting >> min(attempts, 30))
