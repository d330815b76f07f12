"""How far a sweep or a cleanup is, for whoever looks on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepProgress:
    """What has been done so far.

    Attributes:
        step: What is counted, in words.
        done: How many.
    """

    step: str
    done: int


OnUpkeep = Callable[[UpkeepProgress], None]


def silent(_: UpkeepProgress) -> None:
    """Tell nobody."""
