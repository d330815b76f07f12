"""Serving an MCP server on standard input and output."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from fastmcp import FastMCP

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings, load_settings

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


def serve(server: Callable[[Settings], Coroutine[None, None, None]]) -> int:
    """Serve the memories that the settings name until the client hangs up, and return the exit status."""
    # Each call is durable on its own, and a thread waits on standard input: an interrupt may end the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(server(load_settings(read_current_directory=False).settings))
    except CommonplaceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def on_signal(release: Callable[[], Awaitable[None]]) -> None:
    """Call a function on the first signal to stop; the signal then ends the process.

    The main task cannot be cancelled, because a thread waits on standard input.
    """
    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []

    async def end(number: signal.Signals) -> None:
        try:
            await release()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def begin_to_end(number: signal.Signals) -> None:
        for each in STOPPING:
            loop.remove_signal_handler(each)  # A second signal ends the process at once.
            signal.signal(each, signal.SIG_DFL)
        ending.append(asyncio.create_task(end(number)))

    for number in STOPPING:
        loop.add_signal_handler(number, begin_to_end, number)


async def run(server: FastMCP) -> None:
    """Run an MCP server on standard input and output."""
    await server.run_stdio_async(show_banner=False, log_level="WARNING")
