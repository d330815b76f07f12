"""Preparation of the next item while the current one is in use."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TypeVar

_T = TypeVar("_T")


async def one_ahead(source: AsyncIterator[_T]) -> AsyncGenerator[_T]:
    """Yield the items of a source in order, while the source prepares the next item, but never more than one.

    Use ``contextlib.aclosing`` if the loop may end early, so that the source is stopped. Errors of the source are
    raised in place of the item.
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
            making.exception()  # mark it as retrieved: an error of the consumer takes precedence


async def _next(source: AsyncIterator[_T]) -> tuple[_T] | None:
    async for item in source:
        return (item,)
    return None
