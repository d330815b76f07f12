"""One item is made while the last is dealt with; no more, and none is left behind."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from commonplace.core.lookahead import one_ahead


class _Source:
    """Counts what it makes, and knows whether it was ended."""

    def __init__(self, items: int, fails_at: int | None = None) -> None:
        self._items = items
        self._fails_at = fails_at
        self.made = 0
        self.ended = False

    async def make(self) -> AsyncGenerator[int]:
        """Make one number after the other."""
        try:
            for number in range(self._items):
                if number == self._fails_at:
                    raise ValueError(f"no {number}")
                self.made += 1
                yield number
        finally:
            self.ended = True


async def _let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_makes_one_ahead_in_order() -> None:
    """While one is dealt with, the next is made, and not the one after."""
    source = _Source(4)
    seen: list[tuple[int, int]] = []
    async with aclosing(one_ahead(source.make())) as ahead:
        async for item in ahead:
            await _let_others_run()
            seen.append((item, source.made))
    assert seen == [(0, 2), (1, 3), (2, 4), (3, 4)]
    assert source.ended


async def test_what_the_source_raises_comes_in_its_place() -> None:
    """The items before it come first."""
    ahead = one_ahead(_Source(5, fails_at=2).make())
    assert [await anext(ahead), await anext(ahead)] == [0, 1]
    with pytest.raises(ValueError, match="no 2"):
        await anext(ahead)


async def test_whoever_leaves_leaves_nothing_running() -> None:
    """The item that is being made is given up."""
    async with aclosing(one_ahead(_Source(5).make())) as ahead:
        assert await anext(ahead) == 0
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
