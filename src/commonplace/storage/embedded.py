"""The embedded PostgreSQL server: started when first needed, shared by all who use it, stopped after the last.

Four locks in the cluster's directory say who does what. The kernel frees them when their holder dies, by
whatever means, so that nothing has to be cleaned up after a crash:

=============  ==========================================================  ==================================
lock           held by                                                     meaning
=============  ==========================================================  ==================================
``start``      a user, exclusively, while it joins                         nobody else starts anything
``users``      each user, shared; the reaper, exclusively, while it stops  who needs the server
``server``     the postmaster and all of its children; initdb before it    the server lives
``reaper``     the reaper, all its life                                    somebody will stop the server
=============  ==========================================================  ==================================

To join is to take ``start``, then ``users``, then to start a reaper and a server where there is none, in this
order. The reaper (:mod:`commonplace.storage.reaper`) waits for ``users``, stops the server while ``server``
is held, and ends.

- *Two start at once.* ``start`` lets one through at a time; the second finds a server and joins it.
- *A user comes while the reaper stops the server.* It waits for ``users`` until the server is gone, and
  starts it again. The reaper frees ``reaper`` before ``users``, so the newcomer never counts on a reaper that
  is about to end.
- *All users are killed.* The kernel frees ``users``, and the reaper does the rest.
- *A user is killed while it starts the server.* The reaper was there first. It stops the half-started server;
  when the next user is faster, that one waits until the server answers.
- *The reaper is killed.* The server goes on. The next user finds ``reaper`` free and starts another reaper.
- *The postmaster is killed.* ``server`` stays held until its last child is gone, at most moments; then the
  next user starts a new one, which recovers from the write-ahead log. Its pid files are removed unread: with
  ``server`` in hand it is known to be a dead one's, though its number may be another process's by now. Who
  had joined before calls :meth:`EmbeddedPostgres.start` again, as the pool does
  (:mod:`commonplace.storage.postgres`).
- *The machine restarts.* No lock is held, whatever files are left.
- *Set-up is killed.* ``initdb`` works in a draft directory, renamed when it is complete. When its user is
  killed it may go on alone, and holds ``server`` while it does; the next user waits for that, and removes the
  draft.
- *The home is deleted under a running server.* The server notices within a minute and ends. A home made again
  at the same place has new locks, and the old reaper, seeing that its lock is not the one at that path,
  leaves the new server alone.

A child that a user forks without exec holds ``users`` as its parent did. One home is for one machine or one
container: processes that do not see each other's pids cannot stop each other's server.
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
from urllib.parse import quote, urlencode

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage import reaper
from commonplace.storage.cluster import (
    APPLICATION_ROLE,
    DATABASE,
    PORT,
    Cluster,
    configure,
    create_data,
    locate_cluster,
)
from commonplace.storage.file_locks import POLL_S, FileLock
from commonplace.storage.postmaster import answering_socket, log_tail, start_postmaster

logger = logging.getLogger(__name__)

START_TIMEOUT_S = 60.0
"""Recovery after a crash may take long; a start takes about a tenth of a second."""


class Membership:
    """One user's hold on the running server, until it is left or the process dies.

    Args:
        cluster: The server's directory.
        sockets: The directory of its socket.
        users: The lock, held shared.
    """

    def __init__(self, cluster: Cluster, sockets: Path, users: FileLock) -> None:
        self.cluster = cluster
        self.sockets = sockets
        self._users = users

    def url(self, *, role: str = APPLICATION_ROLE, database: str = DATABASE) -> str:
        """Return the URL of a database in the cluster, for asyncpg and for libpq."""
        place = urlencode({"host": str(self.sockets), "port": PORT}, quote_via=quote, safe="/")
        return f"postgresql://{quote(role)}@/{quote(database)}?{place}"

    def leave(self) -> None:
        """Let go of the server, which is stopped soon after its last user left. Repeating does nothing."""
        self._users.close()


def join_server(directory: Path, *, timeout_s: float = START_TIMEOUT_S) -> Membership:
    """Start the server of a directory, or join it where it runs, and wait until it accepts connections.

    Blocks; :class:`EmbeddedPostgres` is for event loops.

    Args:
        directory: Where the cluster is or shall be, for example ``$COMMONPLACE_HOME/postgres``.
        timeout_s: Seconds to wait for other processes and for the server.

    Raises:
        EmbeddedPostgresError: It cannot be set up or started, with what PostgreSQL said.
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


def remove_cluster(directory: Path, *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Delete the server of a directory with everything in it, once its last user has gone.

    Blocks. A directory where there never was one is left alone.

    Raises:
        EmbeddedPostgresError: Somebody still uses it after ``timeout_s``, or it cannot be deleted.
    """
    if not os.path.lexists(directory):
        return
    cluster = locate_cluster(directory)
    deadline = time.monotonic() + timeout_s
    with cluster.lock("start") as start, cluster.lock("users") as users, cluster.lock("server") as server:
        if not all(lock.wait(deadline=deadline) for lock in (start, users, server)):
            raise EmbeddedPostgresError(f"the server in {cluster.directory} is still in use")
        try:
            shutil.rmtree(cluster.directory)
            if directory.is_symlink():
                directory.unlink()
        except OSError as error:
            raise EmbeddedPostgresError(f"cannot delete {cluster.directory}: {error}") from error


def _join_users(cluster: Cluster, deadline: float) -> FileLock:
    users = cluster.lock("users")
    if users.wait(shared=True, deadline=deadline):
        return users
    users.close()
    raise EmbeddedPostgresError(
        f"the server in {cluster.directory} is being stopped, and did not end\n{log_tail(cluster)}"
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
                if not cluster.data.exists():
                    create_data(cluster, lock)
                sockets = configure(cluster)
                start_postmaster(cluster, sockets, lock, timeout_s=max(1.0, deadline - time.monotonic()))
                logger.debug("started %s in %.2f s", cluster.directory, time.monotonic() - started_at)
                return sockets
        sockets = answering_socket(cluster)
        if sockets is not None:
            return sockets
        time.sleep(POLL_S)
    raise EmbeddedPostgresError(f"the server in {cluster.directory} does not answer\n{log_tail(cluster)}")


class EmbeddedPostgres:
    """A PostgreSQL server with pgvector that needs no installation; use it with ``async with``.

    Any number of processes may use one directory at once, and a process may hold several instances.

    Args:
        directory: Where the cluster is or shall be, for example ``$COMMONPLACE_HOME/postgres``.
        timeout_s: Seconds to wait for other processes and for the server.
    """

    def __init__(self, directory: Path, *, timeout_s: float = START_TIMEOUT_S) -> None:
        self.directory = directory
        self._timeout_s = timeout_s
        self._membership: Membership | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> str:
        """Start or join the server, also when it died since the last time; return the application's URL.

        Raises:
            EmbeddedPostgresError: It cannot be set up or started, with what PostgreSQL said.
        """
        async with self._starting:
            membership = await self._join()
            await self.close()
            self._membership = membership
            return membership.url()

    async def _join(self) -> Membership:
        """Join in a thread. A thread cannot be cancelled: one whose caller has gone lets go of what it gets."""
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
        """Let go of the server, which is stopped soon after its last user left. Repeating does nothing."""
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
