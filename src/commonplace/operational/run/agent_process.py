"""The claude CLI as a process: its output while it runs, and its end together with all that it started.

Facts measured on Claude Code 2.1.197 that shape it:

- Tools run in sessions of their own and outlive the CLI that dies, out of reach of a signal to its group. So the CLI
  gets a mark that they inherit, and descendants are listed while it lives.
- SIGINT ends running tools and gives a result line; SIGTERM, after which its status is 143, and SIGKILL do neither.
- A tool left behind may hold the output open. The CLI's own end is waited for, never the end of the output.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil

from commonplace.core.errors import InvalidInputError
from commonplace.llm.process_tree import kill_tree
from commonplace.operational.run.processes import (
    MARK_VARIABLE,
    SeenProcess,
    end_processes,
    new_mark,
    seen,
)

CHUNK_BYTES: Final = 1 << 16
LIST_EVERY_S: Final = 2.0
"""How often descendants are listed."""

QUIET_S: Final = 0.5
"""Once the CLI has ended, its output has ended too when nothing comes for so long."""

DRAIN_S: Final = 5.0
"""And after so long whatever still writes is not ours."""


class AgentProcess:
    """A running CLI; use :meth:`start`, and :meth:`close` at the end, whatever happened.

    Attributes:
        mark: What all that it starts inherits; see :mod:`commonplace.operational.run.processes`.
        on_listed: Called with its descendants whenever others were found than before.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, mark: str, stdout: "OutputPipe", stderr: "OutputPipe"
    ) -> None:
        self.mark = mark
        self.on_listed: Callable[[list[SeenProcess]], None] | None = None
        self._process = process
        self._stdout = stdout
        self._stderr = stderr
        self._descendants: set[psutil.Process] = set()
        self._ended = asyncio.create_task(process.wait())
        self._listing = asyncio.create_task(self._keep_listing())

    @classmethod
    async def start(
        cls, command: Sequence[str], *, environ: Mapping[str, str], directory: Path | None
    ) -> "AgentProcess":
        """Start a command with nothing on its standard input, leading a session of its own.

        Raises:
            InvalidInputError: It cannot be started.
        """
        mark = new_mark()
        stdout, stderr = await OutputPipe.open(), await OutputPipe.open()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=subprocess.DEVNULL,
                stdout=stdout.writing_end,
                stderr=stderr.writing_end,
                cwd=directory,
                env={**environ, MARK_VARIABLE: mark},
                start_new_session=True,
            )
        except OSError as error:
            stdout.close()
            stderr.close()
            expected = f"a claude CLI that can be started ({error.strerror or error})"
            raise InvalidInputError("claude", expected, command[0]) from None
        except BaseException:
            stdout.close()
            stderr.close()
            raise
        stdout.close_writing_end()
        stderr.close_writing_end()
        return cls(process, mark, stdout, stderr)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def output(self) -> AsyncGenerator[bytes]:
        """Yield standard output as it comes, to the last byte that the CLI wrote."""
        return self._read(self._stdout)

    def errors(self) -> AsyncGenerator[bytes]:
        """Yield standard error likewise."""
        return self._read(self._stderr)

    async def wait(self) -> int:
        """Wait for the CLI itself; return its exit status, negative for a signal."""
        return await asyncio.shield(self._ended)

    async def stop(self, grace_s: float) -> None:
        """End it and all that it started: SIGINT, which lets it say how far it came, then SIGTERM, then SIGKILL.

        Args:
            grace_s: From one to the next.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            await self._list_descendants()
            if self._ended.done():
                break
            # Not by the process's own method: that one looks first whether the CLI has died, and then its exit
            # status is lost to the event loop, which reports 255.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            await asyncio.wait({self._ended}, timeout=grace_s)
        await self.kill()

    async def kill(self) -> None:
        """Kill it, if it still runs, and whatever else is left of what it started."""
        if not self._ended.done():
            await asyncio.to_thread(kill_tree, self.pid)
            await self._ended
        await asyncio.to_thread(end_processes, self.mark, self._descendants)

    async def close(self) -> None:
        """Release the pipes; kill it if it still runs."""
        self._listing.cancel()
        await asyncio.wait({self._listing})
        if not self._ended.done():
            await self.kill()
        self._stdout.close()
        self._stderr.close()

    async def _read(self, pipe: "OutputPipe") -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        while True:
            reading = asyncio.create_task(pipe.reader.read(CHUNK_BYTES))
            try:
                await asyncio.wait({reading, self._ended}, return_when=asyncio.FIRST_COMPLETED)
                if self._ended.done():
                    deadline = deadline or loop.time() + DRAIN_S
                    await asyncio.wait({reading}, timeout=min(QUIET_S, max(deadline - loop.time(), 0)))
                if not reading.done() or not (chunk := reading.result()):
                    return
            finally:
                reading.cancel()
            yield chunk
            if deadline is not None and loop.time() >= deadline:
                return

    async def _keep_listing(self) -> None:
        while not self._ended.done():
            await self._list_descendants()
            await asyncio.wait({self._ended}, timeout=LIST_EVERY_S)

    async def _list_descendants(self) -> None:
        found = await asyncio.to_thread(_descendants_of, self.pid, self._descendants)
        if found != self._descendants:
            self._descendants = found
            if self.on_listed is not None:
                self.on_listed(seen(found))


class OutputPipe:
    """A pipe of our own: asyncio's would wait, with the process, for whoever else holds it open."""

    def __init__(
        self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport, writing_end: int
    ) -> None:
        self.reader = reader
        self.writing_end = writing_end
        self._transport = transport

    @classmethod
    async def open(cls) -> "OutputPipe":
        """Open one; its reading end is read by the event loop."""
        reading_end, writing_end = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading_end, "rb", buffering=0)
        )
        return cls(reader, transport, writing_end)

    def close_writing_end(self) -> None:
        """Leave the writing end to the process that got it; a second call does nothing."""
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    def close(self) -> None:
        """Close both ends."""
        self.close_writing_end()
        self._transport.close()


def _descendants_of(pid: int, known: set[psutil.Process]) -> set[psutil.Process]:
    """Return the descendants of a process, and the known ones that it has lost, with theirs."""
    found: set[psutil.Process] = set()
    with contextlib.suppress(psutil.Error):
        found.update(psutil.Process(pid).children(recursive=True))
    for process in known - found:
        with contextlib.suppress(psutil.Error):
            if process.is_running():
                found |= {process, *process.children(recursive=True)}
    return found
