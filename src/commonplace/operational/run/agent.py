"""The claude CLI as the agent of a session: its command line and its process.

Facts measured on Claude Code 2.1.197 that shape this module:

- The CLI opens ``@/path`` in a prompt, but not in a system prompt. So the prompt contains no text by others.
- Tools run in separate sessions and outlive a CLI that dies; a signal to its group does not reach them. So the CLI
  gets a mark that its tools inherit, and its descendants are listed while it is alive.
- SIGINT ends running tools and produces a result line; SIGTERM (exit status 143) and SIGKILL do neither.
- A remaining tool may keep the output open. So the end of the CLI counts, not the end of its output.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from commonplace.core.errors import InvalidInputError
from commonplace.llm.process_tree import kill_tree
from commonplace.operational.run.processes import MARK_VARIABLE, end_processes, new_mark, seen

if TYPE_CHECKING:
    from commonplace.operational.transcript.recording_process import SeenProcess

CHUNK_BYTES: Final = 1 << 16
LIST_EVERY_S: Final = 2.0
"""The interval at which descendants are listed."""

QUIET_S: Final = 0.5
"""After the CLI has ended, a silence of this length ends its output."""

DRAIN_S: Final = 5.0
"""After the CLI has ended, its output is read for at most this long."""

_OWN_OPTIONS: Final = frozenset(
    {"--output-format", "--input-format", "--append-system-prompt", "--append-system-prompt-file"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A session to run.

    Attributes:
        services: The services to check; their memories are chosen first.
        timeout_s: The longest duration; ``None`` for no limit.
        grace_s: The time to wait after SIGINT, and again after SIGTERM, before SIGKILL.
        directory: The working directory; ``None`` for the current one.
    """

    executable: Path
    tier: int
    prompt: str
    services: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    trigger: str = "manual"
    timeout_s: float | None = None
    grace_s: float = 10.0
    environ: Mapping[str, str]
    directory: Path | None = None

    @property
    def task(self) -> str:
        """The prompt of the session, which only asks the agent to begin."""
        asked = f" Check these services: {', '.join(self.services)}." if self.services else ""
        return f"Begin your tier {self.tier} session now.{asked}"


def find_claude(named: str | None, environ: Mapping[str, str]) -> Path:
    """Return the path of the claude CLI: a named program or path, or ``claude`` on the PATH of an environment.

    Raises:
        InvalidInputError: The program does not exist or cannot be executed.
    """
    found = shutil.which(named or "claude", path=environ.get("PATH"))
    if found is None:
        expected = "the claude CLI (npm install -g @anthropic-ai/claude-code), or its path with --claude"
        raise InvalidInputError("claude", expected, named or "no claude on the PATH")
    return Path(found).absolute()


def require_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return further arguments of the CLI.

    Raises:
        InvalidInputError: An argument is an option that commonplace sets, or the first one is not an option.
    """
    if arguments and not arguments[0].startswith("-"):
        raise InvalidInputError(
            "arguments", "options of the claude CLI, such as -- --model haiku", arguments[0]
        )
    for argument in arguments:
        if argument.partition("=")[0] in _OWN_OPTIONS:
            raise InvalidInputError("arguments", "options other than those that commonplace sets", argument)
    return tuple(arguments)


@contextlib.contextmanager
def prompt_options(system_prompt: str, *, by_file: bool) -> Generator[tuple[str, str]]:
    """Yield the option of the CLI that appends a system prompt.

    Args:
        system_prompt: The text.
        by_file: Pass the text in a file that only this user can read and that is deleted at the end of the block. Every
            user of the machine can read the arguments of a process.
    """
    if not by_file:
        yield "--append-system-prompt", system_prompt
        return
    with tempfile.NamedTemporaryFile("w", prefix="commonplace-prompt-", encoding="utf-8") as file:
        file.write(system_prompt)
        file.flush()
        yield "--append-system-prompt-file", file.name


def build_command(request: RunRequest, prompt_option: tuple[str, str]) -> list[str]:
    """Return the command line; further arguments come last, because some options consume all following arguments."""
    return [
        str(request.executable),
        "-p",
        request.task,
        *("--output-format", "stream-json"),
        "--verbose",
        *prompt_option,
        *request.arguments,
    ]


class AgentProcess:
    """A running CLI; create it with :meth:`start`, and always call :meth:`close` at the end.

    Attributes:
        mark: The mark that its descendants inherit; see :mod:`commonplace.operational.run.processes`.
        on_listed: Called with its descendants whenever they change.
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
        """Start a command in its own session, without standard input.

        Raises:
            InvalidInputError: The command cannot be started.
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
        except BaseException as error:
            stdout.close()
            stderr.close()
            if not isinstance(error, OSError):
                raise
            expected = f"a claude CLI that starts ({error.strerror or error})"
            raise InvalidInputError("claude", expected, command[0]) from None
        stdout.close_writing_end()
        stderr.close_writing_end()
        return cls(process, mark, stdout, stderr)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def output(self) -> AsyncGenerator[bytes]:
        """Yield standard output as it arrives, up to the last byte that the CLI writes."""
        return self._read(self._stdout)

    def errors(self) -> AsyncGenerator[bytes]:
        """Yield standard error as it arrives."""
        return self._read(self._stderr)

    async def wait(self) -> int:
        """Wait for the end of the CLI and return its exit status, negative for a signal."""
        return await asyncio.shield(self._ended)

    async def stop(self, grace_s: float) -> None:
        """End the CLI and its descendants with SIGINT, which produces a result line, then SIGTERM, then SIGKILL.

        ``grace_s`` is the time between two signals.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            await self._list_descendants()
            if self._ended.done():
                break
            # The process's own method checks first whether the CLI has died; then the event loop loses its exit
            # status and reports 255.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
            await asyncio.wait({self._ended}, timeout=grace_s)
        await self.kill()

    async def kill(self) -> None:
        """Kill the CLI and its descendants."""
        if not self._ended.done():
            await asyncio.to_thread(kill_tree, self.pid)
            await self._ended
        await asyncio.to_thread(end_processes, self.mark, self._descendants)

    async def close(self) -> None:
        """Release the pipes; kill a CLI that still runs."""
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


@dataclass(slots=True)
class OutputPipe:
    """A pipe for output; asyncio's own pipe would wait until every process has closed it."""

    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport
    writing_end: int

    @classmethod
    async def open(cls) -> "OutputPipe":
        """Open a pipe whose reading end the event loop reads."""
        reading_end, writing_end = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading_end, "rb", buffering=0)
        )
        return cls(reader, transport, writing_end)

    def close_writing_end(self) -> None:
        """Close the writing end, which the child process has inherited; a second call does nothing."""
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    def close(self) -> None:
        """Close both ends."""
        self.close_writing_end()
        self.transport.close()


def _descendants_of(pid: int, known: set[psutil.Process]) -> set[psutil.Process]:
    """Return the descendants of a process, and the known orphans with their descendants."""
    found: set[psutil.Process] = set()
    with contextlib.suppress(psutil.Error):
        found.update(psutil.Process(pid).children(recursive=True))
    for process in known - found:
        with contextlib.suppress(psutil.Error):
            if process.is_running():
                found |= {process, *process.children(recursive=True)}
    return found
