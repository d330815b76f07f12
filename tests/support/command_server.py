"""A process that has imported what commands need, and forks for each of them.

A command's start is mostly imports; in a fork they are done. Everything else is as in a process of its own: its
arguments, directory, environment, three streams, exit status and exit handlers.

A request is one message on the socket that is this process's standard input: JSON with ``arguments``,
``directory`` and ``environment``, and three descriptors. Two messages answer: the child's process id, and what it
exited with, negative for a signal.
"""

import atexit
import gc
import json
import os
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from importlib import import_module
from pkgutil import iter_modules
from typing import NoReturn

import commonplace.cli
from commonplace.cli.main import main

MAX_REQUEST_BYTES = 128 * 1024
COMMANDS = [f"commonplace.cli.{module.name}" for module in iter_modules(commonplace.cli.__path__)]
LATER = ["commonplace.storage.migrations.upgrade", "fastmcp"]
"""What commands import only once they need it."""


def serve(requests: socket.socket) -> list[str]:
    """Fork for each request until there is none; return a command's arguments, in the child alone."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not request:
            sys.exit()
        child = os.fork()
        if child == 0:
            requests.close()
            return become(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        requests.sendall(b"%d" % child)
        _, status = os.waitpid(child, 0)
        requests.sendall(b"%d" % os.waitstatus_to_exitcode(status))


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
    requests = socket.socket(fileno=os.dup(0))
    requests.sendall(b"ready")
    sys.argv = ["commonplace", *serve(requests)]
    leave(status_of_main())


def status_of_main() -> int:
    """Run the command and return its exit status."""
    try:
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
