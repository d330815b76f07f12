"""The running server: its start, its state, and its log.

A lock, not the pid file, shows whether the server runs: the postmaster and all its children inherit ``server.lock``,
and the kernel releases it when the last of them has ended. A pid can be reused, and a pid file outlives a reboot.
"""

import os
import socket
import struct
from pathlib import Path

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage.cluster import SOCKET_NAME, Cluster
from commonplace.storage.file_locks import FileLock

STATUS_LINE, SOCKET_LINE = 7, 4
PROBE = struct.pack("!II", 8, 80877103)
"""The SSLRequest message, which the server answers with one byte before any login."""
PROBE_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 120.0
STARTUP_LOG = "startup.log"
MAX_LOG_BYTES = 10 * 1024 * 1024
TAIL_LINES = 15
TAIL_BYTES = 16 * 1024


def start_postmaster(cluster: Cluster, sockets: Path, server_lock: FileLock, *, timeout_s: float) -> None:
    """Start the server, and wait until it accepts connections.

    The caller holds ``start.lock`` and ``server_lock``, so no server runs, and existing pid files belong to dead
    servers.

    Raises:
        EmbeddedPostgresError: The server did not start; the message has the end of its log.
    """
    (cluster.data / "postmaster.pid").unlink(missing_ok=True)
    (sockets / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)
    _trim_logs(cluster.log)
    outcome = cluster.account.run(
        [
            *(cluster.programs / "pg_ctl", "start", "--silent", "--wait"),
            *("--timeout", str(max(1, int(timeout_s))), "--pgdata", cluster.data_inside),
            *("--log", f"../log/{STARTUP_LOG}"),
        ],
        # Relative paths, because pg_ctl passes them to a shell in double quotes.
        directory=cluster.data,
        pass_fds=[server_lock.fileno()],
        timeout_s=timeout_s + 10,
    )
    if outcome.returncode != 0:
        raise EmbeddedPostgresError(
            f"PostgreSQL did not start in {cluster.directory}: {outcome.stderr.strip()}\n{log_tail(cluster)}"
        )


def stop_postmaster(cluster: Cluster) -> None:
    """Stop the server, and wait until it has ended.

    Raises:
        EmbeddedPostgresError: The server did not stop.
    """
    outcome = cluster.account.run(
        [cluster.programs / "pg_ctl", *("stop", "--silent", "--mode=fast", "--pgdata", cluster.data_inside)],
        directory=cluster.data,
        timeout_s=STOP_TIMEOUT_S,
    )
    if outcome.returncode != 0:
        raise EmbeddedPostgresError(
            f"PostgreSQL did not stop in {cluster.directory}: {outcome.stderr.strip()}"
        )


def answering_socket(cluster: Cluster) -> Path | None:
    """Return the socket directory of a server that answers, or ``None``.

    A killed server accepts connections for another moment, until the kernel has closed its socket, but does not answer.
    """
    try:
        lines = (cluster.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    if len(lines) <= STATUS_LINE or lines[STATUS_LINE].strip() != "ready":
        return None
    directory = Path(os.path.normpath(cluster.data / lines[SOCKET_LINE]))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_TIMEOUT_S)
        try:
            probe.connect(str(directory / SOCKET_NAME))
            probe.sendall(PROBE)
            return directory if probe.recv(1) else None
        except OSError:
            return None


def is_running(directory: Path) -> bool:
    """Return whether the server of a cluster, or a remaining child process, is alive."""
    with FileLock(directory / "server.lock") as lock:
        return not lock.acquire()


def log_tail(cluster: Cluster) -> str:
    """Return the last lines of the server's log, oldest first; empty if there are none."""
    logs = sorted(cluster.log.glob("*.log"), key=lambda path: path.stat().st_mtime)
    lines = [line for path in logs[-2:] for line in _end_of(path).splitlines()]
    return "\n".join(lines[-TAIL_LINES:])


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        return file.read().decode("utf-8", "replace")


def _trim_logs(directory: Path) -> None:
    """Delete old logs that the rotation by weekday misses because it happens only while a server runs."""
    for path in directory.glob("*.log"):
        if path.name == STARTUP_LOG or path.stat().st_size > MAX_LOG_BYTES:
            path.unlink()
