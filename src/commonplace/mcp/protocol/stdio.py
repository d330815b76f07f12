"""Serving an MCP server on standard input and output."""

import asyncio
import codecs
import io
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from fastmcp import FastMCP

from commonplace.core.decoding import LENIENT
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings, load_settings
from commonplace.mcp.protocol.profiles import WHOLE, View
from commonplace.mcp.protocol.refusals import LineRefusal, find_refusal
from commonplace.projects import Projects, with_workspace

if TYPE_CHECKING:
    from typing_extensions import Buffer

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


class Wire(io.BufferedIOBase):
    """The standard output of a server, with whole messages: answers of the library, and refusals of lines.

    Args:
        descriptor: The file descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._file = os.fdopen(descriptor, "wb", buffering=0, closefd=False)
        self._lock = threading.Lock()

    def writable(self) -> bool:
        """Return true."""
        return True

    def write(self, data: "Buffer", /) -> int:
        """Write all of some bytes and return their number."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        with self._lock:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        return size

    def refuse(self, refusal: LineRefusal) -> None:
        """Answer a line that is no message."""
        error = {"code": refusal.code, "message": refusal.message}
        self.write(json.dumps({"jsonrpc": "2.0", "id": refusal.id, "error": error}).encode() + b"\n")


class MessageLines(io.BufferedIOBase):
    r"""Lines of JSON that are messages of the protocol; other lines are refused.

    The protocol's library drops what it cannot read, and the client would wait for its answer in vain. Models cut text
    in the middle of an emoji, and JSON may hold the half, such as ``\ud83d`` alone: it becomes U+FFFD.

    Args:
        lines: The input.
        refuse: Answers a line that is no message.
    """

    def __init__(self, lines: BinaryIO, refuse: Callable[[LineRefusal], None]) -> None:
        super().__init__()
        self._lines = lines
        self._refuse = refuse

    def readable(self) -> bool:
        """Return true."""
        return True

    def read1(self, size: int = -1, /) -> bytes:  # noqa: ARG002 - a line is never cut
        """Return the next line with a message, or nothing at the end of the input; empty lines need no answer."""
        for line in filter(bytes.strip, iter(self._lines.readline, b"")):
            whole = _ESCAPES.sub(lambda escape: b"\\ufffd" if escape["half"] else escape[0], line)
            message = whole.removeprefix(codecs.BOM_UTF8)
            refusal = find_refusal(message)
            if refusal is None:
                return message
            self._refuse(refusal)
        return b""


class _ServerOutput(io.TextIOWrapper):
    """Standard output while a server runs: the library writes messages into its buffer; other text is an error."""

    def __init__(self, wire: Wire) -> None:
        errors = os.fdopen(sys.stderr.fileno(), "wb", closefd=False)
        super().__init__(errors, encoding="utf-8", errors=LENIENT, line_buffering=True)
        self._wire = wire

    @property
    def buffer(self) -> BinaryIO:  # type: ignore[override] - the wire, not the buffer of the text
        """The wire."""
        return cast("BinaryIO", self._wire)


async def run(server: FastMCP) -> None:
    """Run an MCP server on standard input and output."""
    wire = Wire(os.dup(sys.stdout.fileno()))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # What a child prints is no message.
    sys.stdout = _ServerOutput(wire)
    # The library reads the buffer of sys.stdin.
    lines = cast("BinaryIO", MessageLines(sys.stdin.buffer, wire.refuse))
    sys.stdin = io.TextIOWrapper(lines, encoding="utf-8", errors=LENIENT)
    await server.run_stdio_async(show_banner=False, log_level="WARNING")
