"""A process that moves memories to the model of ``TurnedEngine`` and stops for good after a batch, to be killed.

    python reembedding_process.py URL BATCH_ROWS BATCHES

It prints ``ready`` and waits on standard input once so many batches are in the database.
"""

import asyncio
import sys

from commonplace.core.request_context import request_context
from commonplace.knowledge.reembedding.moves import MoveProgress
from commonplace.storage.postgres import open_pool
from support.on_pool import memory_on
from support.reembedding import TurnedEngine


async def move(url: str, batch_rows: int, batches: int) -> None:
    """Move memories; wait for the end in the middle."""

    def show(progress: MoveProgress) -> None:
        if progress.done >= batches * batch_rows:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.read()

    async with await open_pool(url) as pool:
        with request_context(actor="tester"):
            await memory_on(pool).reembedding.run(TurnedEngine(), batch_rows=batch_rows, on_progress=show)


if __name__ == "__main__":
    asyncio.run(move(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
