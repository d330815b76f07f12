"""Background tasks with an owner that waits for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Owns tasks until they are done.

    Unlike in :class:`asyncio.TaskGroup`, a failing task cancels no other task, and an exception of the owner's block is
    not wrapped.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start a coroutine and return its task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self) -> None:
        """Wait until no task runs, including tasks that start in the meantime."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def cancel(self) -> None:
        """Cancel all tasks, and wait until they have stopped."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.drain()
