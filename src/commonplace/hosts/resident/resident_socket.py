"""The place of the resident process in a home: its socket and its lock.

    $COMMONPLACE_HOME/resident/hooks          the socket, accessible only to its owner
    $COMMONPLACE_HOME/resident/hooks.lock     held while the process listens
    $COMMONPLACE_HOME/resident/forks          the same for the process that forks commands and MCP servers
    $COMMONPLACE_HOME/resident/forks.lock

The kernel releases the lock when the process dies for any reason. The holder replaces a socket left by a dead process.
Only the standard library is imported, because every hook waits for this module.
"""

import fcntl
import os
import socket
from collections.abc import Callable

DIRECTORY = "resident"
HOOKS = "hooks"
FORKS = "forks"
MAX_SOCKET_PATH_BYTES = 100
"""Linux allows 107, macOS 103."""

OPEN_FILES = "/proc/self/fd"
"""Linux's directory of the open files of this process."""

BACKLOG = 64


class ResidentSocket:
    """The socket and the lock of one home.

    Args:
        home: The home, an absolute path.
        name: The name of the socket.
    """

    def __init__(self, home: str, name: str = HOOKS) -> None:
        self.home = home
        self.directory = f"{home}/{DIRECTORY}"
        self.name = name
        self.socket = f"{self.directory}/{name}"
        self._lock = -1
        self._bound: os.stat_result | None = None

    def connect(self, timeout_s: float) -> socket.socket:
        """Return a connection to the process.

        Raises:
            OSError: No process listens, or the socket belongs to somebody else.
        """
        if os.stat(self.socket).st_uid != os.getuid():  # noqa: PTH116 - pathlib takes time to import
            raise PermissionError(f"{self.socket} belongs to another user")
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(timeout_s)
            self._at_address(connection.connect)
        except OSError:
            connection.close()
            raise
        return connection

    def listen(self) -> socket.socket | None:
        """Return the listening socket; ``None`` if another process listens.

        Raises:
            OSError: The home cannot be written.
        """
        for directory in (self.home, self.directory):
            os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103
        os.chmod(self.directory, 0o700)  # noqa: PTH101
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(f"{self.socket}.lock", flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        self._lock = lock
        if os.path.lexists(self.socket):
            os.unlink(self.socket)  # noqa: PTH108
        listener = socket.socket(socket.AF_UNIX)
        self._at_address(listener.bind)
        os.chmod(self.socket, 0o600)  # noqa: PTH101
        listener.listen(BACKLOG)
        self._bound = os.stat(self.socket)  # noqa: PTH116
        return listener

    def is_held(self) -> bool:
        """Return whether the socket in the home belongs to this process, as a home may be deleted and recreated."""
        try:
            return self._bound is not None and os.path.samestat(os.stat(self.socket), self._bound)  # noqa: PTH116
        except OSError:
            return False

    def leave(self) -> None:
        """Remove the socket and release the lock, so that the next process can listen. A second call does nothing."""
        if self.is_held():
            os.unlink(self.socket)  # noqa: PTH108
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def leave_to_parent(self) -> None:
        """Close the lock in a fork, so that only the parent holds it."""
        os.close(self._lock)
        self._lock, self._bound = -1, None

    def _at_address(self, use: Callable[[str], None]) -> None:
        """Call a function with the socket's address; if the path is too long, use its open directory.

        If the system has no directory of open files, the call is made inside the socket's directory.
        """
        if len(os.fsencode(self.socket)) <= MAX_SOCKET_PATH_BYTES:
            use(self.socket)
            return
        is_listed = os.path.isdir(OPEN_FILES)  # noqa: PTH112
        directory = os.open(self.directory if is_listed else ".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if is_listed:
                use(f"{OPEN_FILES}/{directory}/{self.name}")
            else:
                os.chdir(self.directory)
                use(self.name)
        finally:
            if not is_listed:
                os.fchdir(directory)
            os.close(directory)
