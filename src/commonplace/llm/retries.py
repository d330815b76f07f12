"""The number of retries for a model that could not answer, and the pauses between them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Exponential backoff with jitter.

    Args:
        most: The number of retries after the first attempt.
        first_s: The first pause, before jitter.
        longest_s: The longest pause; the server can ask for a longer one.
    """

    most: int = 4
    first_s: float = 0.5
    longest_s: float = 20.0

    def pauses(self, random: Callable[[], float]) -> Iterator[float]:
        """Yield the pauses in seconds: each is twice the pause before, less a random part of up to half.

        ``random`` returns numbers from 0 to 1. The jitter keeps many callers from retrying at once.
        """
        pause_s = self.first_s
        for _ in range(self.most):
            yield min(pause_s, self.longest_s) * (1 - random() / 2)
            pause_s *= 2
