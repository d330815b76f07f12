"""A process that imports everything once, and forks for each command and MCP server.

Starting a command is mostly imports. This process listens at once. It imports when the first command asks, which then
waits, or when the resident process has time.

A fork has the arguments, directory, environment, umask and standard streams of its command, which waits for the fork
and returns its exit status; the resource limits are those of this process. The fork ends with the command, not with
this process. It begins with the state of this process, which never runs a command itself, so no command sees another.

No Python thread runs here and no connection is open, so that forking is safe. The process ends with its parent, the
resident process.
"""

import gc
import io
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NoReturn, cast

from commonplace.core.interpreter import COLLECT_AFTER
from commonplace.hosts.resident.client import build
from commonplace.hosts.resident.fork_client import GO, IGNORABLE, LENGTH, TAKEN
from commonplace.hosts.resident.resident_socket import FORKS, ResidentSocket

PRELOAD: Final = "commonplace.hosts.resident.preload"
"""The module that prepares everything that forks need."""

READ_ONCE: Final = (
    "ANDROID_DATA",
    "BEARTYPE_IS_COLOR",
    "EAGER_IMPORT",
    "FASTMCP_ENV_FILE",
    "HOME",
    "NPY_PROMOTION_STATE",
    "NUMPY_MADVISE_HUGEPAGE",
    "OPENBLAS_MAIN_FREE",
    "OTEL_PROPAGATORS",
    "OTEL_PYTHON_CONTEXT",
    "OTEL_PYTHON_TRACER_PROVIDER",
    "PROMETHEUS_DISABLE_CREATED_SERIES",
    "PROMETHEUS_LEGACY_NAME_VALIDATION",
    "PROMETHEUS_MULTIPROC_DIR",
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION",
    "PSUTIL_DEBUG",
    "PSYCOPG_IMPL",
    "PSYCOPG_WAIT_FUNC",
    "PYDANTIC_DISABLE_PLUGINS",
    "PYDANTIC_SETTINGS_DEBUG",
    "PY_KEY_VALUE_DISABLE_BEARTYPE",
    "RAPIDFUZZ_IMPLEMENTATION",
    "SPHINX_BUILD",
    "TEMPORARILY_DISABLE_PROTOBUF_VERSION_CHECK",
    "TYPER_USE_RICH",
    "WRAPT_DISABLE_EXTENSIONS",
    "XDG_DATA_HOME",
)
"""Variables that libraries read while they are imported. A command with other values does its own work."""

READING_S: Final = 2.0
PARENT: Final = 0
"""Standard input, a socket: the resident process writes to it when it has time, and hears from it of each fork. The
process ends with the resident process."""

POLL_S: Final = 0.05
FAILED_FLUSH: Final = 120
"""The interpreter's exit status if standard output cannot be written at the end."""


def main() -> int:
    """Fork for each request until the parent ends; in a fork, run and return the exit status."""
    place, code = ResidentSocket(sys.argv[1], FORKS), build()
    gc.set_threshold(COLLECT_AFTER)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        listener = _listen(place)
        if listener is not None:
            _fork_for_each(listener, place, code)
    finally:
        place.leave()
    return 0


def _listen(place: ResidentSocket) -> socket.socket | None:
    """Return the listening socket once an earlier process has left; ``None`` if the parent ends before."""
    parent = os.getppid()
    while (listener := place.listen()) is None and os.getppid() == parent:
        time.sleep(POLL_S)
    return listener


def _fork_for_each(listener: socket.socket, place: ResidentSocket, code: str) -> None:
    """Fork for each request until the home is gone, or until the parent has ended and no command waits."""
    is_ready, later = False, list[Callable[[], object]]()
    while place.is_held():
        readable, _, _ = select.select([listener, PARENT], [], [], 0 if later else None)
        is_asked = listener in readable
        if not is_asked and PARENT in readable and not os.read(PARENT, 1):
            return
        if not is_ready:
            preload = import_module(PRELOAD)
            preload.preload()
            is_ready, later = True, list(preload.LATER)
        elif is_asked:
            _fork(listener, place, code)
        elif later:
            later.pop(0)()


