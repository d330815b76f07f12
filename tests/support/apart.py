"""Asynchronous work of fixtures that a running event loop may ask for."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_apart(work: Coroutine[None, None, T]) -> T:
    """Run some work in a loop and a thread of its own, and return its result."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
