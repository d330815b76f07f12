"""How often, and after which pauses, a model that could not answer is asked again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Exponential backoff with jitter.

    Args:
        most: How often to ask again after the first time.
        first_s: The first pause, before jitter.
        longest_s: No pause of our own is longer; one that the server asks for may be.
    """

    most: int = 4
    first_s: float = 0.5
    longest_s: float = 20.0

    def pauses(self, random: Callable[[], float]) -> Iterator[float]:
        """Yield the pauses, in seconds: each the double of the one before, less up to half of it by chance.

        Args:
            random: Gives numbers from 0 to 1. Chance keeps many callers from coming back all at once.
        """
        pause_s = self.first_s
        for _ in range(self.most):
            yield min(pause_s, self.longest_s) * (1 - random() / 2)
            pause_s *= 2
