"""The resident process of a home, as tests see it."""

import os
import signal
import socket
import struct
from pathlib import Path

from commonplace.hosts.resident.resident_socket import ResidentSocket
from support.deadlines import DEADLINE_S
from support.postgres import wait_until

RESIDENT = {"COMMONPLACE_RESIDENT_IDLE_S": "60"}
"""Lets hooks use a resident process, which other tests switch off."""

PATIENT = {"PYTHONPATH": str(Path(__file__).with_name("patience"))}
"""Lets hooks and the process wait for each other as long as it takes; see ``patience/sitecustomize.py``."""


def pid_of(home: Path) -> int | None:
    """Return the number of the process that listens in a home; ``None`` if no process does."""
    try:
        with ResidentSocket(str(home)).connect(DEADLINE_S) as connection:
            form = "3i"
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
            return struct.unpack(form, found)[0]
    except OSError:
        return None


def end(home: Path, number: signal.Signals = signal.SIGTERM) -> None:
    """End the process of a home, and wait until it is gone."""
    if (pid := pid_of(home)) is not None:
        os.kill(pid, number)
        wait_until(lambda: not _is_alive(pid), what="the end of the resident process")


def _is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie, whose parent was a test, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # The second one if it ends while its file is read.
        return False
