"""Read replicas of knowledge memory; a read sees every write that was acknowledged before it began.

A read first asks the primary for its log position, which costs the primary far less than a search. Then it uses a
replica that has replayed the log up to this position, whichever client or process wrote. If the replica does not reach
the position in time, or does not work, the read goes to the primary. Source: ADR 0026.
"""

import asyncio
import logging
import math
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import asyncpg

from commonplace.core.errors import CommonplaceError, StorageUnavailableError
from commonplace.storage.postgres import close_pool, open_replica_pool
from commonplace.storage.postgres_database import translated_errors
from commonplace.storage.postgres_url import host_of, urls_of_hosts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from asyncpg.pool import PoolConnectionProxy

WAIT_S: Final = 0.25
"""Time that a read waits for a replica before it goes to the primary."""

REST_S: Final = 1.0
"""Time after a failure during which reads avoid a replica."""

POLL_S: Final = 0.001
MOST_POLL_S: Final = 0.008
"""Time before a replica is queried again; it doubles with each query of a read, up to the limit."""

_POSITION: Final = "SELECT CAST(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS bigint)"
_REPLAYED: Final = """
SELECT CASE WHEN pg_is_in_recovery() THEN CAST(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS bigint) END
"""
_BEHIND_S: Final = """
SELECT CAST(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) AS double precision)
"""
_IDENTITY: Final = "SELECT system_identifier FROM pg_control_system()"

_NOT_REPLICA: Final = "the server is not a replica"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """The state of a replica, as this process sees it.

    Attributes:
        name: Host and port.
        reads: Reads of this process that the replica served.
        fault: The reason why reads currently do not use the replica; empty if they do.
        lag_bytes: Bytes of the primary's log that the replica has not replayed; ``None`` if it does not answer.
        lag_s: Age of the last change that the replica has replayed, 0 if it has replayed all; ``None`` if it does not
            answer.
    """

    name: str
    reads: int
    fault: str = ""
    lag_bytes: int | None = None
    lag_s: float | None = None


class Replicas:
    """Read connections to replicas in turn, or to the primary.

    Args:
        primary: The pool of the primary.
        primary_url: The URL of the primary.
        read_url: The URL of the replicas, one or several hosts; if it includes the primary, the primary takes its turn.
    """

    def __init__(self, primary: asyncpg.Pool, primary_url: str, read_url: str) -> None:
        self.reads_of_primary = 0
        """Reads of this process that went to the primary."""
        self._primary = primary
        self._replicas = [_Replica(url, primary, primary_url) for url in urls_of_hosts(read_url)]
        self._turn = 0
        self._asking = asyncio.Lock()
        self._next: asyncio.Task[int] | None = None

    @asynccontextmanager
    async def acquire(self) -> "AsyncGenerator[PoolConnectionProxy]":
        """Lend a connection whose next transaction sees every write that was acknowledged before the call.

        Raises:
            StorageUnavailableError: The primary cannot be reached, or the replica cancelled the read.
        """
        replica = self._choose()
        position = 0 if replica is None else await self._position()
        async with AsyncExitStack() as stack:
            lent = None if replica is None else await replica.lend(position, stack)
            if lent is None:
                self.reads_of_primary += 1
                lent = await stack.enter_async_context(self._primary.acquire())
            yield lent

    async def states(self) -> list[ReplicaState]:
        """Return the state of each replica, after connecting unconnected replicas.

        A URL may name all servers, so a server that accepts writes is left out.

        Raises:
            StorageUnavailableError: The primary cannot be reached.
        """
        with translated_errors("the primary"):
            position = await self._position()
        found = await asyncio.gather(*(each.state(position) for each in self._replicas))
        return [each for each in found if each.fault != _NOT_REPLICA]

    async def close(self) -> None:
        """Close the connections to the replicas."""
        for each in self._replicas:
            await each.close()

    def _choose(self) -> "_Replica | None":
        ready = [each for each in self._replicas if each.is_ready()]
        self._turn += 1
        chosen = ready[self._turn % len(ready)] if ready else None
        return None if chosen is None or chosen.rests() else chosen

    async def _position(self) -> int:
        """Return the primary's log position at the time of the call or later; waiting reads share one query."""
        if self._next is None:
            self._next = asyncio.create_task(self._ask())
            self._next.add_done_callback(_seen)
        return await asyncio.shield(self._next)

    async def _ask(self) -> int:
        async with self._asking:
            self._next = None  # A read that begins from here on needs a later answer.
            return await self._primary.fetchval(_POSITION)