def _fork(listener: socket.socket, place: ResidentSocket, code: str) -> None:
    """Accept a request, and serve it in a fork."""
    connection, _ = listener.accept()
    with suppress(OSError):
        os.write(PARENT, b"\n")
    gc.freeze()
    if os.fork() == 0:
        listener.close()
        place.leave_to_parent()
        _serve(connection, code)
    connection.close()


def _serve(connection: socket.socket, code: str) -> NoReturn:
    """Run in place of the requesting command, in a fork."""
    try:
        request, streams = _request(connection)
        if request["build"] != code or _differs(request["environ"]):
            os._exit(0)
        _become(request, streams)
        connection.sendall(struct.pack(TAKEN, os.getpid()))
        if connection.recv(1) != GO:
            os._exit(0)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        os._exit(0)
    connection.settimeout(None)
    threading.Thread(target=_end_with, args=[connection], daemon=True).start()
    status = _flushed(_status())
    with suppress(OSError):  # The command may have ended by now.
        connection.sendall(bytes([status & 0xFF]))
    os._exit(status)


def _differs(environ: dict[str, str]) -> bool:
    """Return whether imports would have read other values in a command's environment."""
    return any(os.environ.get(name) != environ.get(name) for name in READ_ONCE)


def _become(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Take the command's directory, streams, environment, umask and arguments.

    Raises:
        OSError: The directory no longer exists.
        KeyError: The request is incomplete.
    """
    os.chdir(request["directory"])
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (
        _stream(descriptor, *form) for descriptor, form in enumerate(request["streams"])
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc] - the interpreter's
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in IGNORABLE:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in request["ignored"] else usual)
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.argv = ["commonplace", *request["arguments"]]


def _stream(
    descriptor: int,
    encoding: str,
    errors: str,
    line_buffering: bool,  # noqa: FBT001 - of a request
    write_through: bool,  # noqa: FBT001 - of a request
) -> io.TextIOWrapper:
    """Return a standard stream as the interpreter opens it."""
    binary = open(  # noqa: SIM115 - a descriptor, which stays open
        descriptor,
        "wb" if descriptor else "rb",
        buffering=0 if write_through and descriptor else -1,
        closefd=False,
    )
    return io.TextIOWrapper(
        binary,
        encoding=encoding,
        errors=errors,
        newline="\n",
        line_buffering=line_buffering,
        write_through=write_through,
    )


def _request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return a request and the descriptors of its standard streams.

    Raises:
        ConnectionError: The client ended before it had sent all of the request.
        TypeError: The request is not an object.
    """
    connection.settimeout(READING_S)
    head, streams, _, _ = socket.recv_fds(connection, struct.calcsize(LENGTH), 3)
    document = b""
    while len(document) < struct.unpack(LENGTH, head)[0]:
        part = connection.recv(1 << 20)
        if not part:
            raise ConnectionError("the client ended before it had sent all of its request")
        document += part
    request = json.loads(document)
    if not isinstance(request, dict):
        raise TypeError(f"request: expected an object, got {type(request).__name__}")
    return cast("dict[str, Any]", request), streams


def _end_with(connection: socket.socket) -> None:
    """End this process when the requesting command has ended."""
    try:
        connection.recv(1)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _status() -> int:
    try:
        import_module("commonplace.cli.main").main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # noqa: BLE001 - printed as the interpreter would
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _flushed(status: int) -> int:
    """Write what standard output still holds, and return the exit status as the interpreter would change it."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        with suppress(OSError):
            sys.stderr.write(f"error: standard output cannot be written: {error}\n")
        return status or FAILED_FLUSH
    return status


if __name__ == "__main__":
    sys.exit(main())
