"""Client of the fork server: runs a command in a fork of a process that has imported everything.

The fork has the standard streams, arguments, directory, environment and umask of the command, which passes its signals
on, waits, and ends with the status of the fork. Every command waits for this module, so it imports only the standard
library.
"""

import json
import os
import signal
import socket
import struct
import sys
import time
from types import FrameType

from commonplace.hosts.resident.client import PREPARE, START_S, build, home_of, spawn, started
from commonplace.hosts.resident.resident_socket import FORKS, ResidentSocket

TYPE_CHECKING = False  # typing takes time to import
if TYPE_CHECKING:
    from typing import TextIO

FORK_S = 10.0
"""Seconds that a command waits for a fork before it imports its modules itself."""

LENGTH = "!I"
TAKEN = "!I"
"""The answer to a request: the id of the fork. The fork begins at :data:`GO`, so that no work is done twice."""

GO = b"g"
PASSED_ON = (signal.SIGINT, signal.SIGTERM)
IGNORABLE = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals that a caller may have set to be ignored, as ``nohup`` and the background jobs of a shell do."""

HARMLESS = frozenset(
    {
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONIOENCODING",
        "PYTHONNOUSERSITE",
        "PYTHONPYCACHEPREFIX",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
    }
)
"""Variables of the interpreter that do not matter after its start, or that the request repeats for the streams."""

_NO_STATUS = "error: the process of this command was killed, so the command may be incomplete\n"


def serve_mcp(arguments: list[str]) -> int | None:
    """Start an MCP server in a fork, and wait for the server's end. The first argument is ``mcp``.

    The fork server is started if necessary, so that the servers and hooks of a session import everything once.

    Returns:
        The exit status of the server; ``None`` if the caller must serve itself.
    """
    home = home_of(os.environ)
    return None if home is None else _run(ResidentSocket(home, FORKS), arguments, starts=True)


def run_command(arguments: list[str]) -> int | None:
    """Run a command in a fork, if a fork server runs in the home and the fork would do the same as this process.

    Returns:
        The exit status of the command; ``None`` if the caller must run the command itself.
    """
    home = home_of(os.environ) if _is_like_a_fork(arguments) else None
    return None if home is None else _run(ResidentSocket(home, FORKS), arguments, starts=False)


def begin_resident() -> None:
    """Start the resident process after a command that a person typed, so that the next command is faster.

    A script or a scheduled job, which has no terminal, starts nothing.
    """
    home = home_of(os.environ)
    if home is not None and os.path.isdir(home) and os.isatty(2) and os.isatty(0):  # noqa: PTH112
        try:  # noqa: SIM105 - contextlib takes time to import
            spawn(home, PREPARE)
        except OSError:
            pass


def _is_like_a_fork(arguments: list[str]) -> bool:
    """Return whether nothing about this process is different in a fork of another process."""
    return (
        sys.getfilesystemencoding() == "utf-8"
        and None not in (sys.stdin, sys.stdout, sys.stderr)
        and not any(name.startswith("PYTHON") and name not in HARMLESS for name in os.environ)
        and not any(
            "/fd/" in each for each in arguments
        )  # such as <(…) in a shell: a stream that a fork lacks
        and not _is_in_background()
    )


def _is_in_background() -> bool:
    """Return whether the terminal belongs to another command, so that reading it must stop this one."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) != os.getpgrp()
    except OSError:
        return True


def _run(place: ResidentSocket, arguments: list[str], *, starts: bool) -> int | None:
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        connection = _connect(place, starts=starts)
        connection.settimeout(FORK_S)
        fork = _ask(connection, arguments)
        connection.settimeout(None)
        connection.sendall(GO)
    except (OSError, struct.error):
        signal.signal(signal.SIGINT, interrupt)
        return None
    with connection:
        return _wait(connection, fork)


def _connect(place: ResidentSocket, *, starts: bool) -> socket.socket:
    """Return a connection to the fork server; start its parent, the resident process, if allowed.

    Raises:
        OSError: No process can be reached or started in time.
    """
    try:
        return place.connect(FORK_S)
    except OSError:
        if not starts:
            raise
        return started(place, time.monotonic() + START_S)


def _ask(connection: socket.socket, arguments: list[str]) -> int:
    """Send the request, and return the id of the fork.

    Raises:
        OSError: The process cannot be reached, or the current directory no longer exists.
        struct.error: The process refused.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    request = {
        "build": build(),
        "arguments": arguments,
        "directory": os.getcwd(),  # noqa: PTH109
        "environ": dict(os.environ),
        "umask": mask,
        "ignored": [each for each in IGNORABLE if signal.getsignal(each) is signal.SIG_IGN],
        "streams": [_form(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    }
    document = json.dumps(request).encode()
    socket.send_fds(connection, [struct.pack(LENGTH, len(document))], [0, 1, 2])
    connection.sendall(document)
    return int(struct.unpack(TAKEN, connection.recv(struct.calcsize(TAKEN), socket.MSG_WAITALL))[0])


def _form(stream: "TextIO") -> list[object]:
    """Return the encoding of a standard stream, and when the stream passes text on."""
    return [
        stream.encoding,
        stream.errors,
        *(getattr(stream, each) for each in ("line_buffering", "write_through")),
    ]


def _wait(connection: socket.socket, fork: int) -> int:
    """Pass signals on to the fork until it ends, and return its exit status."""
    received: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        _signal(fork, number)

    def stop_both(number: int, _frame: FrameType | None) -> None:
        _signal(fork, signal.SIGSTOP)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # This process stops here until the shell continues it.
        signal.signal(number, stop_both)
        _signal(fork, signal.SIGCONT)

    for number, handler in (*((each, pass_on) for each in PASSED_ON), (signal.SIGTSTP, stop_both)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        status = connection.recv(1)
    except OSError:
        status = b""
    if status:
        return status[0]
    if received:  # The fork did not handle the signal, so this process ends by the same signal.
        signal.signal(received[-1], signal.SIG_DFL)
        os.kill(os.getpid(), received[-1])
    sys.stderr.write(_NO_STATUS)
    return 1


def _signal(process: int, number: int) -> None:
    try:  # noqa: SIM105 - contextlib takes time to import
        os.kill(process, number)
    except ProcessLookupError:
        pass
