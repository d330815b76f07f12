"""The module that the resident process runs: it listens at once, and imports other modules afterwards.

So a client can connect as soon as an interpreter has started, and if several processes start at once, all but one end
before they import much. The database server and the process that forks MCP servers start while this process imports
the rest.
"""

import gc
import os
import subprocess
import sys
import threading
from importlib import import_module

from commonplace.core.interpreter import COLLECT_AFTER
from commonplace.hosts.resident.client import build
from commonplace.hosts.resident.resident_socket import ResidentSocket


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
    """Serve the home that the first argument names until nobody needs it; return the exit status."""
    place = ResidentSocket(sys.argv[1])
    code = build()
    listener = place.listen()
    if listener is None:
        return 0
    os.chdir("/")
    gc.set_threshold(COLLECT_AFTER)
    try:
        forks = subprocess.Popen(  # noqa: S603 - this interpreter and our own module
            [sys.executable, "-P", "-m", "commonplace.hosts.resident.mcp_fork_server", place.home],
            stdin=subprocess.PIPE,
            bufsize=0,
        )
        early = EarlyServer()
        early.start()
        server = import_module("commonplace.hosts.resident.server")
        return server.serve(place, listener, code, early.release, forks.stdin)
    finally:
        place.leave()


if __name__ == "__main__":
    sys.exit(main())
