"""Questions to the primary for the position of its log: reads share them, and no read gets an answer from before."""

import asyncio

from commonplace.knowledge.store.replicas import Replicas


class Log:
    """A primary whose answers wait until the test lets them go; ``position`` is read when an answer is given."""

    def __init__(self) -> None:
        self.position = 0
        self.questions = 0
        self.was_asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def fetchval(self, _statement: str) -> int:
        """Return the position as it was when the question arrived."""
        self.questions += 1
        self.was_asked.set()
        position = self.position
        await self.may_answer.wait()
        return position


async def test_a_read_never_gets_a_position_from_before_it_began() -> None:
    """Reads that begin while a question is under way wait for the next one, and share it."""
    log = Log()
    replicas = Replicas(log, "", "postgresql://replica/db")  # pyright: ignore[reportArgumentType] - a pool of one method
    position = replicas._position  # pyright: ignore[reportPrivateUsage]
    first = asyncio.create_task(position())
    await log.was_asked.wait()
    log.position = 7  # a write is acknowledged while the first question is under way
    later = [asyncio.create_task(position()) for _ in range(20)]
    log.may_answer.set()
    assert await first == 0
    assert await asyncio.gather(*later) == [7] * 20
    assert log.questions == 2
