"""Serving an MCP server on standard input and output."""

import asyncio
import io
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import BinaryIO, Final, cast

from fastmcp import FastMCP

from commonplace.core.decoding import LENIENT
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings, load_settings
from commonplace.mcp.protocol.profiles import WHOLE, View
from commonplace.projects import Projects, with_workspace

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
_ESCAPES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def serve(
    server: Callable[[Settings, View], Coroutine[None, None, None]],
    view: View = WHOLE,
    *,
    of_project: bool = False,
) -> int:
    """Serve the memories that the settings name until the client hangs up, and return the exit status.

    Args:
        server: Serves a view of the memories on standard input and output.
        view: How the client sees the server.
        of_project: Whether a view without a butler gets that of the project in the workspace.
    """
    # Each call is durable on its own, and a thread waits on standard input: an interrupt may end the process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        settings = with_workspace(load_settings(read_current_directory=False)).settings
        if of_project and view.butler is None:
            view = replace(view, butler=Projects(settings.home).butler_at(settings.workspace))
        asyncio.run(server(settings, view))
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


class WholeCharacters(io.BufferedIOBase):
    r"""Lines of JSON with U+FFFD in place of half a character, such as ``\ud83d`` alone.

    Models cut text in the middle of an emoji. JSON may hold the half, but the protocol's library drops the message, and
    the client would wait for its answer in vain.
    """

    def __init__(self, lines: BinaryIO) -> None:
        super().__init__()
        self._lines = lines

    def readable(self) -> bool:
        """Return true."""
        return True

    def read1(self, size: int = -1, /) -> bytes:  # noqa: ARG002 - a line is never cut
        """Return the next line, or nothing at the end of the input."""
        return _ESCAPES.sub(
            lambda escape: b"\\ufffd" if escape["half"] else escape[0], self._lines.readline()
        )


async def run(server: FastMCP) -> None:
    """Run an MCP server on standard input and output."""
    # The library reads the buffer of sys.stdin.
    lines = cast("BinaryIO", WholeCharacters(sys.stdin.buffer))
    sys.stdin = io.TextIOWrapper(lines, encoding="utf-8", errors=LENIENT)
    await server.run_stdio_async(show_banner=False, log_level="WARNING")
