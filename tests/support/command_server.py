"""A process that has imported what commands need, and forks for each of them.

A command's start is mostly imports; in a fork they are done. Everything else is as in a process of its own: its
arguments, directory, environment, three streams, exit status and exit handlers.

The embedding model, the statements of the memories, the parsers of commands and the tools of MCP servers are made
as well: they take most of the time of a command that embeds. A home whose graph is the same file gets the open session;
any other graph is opened as ever.

The arguments are the address of a socket, the directory of the graphs, and that of the data that embedded servers begin
with. Each connection carries one request: JSON with ``arguments``, ``directory`` and ``environment``, and three
descriptors. Two messages answer: the child's process id, and its exit status, negative for a signal. A client that
hangs up before that kills the child. The arguments ``-c CODE …`` and ``-m MODULE …`` run Python code in place of the
command. A command that starts Python starts such a fork too, and so does an agent host in which a command installs
commonplace.

The process ends with its standard input.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType
from typing import Any, NoReturn

import onnxruntime
import typer.main

import commonplace.cli
from commonplace import apps, knowledge, operational
from commonplace.access import tokens
from commonplace.access.statements import AccessStatements
from commonplace.cli.frame.lazy import CommandEntry
from commonplace.cli.main import Commands, app
from commonplace.cli.start import COLLECT_AFTER, main
from commonplace.embedding import EmbeddingOptions, onnx_backend
from commonplace.embedding.model_files import ModelFiles
from commonplace.hosts.resident.preload import preload
from commonplace.storage.store import read_statements

MAX_REQUEST_BYTES = 128 * 1024
COMMANDS = [module.name for module in walk_packages(commonplace.cli.__path__, "commonplace.cli.")]
LATER = [
    "anyio._backends._asyncio",
    "commonplace.embedding.onnx_backend",
    "commonplace.hosts.resident.fork_client",
    "commonplace.mcp.apps.server",
    "commonplace.mcp.workspace.server",
    "commonplace.storage.migrations.upgrade",
    "encodings.ascii",
    "fastmcp.server.context",
    "rich.markdown",
    "rich.status",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "typer._adapters",
    "typer._click.decorators",
    "typer.rich_utils",
]
"""What commands import only once they need it."""

MADV_COLLAPSE = 25
"""Linux's advice to put memory into huge pages at once; older releases refuse it."""


