"""A process that preloads the modules of MCP servers, and forks for each server.

A client waits about a second for the handshake of a server, and starting a server is mostly imports. This process
listens at once. It imports when the first command asks, which then waits, or when the resident process has time.

A server has the arguments, directory, environment and standard streams of its command, which waits for the server and
returns its exit status; the umask and the resource limits are those of this process. The server ends with the command,
not with this process.

No Python thread runs here, so that forking is safe. The process ends with its parent, the resident process.
"""

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, NoReturn, cast

from commonplace.core.interpreter import COLLECT_AFTER
from commonplace.hosts.resident.client import LENGTH, TAKEN, build
from commonplace.hosts.resident.resident_socket import MCP, ResidentSocket

PRELOAD: Final = "commonplace.hosts.resident.preload"
"""The module that imports everything that servers need for their first answers."""

LATER: Final = (
    "commonplace.services.briefing",
    "commonplace.mcp.agent.caller_memories",
    "commonplace.operational.memory",
    "commonplace.embedding.onnx_backend",
)
"""Modules that servers need after their first answers. They are imported while no command waits."""

READING_S: Final = 2.0
PARENT: Final = 0
"""Standard input: the resident process writes to it when it has time, and it ends with that process."""

POLL_S: Final = 0.05


def main() -> int:
    """Fork for each request until the parent ends; in a fork, serve and return the exit status."""
    place, code = ResidentSocket(sys.argv[1], MCP), build()
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
    is_ready, later = False, list[str]()
    while place.is_held():
        readable, _, _ = select.select([listener, PARENT], [], [], 0 if later else None)
        is_asked = listener in readable
        if not is_asked and PARENT in readable and not os.read(PARENT, 1):
            return
        if not is_ready:
            import_module(PRELOAD).preload()
            is_ready, later = True, list(LATER)
        elif is_asked:
            _fork(listener, place, code)
        elif later:
            import_module(later.pop(0))


def _fork(listener: socket.socket, place: ResidentSocket, code: str) -> None:
    """Accept a request, and serve it in a fork."""
    connection, _ = listener.accept()
    gc.freeze()
    if os.fork() == 0:
        listener.close()
        place.leave_to_parent()
        _serve(connection, code)
    connection.close()


def _serve(connection: socket.socket, code: str) -> NoReturn:
    """Serve in place of the requesting command, in a fork."""
    try:
        request, streams = _request(connection)
        if request["build"] != code:
            os._exit(0)
        os.chdir(request["directory"])
        for stream, descriptor in enumerate(streams):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        connection.sendall(TAKEN)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        os._exit(0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["commonplace", *request["arguments"]]
    connection.settimeout(None)
    threading.Thread(target=_end_with, args=[connection], daemon=True).start()
    status = _status()
    with suppress(OSError):  # The command may have ended by now.
        sys.stdout.flush()
        connection.sendall(bytes([status & 0xFF]))
    os._exit(status)


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
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as error:  # noqa: BLE001 - printed as the interpreter would
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
