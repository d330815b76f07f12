"""The ``commonplace`` command as a process of its own, in a home of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from support.command_client import ANSWER_BYTES, SOCKET, begin
from support.deadlines import DEADLINE_S

COMMAND = Path(sys.executable).with_name("commonplace")
SERVER = Path(__file__).with_name("command_server.py")
CLIENT = Path(__file__).with_name("command_client.py")
INPUT = "input"
TIMEOUT_S = DEADLINE_S


def clean_environment(home: Path, **variables: str) -> dict[str, str]:
    """Return this process's environment with an empty home and no setting of commonplace but these."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "CLAUDEOPS_"))
    }
    path = f"{COMMAND.parent}{os.pathsep}{inherited.get('PATH', '')}"
    return (
        inherited
        | {"COMMONPLACE_HOME": str(home), "HOME": str(home), "PATH": path}
        # Hooks do their own work, unless a test wants a process that outlives them.
        | {"COMMONPLACE_RESIDENT_IDLE_S": "0"}
        | variables
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        """The one JSON document on standard output."""
        return json.loads(self.out)


def make_programs() -> str:
    """Make a directory for PATH, whose ``commonplace`` and ``python`` run in forks of the server; return it."""
    programs = Path(mkdtemp(prefix="commonplace-"))  # a socket's address has at most 107 bytes
    for name in ("commonplace", "python"):
        program = programs / name
        program.write_text(f"#!{sys.executable} -IS\n{CLIENT.read_text()}")
        program.chmod(0o755)
    os.mkfifo(programs / INPUT)
    return str(programs)


class CommandServer:
    """A process that forks for each command; see :mod:`support.command_server`.

    It ends with the last process of tests that uses it: each holds its standard input open.

    Args:
        programs: The result of :func:`make_programs`.
    """

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.program = programs / "commonplace"
        self.python = programs / "python"
        self._address = str(programs / SOCKET)
        self._input = os.open(programs / INPUT, os.O_RDWR)  # otherwise, this would wait for the server

    def start(self, graphs: Path, data: Path) -> int:
        """Start the process, and return its id once it takes commands.

        Args:
            graphs: The directory of the graphs of the embedding model, which stay open in the process.
            data: The directory with the data that embedded servers begin with.
        """
        output, its_output = os.pipe()
        process = os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", str(SERVER), self._address, str(graphs), str(data)],
            clean_environment(Path(os.devnull)),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, str(self.programs / INPUT), os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, its_output, 1),
            ],
        )
        os.close(its_output)
        with os.fdopen(output, "rb") as lines:
            assert lines.readline() == b"ready\n", "the server of commands did not start"
        return process

    def close(self) -> None:
        """Let it end, if no other process of tests uses it."""
        os.close(self._input)

    def run(self, arguments: tuple[str, ...], *, stdin: bytes, cwd: Path, env: Mapping[str, str]) -> Done:
        """Run a command to its end.

        Raises:
            subprocess.TimeoutExpired: It was killed, having run for too long.
        """
        request = {"arguments": arguments, "directory": str(cwd), "environment": dict(env)}
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [os.fdopen(pipes[0][1], "wb"), os.fdopen(pipes[1][0], "rb"), os.fdopen(pipes[2][0], "rb")]
        with (
            ThreadPoolExecutor(3) as streams,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client,
            ours[0],
            ours[1],
            ours[2],
        ):
            client.connect(self._address)
            try:
                child = begin(client, request, theirs)
            finally:
                for descriptor in theirs:
                    os.close(descriptor)
            streams.submit(_write, ours[0], stdin)
            out, err = (streams.submit(stream.read) for stream in ours[1:])
            client.settimeout(TIMEOUT_S)
            try:
                status = int(client.recv(ANSWER_BYTES))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["commonplace", *arguments], TIMEOUT_S) from None
            return Done(status=status, out=out.result().decode(), err=err.result().decode())


def _write(stream: Any, content: bytes) -> None:  # noqa: ANN401 - a pipe
    try:
        stream.write(content)
        stream.close()
    except BrokenPipeError:
        pass


class CommandLine:
    """Runs commands in a directory and a home."""

    def __init__(self, directory: Path, home: Path, server: CommandServer) -> None:
        self.directory = directory
        self.home = home
        self._server = server

    @property
    def program(self) -> Path:
        """The program that this command installs into agent hosts."""
        return self._server.program

    @property
    def python(self) -> Path:
        """The interpreter with which this command starts others."""
        return self._server.python

    def at(self, directory: Path) -> "CommandLine":
        """Return the same home with another directory, which is made."""
        directory.mkdir(parents=True)
        return CommandLine(directory, self.home, self._server)

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        """Run a command to its end, whatever its status.

        Raises:
            subprocess.TimeoutExpired: It was killed, having run for too long.
        """
        environment = clean_environment(self.home, **variables)
        return self._server.run(arguments, stdin=stdin, cwd=self.directory, env=environment)