class Server:
    """Forks for each request until standard input ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._begin)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ, sys.exit)

    def serve(self) -> list[str]:
        """Return a command's arguments, in a child alone."""
        while True:
            for key, _ in self._selector.select():
                if arguments := key.data():
                    return arguments

    def _begin(self) -> list[str] | None:
        client, _ = self._listener.accept()
        request, descriptors, _, _ = socket.recv_fds(client, MAX_REQUEST_BYTES, 3)
        if not request:  # the client was killed before it asked
            client.close()
            return None
        self._clients.add(client)
        if (child := os.fork()) == 0:
            self._close()
            return become(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(BrokenPipeError):  # the client was killed, which is seen below
            client.sendall(b"%d" % child)
        ends = os.pidfd_open(child)
        self._selector.register(ends, selectors.EVENT_READ, partial(self._end, child, ends, client))
        self._selector.register(client, selectors.EVENT_READ, partial(self._kill, child, client))
        return None

    def _end(self, child: int, ends: int, client: socket.socket) -> None:
        self._selector.unregister(ends)
        os.close(ends)
        _, status = os.waitpid(child, 0)
        if client in self._clients:
            self._hang_up(client, os.waitstatus_to_exitcode(status))

    def _kill(self, child: int, client: socket.socket) -> None:
        """Let a child share the end of a client that was killed."""
        if client in self._clients:  # otherwise both ended in the same moment
            self._hang_up(client)
            os.kill(child, signal.SIGKILL)

    def _hang_up(self, client: socket.socket, status: int | None = None) -> None:
        self._clients.remove(client)
        self._selector.unregister(client)
        with client, suppress(BrokenPipeError):
            if status is not None:
                client.sendall(b"%d" % status)

    def _close(self) -> None:
        """Close in a child what is the server's: clients would wait for the child too."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            elif key.fd != sys.stdin.fileno():
                os.close(key.fd)
        for client in self._clients:
            client.close()
        self._selector.close()


def serve(address: str) -> list[str]:
    """Listen at an address, which an earlier process may have left; return a command's arguments, in a child alone."""
    Path(address).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        os.write(sys.stdout.fileno(), b"ready\n")
        return Server(listener).serve()


def become(request: dict[str, object], descriptors: list[int]) -> list[str]:
    """Take a command's place in the world, and return its arguments.

    Its processor time counts for the process of tests that asked for it.
    """
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    match request:
        case {"arguments": list(arguments), "directory": str(directory), "environment": dict(environment)}:
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(environment)
            if group := os.environ.pop("TESTS_CONTROL_GROUP", None):
                Path(group, "cgroup.procs").write_text("0")
            return arguments
    raise ValueError(request)


def keep_model(graphs: Path) -> None:
    """Open the graphs of the default model, read its tokenizer and hash its weights once, for all children.

    The sessions compute in the thread that calls them: a pool of threads would not be there in a child.
    """
    one_thread = onnxruntime.SessionOptions()
    one_thread.intra_op_num_threads = 1
    open_session = onnxruntime.InferenceSession
    kept = {
        graph: open_session(str(graph), one_thread, providers=["CPUExecutionProvider"])
        for graph in graphs.glob("*.onnx")
    }

    def session(source: str | bytes, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - handed on
        if isinstance(source, str):
            for graph, one in kept.items():
                if graph.samefile(source):
                    return one
        return open_session(source, *arguments, **options)

    onnxruntime.InferenceSession = session
    onnx_backend.TokenCutter = cache(onnx_backend.TokenCutter)
    ModelFiles.version = cache(ModelFiles.version)
    onnx_backend.load(EmbeddingOptions())


def keep_data(directory: Path) -> None:
    """Let children copy the data that an embedded server begins with."""
    sys.path.append(str(Path(__file__).parents[1]))
    import_module("support.data_directories").copy_data(directory)
    sys.path.pop()


def keep_statements() -> None:
    """Read the statements of all memories once: half of the time of a command that reads a row."""
    for memory in (knowledge, operational, apps):
        memory.prepare_statements()
    read_statements(AccessStatements, tokens.SQL_DIRECTORY, "sqlite")


def keep_command_line() -> None:
    """Build the parser of each command once, for all children."""
    typer.main.get_command = cache(typer.main.get_command)
    CommandEntry.load = cache(CommandEntry.load)
    for each in (app, *(entry.load() for entry in Commands.entries.values())):
        typer.main.get_command(each)


def make_forks_cheap() -> None:
    """Let a fork copy, and a child change, as few pages of memory as possible.

    Huge pages, where Linux has them, take the place of most of the page table. The handler of nanobind, on which ONNX
    Runtime is built, would empty the caches of ``typing`` in each child. Without both, a fork that does nothing takes
    30 ms of a processor; with them, 10 ms.
    """
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == "<internal>":
            atexit.unregister(each)
    gc.collect()
    gc.freeze()
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, inode, *_ = line.split()
        begin, end = (int(address, 16) for address in addresses.split("-"))
        if access == "rw-p" and inode == "0":
            madvise(begin, end - begin, MADV_COLLAPSE)


def run() -> NoReturn:
    """Import and load, then serve; a child leaves the loop and runs as the command does."""
    for module in COMMANDS + LATER:
        import_module(module)
    keep_model(Path(sys.argv[2]))
    keep_data(Path(sys.argv[3]))
    keep_command_line()
    preload()
    keep_statements()
    assert tempfile.tempdir is None, (
        "a directory for temporary files is chosen before the environment is known"
    )
    make_forks_cheap()
    gc.set_threshold(COLLECT_AFTER)
    sys.executable = str(Path(sys.argv[1]).with_name("python"))
    sys.argv = ["commonplace", *serve(sys.argv[1])]
    leave(status_of_main())


def status_of_main() -> int:
    """Run the command, the code after ``-c`` or a program in a file, and return its exit status."""
    try:
        customize()
        match sys.argv[1:]:
            case ["-c", code, *rest]:
                sys.argv = ["-c", *rest]
                sys.path.insert(0, "")
                exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test's code
            case ["-m", module, *rest] | ["-P", "-m", module, *rest]:
                sys.argv = [module, *rest]
                sys.modules.pop(module, None)
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case [script, *rest] if script.endswith(".py"):
                sys.argv = [script, *rest]
                sys.path.insert(0, str(Path(script).parent))
                runpy.run_path(script, run_name="__main__")
            case _:
                main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as error:  # noqa: BLE001 - printed as the interpreter would
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def customize() -> None:
    """Run the modules that the interpreter would run as it starts."""
    for directory in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if (module := Path(directory, "sitecustomize.py")).is_file():
            runpy.run_path(str(module))


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
