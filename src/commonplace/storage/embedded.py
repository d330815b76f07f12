"""The embedded PostgreSQL server: started at first use, shared by all users, stopped after the last user leaves.

Four locks in the cluster's directory coordinate its users. The kernel releases a lock when its holder dies for any
reason, so nothing needs cleaning up after a crash:

=============  ==========================================================  ==================================
lock           held by                                                     meaning
=============  ==========================================================  ==================================
``start``      a user, exclusively, while it joins                         no other process starts anything
``users``      each user, shared; the reaper, exclusively, while it stops  the users of the server
``server``     the postmaster and all of its children; initdb before it    the server is alive
``reaper``     the reaper, all its life                                    a process will stop the server
=============  ==========================================================  ==================================

To join the server, a user takes ``start``, then ``users``, then starts a reaper and a server if there is none, in this
order. The reaper (:mod:`commonplace.storage.reaper`) waits for ``users``, stops the server while ``server``
is held, and ends.

- *Two users start at once.* ``start`` admits one at a time; the second finds a server and joins it.
- *A user arrives while the reaper stops the server.* It waits for ``users`` until the server has ended, and
  starts it again. The reaper releases ``reaper`` before ``users``, so the new user never relies on a reaper
  that is about to end.
- *All users are killed.* The kernel releases ``users``, and the reaper stops the server.
- *A user is killed while it starts the server.* The reaper was started first and stops the half-started
  server; if the next user is faster, that user waits until the server answers.
- *The reaper is killed.* The server keeps running. The next user finds ``reaper`` free and starts another reaper.
- *The postmaster is killed.* ``server`` stays held until its last child has ended, which takes moments. Then the
  next user starts a new server, which recovers from the write-ahead log. Old pid files are removed unread, because the
  holder of ``server`` knows that their process is dead, even if its id was reused. Earlier users call
  :meth:`EmbeddedPostgres.start` again, as the pool does (:mod:`commonplace.storage.postgres`).
- *The machine restarts.* No lock is held, regardless of remaining files.
- *Setup is killed.* ``initdb`` works in a draft directory, which is renamed when complete. If its user is killed,
  ``initdb`` may continue while holding ``server``; the next user waits for it and removes the draft.
- *The home is deleted under a running server.* The server notices within a minute and ends. A home created
  again at the same path has new locks; the old reaper sees that its lock is not the one at that path and leaves the
  new server alone.

A child that a user forks without exec holds ``users`` like its parent. Use a home on only one machine or in one
container, because processes that do not see each other's pids cannot stop each other's server.
"""

import asyncio
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.core.progress import begin_step
from commonplace.storage import reaper
from commonplace.storage.cluster import (
    APPLICATION_ROLE,
    DATABASE,
    Cluster,
    configure,
    create_data,
    locate_cluster,
    socket_directory,
    socket_url,
)
from commonplace.storage.file_locks import POLL_S, FileLock
from commonplace.storage.majors import finish_upgrade, upgrade_major
from commonplace.storage.postmaster import answering_socket, log_tail, start_postmaster

logger = logging.getLogger(__name__)

START_TIMEOUT_S = 60.0
"""A start takes about a tenth of a second, but recovery after a crash may take much longer."""


class Membership:
    """One user's membership in the running server, until the user leaves or the process dies.

    ``users`` is the lock, held shared.
    """

    def __init__(self, cluster: Cluster, sockets: Path, users: FileLock) -> None:
        self.cluster = cluster
        self.sockets = sockets
        self._users = users

    def url(self, *, role: str = APPLICATION_ROLE, database: str = DATABASE) -> str:
        """Return the URL of a database in the cluster, for asyncpg and for libpq."""
        return socket_url(self.sockets, role=role, database=database)

    def leave(self) -> None:
        """Leave the server, which stops soon after its last user leaves. A second call does nothing."""
        self._users.close()


def join_server(directory: Path, *, timeout_s: float = START_TIMEOUT_S) -> Membership:
    """Start the server of a directory, or join a running one, and wait until it accepts connections.

    This call blocks; in an event loop, use :class:`EmbeddedPostgres`.

    Args:
        directory: The directory of the cluster, such as ``$COMMONPLACE_HOME/postgres``; created if it does not exist.
        timeout_s: Seconds to wait for other processes and for the server.

    Raises:
        EmbeddedPostgresError: The server cannot be set up or started; the message has PostgreSQL's output.
    """
    cluster = locate_cluster(directory)
    deadline = time.monotonic() + timeout_s
    try:
        with cluster.lock("start") as start:
            if not start.wait(deadline=deadline):
                raise EmbeddedPostgresError(
                    f"another process has been starting {cluster.directory} for too long"
                )
            users = _join_users(cluster, deadline)
            try:
                _ensure_reaper(cluster)
                return Membership(cluster, _ensure_server(cluster, deadline), users)
            except BaseException:
                users.close()
                raise
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedPostgresError(
            f"cannot use the database's directory {cluster.directory}: {error}"
        ) from error


