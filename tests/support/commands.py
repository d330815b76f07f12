"""The ``commonplace`` command as a process of its own, in a home of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("commonplace")
SERVER = Path(__file__).with_name("command_server.py")
TIMEOUT_S = 60.0
ANSWER_BYTES = 64


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


class CommandServer:
    """A process that forks for each command, one at a time; see :mod:`support.command_server`."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = clean_environment(Path(os.devnull))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", SERVER], stdin=theirs.fileno(), env=environment
            )
        assert self._requests.recv(ANSWER_BYTES) == b"ready", "the server of commands did not start"

    def close(self) -> None:
        """End it."""
        self._requests.close()
        self._process.wait()

    def run(self, arguments: tuple[str, ...], *, stdin: bytes, cwd: Path, env: Mapping[str, str]) -> Done:
        """Run a command to its end.

        Raises:
            subprocess.TimeoutExpired: It was killed, having run for too long.
        """
        request = {"arguments": arguments, "directory": str(cwd), "environment": dict(env)}
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [os.fdopen(pipes[0][1], "wb"), os.fdopen(pipes[1][0], "rb"), os.fdopen(pipes[2][0], "rb")]
        try:
            socket.send_fds(self._requests, [json.dumps(request).encode()], theirs)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        with ThreadPoolExecutor(3) as streams, ours[0], ours[1], ours[2]:
            streams.submit(_write, ours[0], stdin)
            out, err = (streams.submit(stream.read) for stream in ours[1:])
            status = self._status(arguments)
            return Done(status=status, out=out.result().decode(), err=err.result().decode())

    def _status(self, arguments: tuple[str, ...]) -> int:
        child = int(self._requests.recv(ANSWER_BYTES))
        self._requests.settimeout(TIMEOUT_S)
        try:
            return int(self._requests.recv(ANSWER_BYTES))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            self._requests.settimeout(None)
            self._requests.recv(ANSWER_BYTES)
            raise subprocess.TimeoutExpired(["commonplace", *arguments], TIMEOUT_S) from None
        finally:
            self._requests.settimeout(None)


def _write(stream: Any, content: bytes) -> None:  # noqa: ANN401 - a pipe
    try:
        stream.write(content)
        stream.close()
    except BrokenPipeError:
        pass


class CommandServers:
    """As many servers as there were commands at once."""

    def __init__(self) -> None:
        self._all: list[CommandServer] = []
        self._idle: list[CommandServer] = []

    @contextmanager
    def one(self) -> Iterator[CommandServer]:
        """Borrow one that nobody else uses meanwhile."""
        if not self._idle:
            started = CommandServer()
            self._all.append(started)
            self._idle.append(started)
        server = self._idle.pop()
        yield server
        self._idle.append(server)

    def close(self) -> None:
        """End them all."""
        for server in self._all:
            server.close()


class CommandLine:
    """Runs commands in a directory and a home."""

    def __init__(self, directory: Path, home: Path, servers: CommandServers) -> None:
        self.directory = directory
        self.home = home
        self._servers = servers

    def at(self, directory: Path) -> "CommandLine":
        """Return the same home with another directory, which is made."""
        directory.mkdir(parents=True)
        return CommandLine(directory, self.home, self._servers)

    def __call__(self, *arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        """Run a command to its end, whatever its status.

        Raises:
            subprocess.TimeoutExpired: It was killed, having run for a minute.
        """
        environment = clean_environment(self.home, **variables)
        with self._servers.one() as server:
            return server.run(arguments, stdin=stdin, cwd=self.directory, env=environment)
