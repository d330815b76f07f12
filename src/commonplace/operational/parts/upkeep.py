"""The upkeep of operational memory: decay, and sessions whose recorder is gone."""

from datetime import timedelta
from pathlib import Path

from commonplace.core.clock import Clock, parse_timestamp
from commonplace.operational.lessons import lifecycle
from commonplace.operational.model.receipts import Effect
from commonplace.operational.model.sessions import Session
from commonplace.operational.store.statements import OperationalStatements
from commonplace.operational.transcript.recording_process import interrupt_lost
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.store import Store


class OperationalUpkeep:
    """Lowers the confidence of stale memories, and ends lost sessions."""

    def __init__(
        self, store: Store[OperationalStatements], clock: Clock, home: Path | None, grace: timedelta
    ) -> None:
        self._store = store
        self._clock = clock
        self._home = home
        self._grace = grace

    async def decay(self) -> list[Effect]:
        """Lower the confidence of active memories that were not reinforced; see :mod:`.rules.decay`.

        Returns:
            The memories whose confidence changed, by id; an immediate second call changes none.

        Raises:
            ClockError: The time is implausible; nothing was changed.
        """
        if self._home is not None:
            newest = await self._store.reads.newest_update()
            newest_at = None if newest is None else parse_timestamp(newest)
            ClockGuard(self._home, clock=self._clock).require(newest_at)
        async with self._store.writing(lock="operational:decay") as sql:
            return await lifecycle.run_decay(sql, self._store.now(), self._grace)

    async def interrupt_lost_sessions(self) -> list[Session]:
        """End sessions that are marked as running but whose recording process is gone.

        Call this at the start of a process that runs or shows sessions.

        Returns:
            The ended sessions, oldest first; each session ends at the time when it was last seen.
        """
        async with self._store.writing() as sql:
            return await interrupt_lost(sql, self._store.now())