def remove_cluster(directory: Path) -> None:
    """Delete the server of a directory with all its data after its last user has left.

    This call blocks. A directory without a server is not changed.

    Raises:
        EmbeddedPostgresError: The server is still in use after a minute, or it cannot be deleted.
    """
    if not os.path.lexists(directory):
        return
    cluster = locate_cluster(directory)
    deadline = time.monotonic() + START_TIMEOUT_S
    with cluster.lock("start") as start, cluster.lock("users") as users, cluster.lock("server") as server:
        # The reaper needs ``users`` to stop the server, so wait for the server's end before taking that lock.
        if not (
            start.wait(deadline=deadline)
            and _is_stopped(cluster, deadline)
            and users.wait(deadline=deadline)
            and server.wait(deadline=deadline)
        ):
            raise EmbeddedPostgresError(f"the server in {cluster.directory} is still in use")
        try:
            shutil.rmtree(socket_directory(cluster), ignore_errors=True)
            shutil.rmtree(cluster.directory)
            if directory.is_symlink():
                directory.unlink()
        except OSError as error:
            raise EmbeddedPostgresError(f"cannot delete {cluster.directory}: {error}") from error


def _is_stopped(cluster: Cluster, deadline: float) -> bool:
    """Wait until no server runs; return whether this happened in time."""
    with cluster.lock("server") as server:
        return server.wait(deadline=deadline)


def _join_users(cluster: Cluster, deadline: float) -> FileLock:
    users = cluster.lock("users")
    if users.wait(shared=True, deadline=deadline):
        return users
    users.close()
    raise EmbeddedPostgresError(
        f"the server in {cluster.directory} is being stopped, but did not end\n{log_tail(cluster)}"
    )


def _ensure_reaper(cluster: Cluster) -> None:
    with cluster.lock("reaper") as lock:
        if not lock.acquire():
            return
        account = cluster.account
        subprocess.run(  # noqa: S603 - this interpreter and our own script
            [
                *(sys.executable, "-I", "-S", reaper.__file__),
                *(cluster.directory, cluster.programs / "pg_ctl", str(account.uid), str(account.gid)),
            ],
            check=True,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,
            stdin=lock.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _ensure_server(cluster: Cluster, deadline: float) -> Path:
    while time.monotonic() < deadline:
        with cluster.lock("server") as lock:
            if lock.acquire():
                started_at = time.monotonic()
                finish_upgrade(cluster)
                if not cluster.data.exists():
                    begin_step("Creating the database of this home, once")
                    create_data(cluster, lock)
                upgrade_major(cluster, lock)
                sockets = configure(cluster)
                # The upgrade may have used up the time for the start.
                start_postmaster(cluster, sockets, lock, timeout_s=max(10.0, deadline - time.monotonic()))
                logger.debug("started %s in %.2f s", cluster.directory, time.monotonic() - started_at)
                return sockets
        sockets = answering_socket(cluster)
        if sockets is not None:
            return sockets
        time.sleep(POLL_S)
    raise EmbeddedPostgresError(f"the server in {cluster.directory} does not answer\n{log_tail(cluster)}")


class EmbeddedPostgres:
    """A PostgreSQL server with pgvector that needs no installation. Use it with ``async with``.

    Any number of processes may use one directory at once, and a process may hold several instances.

    Args:
        directory: The directory of the cluster, such as ``$COMMONPLACE_HOME/postgres``; created if it does not exist.
        timeout_s: Seconds to wait for other processes and for the server.
    """

    def __init__(self, directory: Path, *, timeout_s: float = START_TIMEOUT_S) -> None:
        self.directory = directory
        self._timeout_s = timeout_s
        self._membership: Membership | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> str:
        """Start or join the server, even after it has died, and return the application's URL.

        Raises:
            EmbeddedPostgresError: The server cannot be set up or started; the message has PostgreSQL's output.
        """
        async with self._starting:
            membership = await self._join()
            await self.close()
            self._membership = membership
            return membership.url()

    async def url(self) -> str:
        """Return the application's URL; start or join the server only if this instance has not done so.

        Raises:
            EmbeddedPostgresError: The server cannot be set up or started.
        """
        return self._membership.url() if self._membership is not None else await self.start()

    async def _join(self) -> Membership:
        """Join in a thread. A thread cannot be cancelled, so it leaves the server again if the caller is gone."""
        joined: list[Membership] = []
        abandoned = threading.Event()

        def join() -> Membership:
            joined.append(join_server(self.directory, timeout_s=self._timeout_s))
            if abandoned.is_set():
                joined[0].leave()
            return joined[0]

        try:
            return await asyncio.to_thread(join)
        except asyncio.CancelledError:
            abandoned.set()
            for membership in joined:
                membership.leave()
            raise

    async def close(self) -> None:
        """Leave the server, which stops soon after its last user leaves. A second call does nothing."""
        if self._membership is not None:
            self._membership.leave()
            self._membership = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
