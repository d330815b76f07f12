"""Client of the resident process, for hooks.

Every prompt waits for this module, so it imports only the standard library, and little of it.
"""

import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping

from commonplace.core.decoding import decode_text
from commonplace.hosts.resident.resident_socket import ResidentSocket

DEADLINES_S = {"session-start": 25.0, "user-prompt": 5.0, "session-end": 17.0}
"""The events, and how long the client waits for an answer: less than Claude Code waits for the hook."""

PREPARE = "prepare"
"""The event of an installation, for which the process opens the memory for the first session."""

OPTIONS = frozenset({"--butler", "--host", "--server", "--token-file"})

START_S = 3.0
"""Seconds that a client waits for a new process to listen before it does the work itself."""

POLL_S = 0.005
MAX_INPUT_BYTES = 16 * 1024 * 1024
OTHER_VARIABLES = ("CLAUDEOPS_MEMORY_BUDGET", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Variables that a hook reads besides the settings."""

PLACES = ("workspace", "database", "prompts_directory", "model_api_key_file", "embedding_model", "reranker")
"""Settings that may be relative to the current directory, which the resident process does not share."""

MACOS_PEER_PID = (0, 2)
"""macOS's ``SOL_LOCAL`` and ``LOCAL_PEERPID``, which Python does not name."""


class DiedError(Exception):
    """The resident process ended without an answer, or refused the request because it is being replaced."""


def answer_hook(arguments: list[str]) -> bool:
    """Ask the resident process to answer a hook, given the arguments after ``hook``, and print the answer.

    Returns:
        Whether the hook is done. If not, the caller does the work, with the same standard input.
    """
    began = time.monotonic()
    call = _parse(arguments)
    home = home_of(os.environ) if call else None
    if call is None or home is None or sys.stdin.isatty():
        return False
    event, options = call
    document = sys.stdin.buffer.read(MAX_INPUT_BYTES)
    try:
        answer = _ask(ResidentSocket(home), _request(event, document, options), began + DEADLINES_S[event])
    except TimeoutError:
        _log(home, f"{event}: gave up after {DEADLINES_S[event]:g} s")
        return True
    except (OSError, DiedError, ValueError):
        _give_back(document)
        return False
    try:
        sys.stdout.buffer.write(answer.encode())
        sys.stdout.buffer.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return True


def _request(event: str, document: bytes, options: Mapping[str, str]) -> bytes:
    request = {
        "build": build(),
        "event": event,
        "butler": options.get("--butler"),
        "host": options.get("--host", "claude-code"),
        "server": options.get("--server"),
        "token_file": options.get("--token-file", ""),
        "document": decode_text(document),
        "directory": _current_directory(),
        "environ": {
            name: value
            for name, value in os.environ.items()
            if name.startswith("COMMONPLACE_") or name in OTHER_VARIABLES
        },
    }
    return json.dumps(request).encode()


def _current_directory() -> str:
    """Return the current directory, or the root if it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"


def prepare(options: Mapping[str, str]) -> bool:
    """Ask the resident process to prepare the next session, unless hooks do their own work; return whether it does.

    Args:
        options: Options of the hooks; with ``--server``, the process opens no memory of the home.
    """
    home = home_of(os.environ)
    if home is None:
        return False
    try:
        _ask(
            ResidentSocket(home),
            _request(PREPARE, b"", options),
            time.monotonic() + DEADLINES_S["session-start"],
        )
    except (OSError, DiedError, ValueError):
        return False
    return True


def build() -> str:
    """Return the identity of this installation's code; a process with another identity is replaced."""
    found = os.stat(__file__)  # noqa: PTH116 - pathlib takes time to import
    return f"{__file__}:{found.st_ino}:{found.st_mtime_ns}"


def _parse(arguments: list[str]) -> tuple[str, dict[str, str]] | None:
    """Return the event and options; ``None`` for arguments that the command line must handle."""
    event, names, values = arguments[:1], arguments[1::2], arguments[2::2]
    if not event or event[0] not in DEADLINES_S or len(names) != len(values):
        return None
    return (event[0], dict(zip(names, values, strict=True))) if OPTIONS.issuperset(names) else None


def home_of(environ: Mapping[str, str]) -> str | None:
    """Return the home; ``None`` if it has no resident process, or if its path cannot be determined cheaply."""
    # The same as in platformdirs, which takes time to import.
    data = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    default = f"{environ.get('XDG_DATA_HOME') or os.path.expanduser(data)}/commonplace"  # noqa: PTH111
    home = environ.get("COMMONPLACE_HOME")
    file = environ.get("COMMONPLACE_CONFIG") or f"{home or default}/commonplace.toml"
    values: dict[str, object] = {}
    try:
        with open(file, "rb") as config:  # noqa: PTH123
            import tomllib  # noqa: PLC0415 - few homes have a file

            values = tomllib.load(config)
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        return None
    home = os.path.expanduser(home or str(values.get("home") or default))  # noqa: PTH111
    values |= {each: environ.get(f"COMMONPLACE_{each.upper()}") or values.get(each) for each in PLACES}
    if _is_relative("config", environ.get("COMMONPLACE_CONFIG")) or any(
        _is_relative(each, values[each]) for each in PLACES
    ):
        return None
    idle = environ.get("COMMONPLACE_RESIDENT_IDLE_S") or str(values.get("resident_idle_s", 1))
    return home if os.path.isabs(home) and idle.strip("0.") else None  # noqa: PTH117


def _is_relative(setting: str, value: object) -> bool:
    """Return whether a setting names a place relative to the current directory."""
    if not isinstance(value, str) or not value or value.startswith(("/", "~")) or "://" in value:
        return False
    # The name of a model is not a path.
    return setting not in {"embedding_model", "reranker"} or os.path.isdir(value)  # noqa: PTH112


def _ask(place: ResidentSocket, request: bytes, deadline: float) -> str:
    """Return the answer to a request; if the process is being replaced, ask a new one.

    Raises:
        TimeoutError: The process did not answer in time; it was killed.
        OSError: No process can be reached or started in time.
        DiedError: The process died twice.
        ValueError: The answer is malformed.
    """
    try:
        return _exchange(place.connect(_left(deadline)), request, deadline)
    except TimeoutError:
        raise
    except (OSError, DiedError):
        return _exchange(started(place, deadline), request, deadline)


def _exchange(connection: socket.socket, request: bytes, deadline: float) -> str:
    with connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            parts: list[bytes] = []
            while part := _receive(connection, deadline):
                parts.append(part)
        except TimeoutError:
            # A working process always answers in time, so this one hangs. Acknowledged work is not lost.
            _kill(connection)
            raise
    if not parts:
        raise DiedError
    answer = json.loads(b"".join(parts))
    if "text" not in answer:
        raise DiedError
    return str(answer["text"])


def _receive(connection: socket.socket, deadline: float) -> bytes:
    connection.settimeout(_left(deadline))
    return connection.recv(65536)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def _kill(connection: socket.socket) -> None:
    """Kill the listening process, by the id that the kernel reports."""
    pid = process_at(connection)
    # The kernel reports 0 for a process in another container, which os.kill would take as the caller's own group.
    if pid > 0:
        try:  # noqa: SIM105 - contextlib takes time to import
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def process_at(connection: socket.socket) -> int:
    """Return the id of the process at the other end; 0 if the system does not report it."""
    if sys.platform == "darwin":
        return connection.getsockopt(*MACOS_PEER_PID)
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    form = "3i"
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    return int(struct.unpack(form, credentials)[0])


def spawn(home: str, *arguments: str) -> int:
    """Start a resident process, and return its id."""
    # -P: modules in the current directory, the workspace, must not be imported.
    return _spawn([sys.executable, "-P", "-m", "commonplace.hosts.resident.start", home, *arguments])


def _spawn(command: list[str]) -> int:
    """Start a process apart from the terminal of this one, and return its id."""
    devnull = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    try:
        return os.posix_spawn(command[0], command, os.environ, file_actions=devnull, setsid=True)
    except (
        NotImplementedError
    ):  # The system cannot begin a session here; Ctrl-C does not reach a separate group either.
        return os.posix_spawn(command[0], command, os.environ, file_actions=devnull, setpgroup=0)


def started(place: ResidentSocket, deadline: float) -> socket.socket:
    """Start a process and return a connection to it, or to another process that was faster.

    Raises:
        OSError: The process ended at once, or does not listen in time.
    """
    child = spawn(place.home)
    until = min(time.monotonic() + START_S, deadline)
    while True:
        try:
            return place.connect(_left(deadline))
        except OSError:
            ended, status = os.waitpid(child, os.WNOHANG) if child else (0, 0)
            if (ended and status) or time.monotonic() >= until:
                raise
            child = 0 if ended else child
            time.sleep(POLL_S)


def _give_back(document: bytes) -> None:
    """Make the standard input readable again."""
    import io  # noqa: PLC0415 - only where the process fails

    sys.stdin = io.TextIOWrapper(io.BytesIO(document))


def _log(home: str, message: str) -> None:
    """Write to the log of the hooks, or to standard error."""
    line = f"{time.strftime('%Y-%m-%d %H:%M:%S')},000 ERROR {__name__}: {message}\n"
    try:
        with open(f"{home}/logs/hooks.log", "a", encoding="utf-8") as log:  # noqa: PTH123
            log.write(line)
    except OSError:
        sys.stderr.write(line)