class _Replica:
    def __init__(self, url: str, primary: asyncpg.Pool, primary_url: str) -> None:
        self._url, self._primary, self._primary_url = url, primary, primary_url
        self._name = host_of(url)
        self._pool: asyncpg.Pool | None = None
        self._opening: asyncio.Task[None] | None = None
        self._fault = "is not connected yet"
        self._rests_until = -math.inf
        self._reads = 0

    def is_ready(self) -> bool:
        """Return whether to try a read here; connect an unconnected replica in the background."""
        if self.rests():
            return self._fault == _NOT_REPLICA  # The primary is listed too, and takes its turn.
        if self._pool is None:
            self._begin()
            return False
        return self._pool.get_idle_size() > 0 or self._pool.get_size() < self._pool.get_max_size()

    def rests(self) -> bool:
        """Return whether reads avoid the server after a failure."""
        return asyncio.get_running_loop().time() < self._rests_until

    async def lend(self, position: int, stack: AsyncExitStack) -> "PoolConnectionProxy | None":
        """Return a connection until the stack closes, or ``None`` if the replica has not reached the position yet."""
        connection = await self._take(position)
        if connection is None:
            return None
        self._reads += 1
        stack.push_async_callback(self._pool_in_use.release, connection)
        stack.push(self._translate)
        return connection

    async def state(self, position: int) -> ReplicaState:
        """Connect if necessary, and return the state."""
        if self._pool is None:
            await asyncio.wait([self._begin()], timeout=WAIT_S)
        lag_bytes = lag_s = None
        if self._pool is not None:
            lag_bytes, lag_s = await self._lag(self._pool, position)
            connection = await self._take(position)
            if connection is not None:
                await self._pool.release(connection)
        return ReplicaState(
            name=self._name, reads=self._reads, fault=self._fault, lag_bytes=lag_bytes, lag_s=lag_s
        )

    async def close(self) -> None:
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._pool is not None:
            await close_pool(self._pool)

    @property
    def _pool_in_use(self) -> asyncpg.Pool:
        assert self._pool is not None  # noqa: S101 - the caller checked it
        return self._pool

    def _begin(self) -> asyncio.Task[None]:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"connecting to the replica {self._name}")
        return self._opening

    async def _open(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                with translated_errors(self._name):
                    pool = await open_replica_pool(self._url, self._primary_url)
                    stack.push_async_callback(close_pool, pool)
                    if await pool.fetchval(_IDENTITY) != await self._primary.fetchval(_IDENTITY):
                        raise StorageUnavailableError("it is not a copy of COMMONPLACE_POSTGRES_URL")
                stack.pop_all()
            self._pool = pool
            self._recover()
        except (CommonplaceError, asyncpg.PostgresError) as error:
            self._fail(error)

    async def _take(self, position: int) -> "PoolConnectionProxy | None":
        """Return a connection to a replica that has replayed the log up to a position; record failures."""
        pool, connection, pause_s = self._pool_in_use, None, POLL_S
        try:
            with translated_errors(self._name):
                async with asyncio.timeout(WAIT_S):
                    connection = await pool.acquire()
                    while await _replayed(connection) < position:
                        await asyncio.sleep(pause_s)
                        pause_s = min(2 * pause_s, MOST_POLL_S)  # Queries slow down a busy replica.
        except BaseException as error:
            if connection is not None:
                connection.terminate()  # A query may be running.
                await pool.release(connection)
            if not isinstance(error, StorageUnavailableError):
                raise
            self._fail(_too_late() if isinstance(error.__cause__, TimeoutError) else error)
            return None
        self._recover()
        return connection

    async def _lag(self, pool: asyncpg.Pool, position: int) -> tuple[int | None, float | None]:
        try:
            with translated_errors(self._name):
                async with asyncio.timeout(WAIT_S), pool.acquire(timeout=WAIT_S) as connection:
                    behind = max(0, position - await _replayed(connection))
                    seconds = await connection.fetchval(_BEHIND_S) if behind else 0.0
                    return behind, None if seconds is None else max(0.0, seconds)
        except StorageUnavailableError:
            return None, None

    def _translate(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Translate the cancellation of a read by log replay into an outage error."""
        if isinstance(error, asyncpg.SerializationError | asyncpg.DeadlockDetectedError):
            raise StorageUnavailableError(
                f"the replica {self._name} cancelled the read: {error}; read again"
            ) from error
        return False

    def _fail(self, error: Exception) -> None:
        if not self._fault or self._pool is None:
            _log.warning("reads go to the primary, not to the replica %s: %s", self._name, error)
        self._fault = str(error)
        self._rests_until = asyncio.get_running_loop().time() + REST_S

    def _recover(self) -> None:
        if self._fault:
            _log.info("reads go to the replica %s", self._name)
        self._fault = ""
        self._rests_until = -math.inf


async def _replayed(connection: "PoolConnectionProxy") -> int:
    position: int | None = await connection.fetchval(_REPLAYED)
    if position is None:
        raise StorageUnavailableError(_NOT_REPLICA)
    return position


def _too_late() -> StorageUnavailableError:
    return StorageUnavailableError(f"it has not replayed the log of the primary within {WAIT_S:g} s")


def _seen(task: asyncio.Task[int]) -> None:
    """Mark the error of a query as retrieved, because its readers may have gone."""
    if not task.cancelled():
        task.exception()
