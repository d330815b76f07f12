"""Work on the next item while the last one is dealt with."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

_T = TypeVar("_T")


async def one_ahead(source: AsyncIterator[_T]) -> AsyncGenerator[_T]:
    """Yield what a source yields, in its order, and let it make the next item meanwhile; never more than one.

    Close it (``contextlib.aclosing``) where it may be left before its end: the source is then stopped, not left
    behind. Whatever the source raises comes out in its place.
    """
    making = asyncio.create_task(_next(source))
    try:
        while (made := await making) is not None:
            making = asyncio.create_task(_next(source))
            yield made[0]
    finally:
        making.cancel()
        await asyncio.wait([making])
        if not making.cancelled():
            making.exception()  # seen: what the consumer raised itself is what counts


async def _next(source: AsyncIterator[_T]) -> tuple[_T] | None:
    async for item in source:
        return (item,)
    return None
