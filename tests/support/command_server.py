"""A process that has imported what commands need, and forks for each of them.

A command's start is mostly imports; in a fork they are done. Everything else is as in a process of its own: its
arguments, directory, environment, three streams, exit status and exit handlers.

The only argument is the address of a socket. Each connection carries one request: JSON with ``arguments``,
``directory`` and ``environment``, and three descriptors. Two messages answer: the child's process id, and its exit
status, negative for a signal. The arguments ``-c CODE`` run Python code in place of the command.

The process ends with its standard input.
"""

import atexit
import gc
import json
import os
import selectors
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import NamedTuple, NoReturn

import commonplace.cli
from commonplace.cli.main import main

MAX_REQUEST_BYTES = 128 * 1024
COMMANDS = [f"commonplace.cli.{module.name}" for module in iter_modules(commonplace.cli.__path__)]
LATER = ["commonplace.storage.migrations.upgrade", "fastmcp"]
"""What commands import only once they need it."""


class Running(NamedTuple):
    """A child, and the connection that waits for its exit status."""

    child: int
    client: socket.socket


def serve(address: str) -> list[str]:
    """Fork for each request until standard input ends; return a command's arguments, in the child alone."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
        selectors.DefaultSelector() as selector,
    ):
        listener.bind(address)
        listener.listen()
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        os.write(sys.stdout.fileno(), b"ready\n")
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    client, _ = listener.accept()
                    request, descriptors, _, _ = socket.recv_fds(client, MAX_REQUEST_BYTES, 3)
                    if (child := os.fork()) == 0:
                        _close(client, selector)
                        return become(json.loads(request), descriptors)
                    for descriptor in descriptors:
                        os.close(descriptor)
                    client.sendall(b"%d" % child)
                    selector.register(os.pidfd_open(child), selectors.EVENT_READ, Running(child, client))
                elif key.data is not None:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    _answer(key.data)
                else:
                    sys.exit()


def _answer(ended: Running) -> None:
    _, status = os.waitpid(ended.child, 0)
    with ended.client, suppress(BrokenPipeError):  # the client may have been killed
        ended.client.sendall(b"%d" % os.waitstatus_to_exitcode(status))


def _close(client: socket.socket, selector: selectors.BaseSelector) -> None:
    """Close what belongs to the server alone: other clients would wait for this child too."""
    client.close()
    for key in selector.get_map().values():
        if isinstance(key.data, Running):
            os.close(key.fd)
            key.data.client.close()


def become(request: dict[str, object], descriptors: list[int]) -> list[str]:
    """Take a command's place in the world, and return its arguments."""
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    match request:
        case {"arguments": list(arguments), "directory": str(directory), "environment": dict(environment)}:
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(environment)
            return arguments
    raise ValueError(request)


def run() -> NoReturn:
    """Import, then serve; a child leaves the loop and runs as the command does."""
    for module in COMMANDS + LATER:
        import_module(module)
    assert tempfile.tempdir is None, (
        "a directory for temporary files is chosen before the environment is known"
    )
    gc.freeze()
    sys.argv = ["commonplace", *serve(sys.argv[1])]
    leave(status_of_main())


def status_of_main() -> int:
    """Run the command, or the code after ``-c``, and return its exit status."""
    try:
        match sys.argv[1:]:
            case ["-c", code]:
                exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test's code
            case _:
                main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as error:  # noqa: BLE001 - printed as the interpreter would
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def leave(status: int) -> NoReturn:
    """Exit as the interpreter does, but without taking its modules apart: that would copy every page of them."""
    threading._shutdown()  # type: ignore[attr-defined] - waits for threads
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
