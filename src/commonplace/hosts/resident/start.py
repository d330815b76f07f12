"""The module that the resident process runs: it listens at once, and imports other modules afterwards.

So a client can connect as soon as an interpreter has started, and if several processes start at once, all but one end
before they import much. The database server and the fork server start while this process imports the rest.
"""

import gc
import os
import socket
import subprocess
import sys
import threading
from importlib import import_module

from commonplace.core.interpreter import COLLECT_AFTER
from commonplace.hosts.resident.client import PREPARE, build, prepare
from commonplace.hosts.resident.resident_socket import ResidentSocket

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Variables that keep numerical libraries from starting threads, which a fork would lack."""


class EarlyServer(threading.Thread):
    """A thread that starts the embedded database server of a home, if any, and holds it until the memory has joined."""

    def __init__(self) -> None:
        super().__init__(name="starting the database server", daemon=True)
        self._is_joined = threading.Event()
        # Imported in the main thread, because two threads must not import the same modules at once.
        self._join_server = import_module("commonplace.storage.embedded").join_server
        self._load_settings = import_module("commonplace.core.settings").load_settings

    def run(self) -> None:
        """Join the server, and leave it after :meth:`release`. Errors are reported when the memory is opened."""
        try:
            settings = self._load_settings(read_current_directory=False).settings
            if settings.postgres_url is None and (settings.postgres_directory / "data").exists():
                membership = self._join_server(settings.postgres_directory)
                self._is_joined.wait()
                membership.leave()
        except Exception:  # noqa: BLE001, S110 - the memory is opened again, with a log
            pass

    def release(self) -> None:
        """Let the thread leave the server."""
        self._is_joined.set()


def main() -> int:
    """Serve the home that the first argument names until nobody needs it; return the exit status.

    With the argument ``prepare``, the process opens the memory at once, or has a process that already runs do so.
    """
    place, prepares = ResidentSocket(sys.argv[1]), PREPARE in sys.argv[2:]
    code = build()
    listener = place.listen()
    if listener is None:
        if prepares:
            prepare({})
        return 0
    os.chdir("/")
    gc.set_threshold(COLLECT_AFTER)
    try:
        forks = start_forks(place.home)
        early = EarlyServer()
        early.start()
        server = import_module("commonplace.hosts.resident.server")
        return server.serve(place, listener, code, early.release, forks, prepares=prepares)
    finally:
        place.leave()


def start_forks(home: str) -> socket.socket:
    """Start the fork server of a home, and return a socket that is connected to its standard input."""
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(  # noqa: S603 - this interpreter and our own module
            [sys.executable, "-P", "-m", "commonplace.hosts.resident.fork_server", home],
            stdin=theirs.fileno(),
            env=os.environ | ONE_THREAD,
        )
    ours.settimeout(0.0)
    return ours


if __name__ == "__main__":
    sys.exit(main())
