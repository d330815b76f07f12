"""Work that goes on after its caller was answered, under an owner who waits for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Owns tasks until they are done.

    Unlike :class:`asyncio.TaskGroup`, a task that fails takes no other with it, and an exception of the owner's
    block stays what it is.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start work and return its task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self) -> None:
        """Wait until nothing is under way, also of what is started meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def cancel(self) -> None:
        """Stop all that is under way, and wait until it has stopped."""
        for task in tuple(self._tasks):
            task.cancel()
        await self.drain()
