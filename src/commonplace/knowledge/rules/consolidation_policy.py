"""Limits of consolidation: how long a run may take, and when episodes are retried. Pure.

Time limits are in seconds. The defaults suit a hosted model that answers within a minute or two.
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
"""Failures not caused by episodes, after which the episodes wait and no attempt is counted. Refusals, timeouts and
unreadable answers do count, because an episode may cause them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits of consolidation.

    Attributes:
        lease_s: How long a silent worker keeps a butler's episodes. A worker renews its lease three times in this
            period; the episodes of a dead worker wait this long.
        timeout_s: The time limit of one answer.
        max_attempts: The number of attempts after which an episode becomes a dead letter. With the default pauses, the
            last attempt is a quarter of an hour after the first.
        backoff_s: The pause after the first attempt; each further pause is twice as long.
        max_backoff_s: The longest pause, by default an hour; an episode expires after seven days.
        outage_s: The pause during an outage of the model, or longer if the model asks for it.
    """

    lease_s: float = 120.0
    timeout_s: float = 300.0
    max_attempts: int = 5
    backoff_s: float = 60.0
    max_backoff_s: float = 3_600.0
    outage_s: float = 300.0

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            InvalidInputError: A limit is not above 0.
        """
        for name in self.__slots__:
            value = getattr(self, name)
            if not value > 0:
                raise InvalidInputError(name, "a number above 0", value)

    def pause(self, *, attempts: int, error: Exception) -> timedelta:
        """Return how long episodes wait after a failure.

        Args:
            attempts: The counted attempts, including this one if it counts.
            error: The failure.
        """
        if not counts(error):
            asked_s = error.retry_after_s if isinstance(error, ModelUnavailableError) else None
            return timedelta(seconds=min(max(self.outage_s, asked_s or 0.0), self.max_backoff_s))
        # Doubling stops before the number exceeds a float.
        doubled = self.backoff_s * 2 ** min(max(attempts - 1, 0), 30)
        return timedelta(seconds=min(doubled, self.max_backoff_s))

    def latest_lease(self, now: datetime) -> datetime:
        """Return the latest end of a lease that is held now; a later end comes from a wrong clock."""
        return now + timedelta(seconds=self.lease_s) + CLOCKS_DIFFER_BY

    def latest_attempt(self, now: datetime) -> datetime:
        """Return the latest time of a next attempt; a later time comes from a wrong clock."""
        return now + timedelta(seconds=self.max_backoff_s) + CLOCKS_DIFFER_BY


def counts(error: Exception) -> bool:
    """Return whether a failure counts as an attempt of its episodes."""
    return not isinstance(error, OUTAGES)


def group_size(fitting: int, *, attempts: int) -> int:
    """Return how many episodes to consolidate together.

    Each failed attempt halves the group, so that an episode on which a model fails affects few others.

    Args:
        fitting: The number of the oldest episodes that fit into a run, 1 or more.
        attempts: The attempts on the oldest episode so far.
    """
    return max(1, fitting >> min(attempts, 30))
