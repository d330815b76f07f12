"""A function that is called once in a process, also if several threads need its result at the same time."""

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar

_R = TypeVar("_R")


def once(function: Callable[[], _R]) -> Callable[[], _R]:
    """Return a function that computes its result at the first call; a call that raises is repeated."""
    opening, computed = threading.Lock(), cache(function)

    @wraps(function)
    def called() -> _R:
        with opening:
            return computed()

    return called
