"""Progress of a sweep or a cleanup."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepProgress:
    """The number of memories handled so far; ``step`` names the counted memories."""

    step: str
    done: int


OnUpkeep = Callable[[UpkeepProgress], None]


def silent(_: UpkeepProgress) -> None:
    """Ignore progress."""
