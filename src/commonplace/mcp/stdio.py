"""Serving an MCP server on standard input and output."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine

from fastmcp import FastMCP

from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings, load_settings


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


async def run(server: FastMCP) -> None:
    """Run an MCP server on standard input and output."""
    await server.run_stdio_async(show_banner=False, log_level="WARNING")
