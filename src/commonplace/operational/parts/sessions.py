"""Sessions of the scheduled agent, and what each of them left in memory."""

from commonplace.core.clock import format_timestamp
from commonplace.core.quarantine import Quarantine
from commonplace.operational.model.figures import ListedChange, Page
from commonplace.operational.model.memories import (
    Lesson,
)
from commonplace.operational.model.output import OutputLine
from commonplace.operational.model.sessions import Session, SessionStatus, require_tier
from commonplace.operational.rules.wordings import wordings
from commonplace.operational.store import memories
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.database import containing
from commonplace.storage.store import Store


class OperationalSessions:
    """Reads sessions, their output and the memories that they created or changed."""

    def __init__(self, store: Store[OperationalStatements], quarantine: Quarantine) -> None:
        self._store = store
        self._quarantine = quarantine

    async def get(self, session_id: int) -> Session:
        """Return one session.

        Raises:
            NotFoundError: No session has this id.
        """
        return Session.existing(await self._store.reads.get_session(id=session_id), session_id)

    async def last(self, *, tier: int, trigger: str) -> Session | None:
        """Return the latest session of a tier with a trigger such as ``scheduled``, or ``None``.

        Raises:
            InvalidInputError: The tier is not 1, 2 or 3.
        """
        row = await self._store.reads.last_session(tier=require_tier(tier), trigger=trigger)
        return None if row is None else Session.from_row(row)

    async def page(
        self,
        *,
        status: SessionStatus | None = None,
        tier: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Page[Session]:
        """Return sessions, newest first, with their total."""
        async with self._store.reading() as sql:
            rows = await sql.page_of_sessions(status=status, tier=tier, limit=limit, offset=offset)
            total = await sql.count_sessions(status=status, tier=tier)
        return Page(items=Session.from_rows(rows), total=total)

    async def output(self, session_id: int, *, after: int = 0, limit: int = 500) -> list[OutputLine]:
        """Return output lines of a session, which may still be running in another process.

        ``after`` is the ``seq`` of the last line that the caller has. An unknown session has no lines.

        Returns:
            Lines in ascending order of ``seq``. The first numbers may be missing, because only the newest 2,000 lines
            of the newest 500 sessions are kept.
        """
        return OutputLine.from_rows(
            await self._store.reads.list_output(session_id=session_id, after=after, limit=limit)
        )

    async def memories(self, session_id: int, *, limit: int = 100) -> list[Lesson]:
        """Return the memories that a session created and that still exist, oldest first."""
        rows = await self._store.reads.memories_of_session(session_id=session_id, limit=limit)
        return self._quarantine.watch(Lesson.from_rows(rows))

    async def changes(self, session: Session, *, limit: int = 100) -> list[ListedChange]:
        """Return the changes that a session made to memories, except creations, oldest first."""
        rows = await self._store.reads.changes_of_session(
            session_id=session.id, since=format_timestamp(session.started_at), limit=limit
        )
        return ListedChange.from_rows(rows)

    async def place_of(self, memory_id: int, session_id: int) -> int | None:
        """Return the number of the first output line in which a session mentioned a memory.

        ``None`` if no stored line of the session contains a wording of the memory.
        """
        async with self._store.reading() as sql:
            known = wordings(await memories.history(sql, memory_id))
            places = [
                await sql.place_in_output(session_id=session_id, pattern=containing(one.text))
                for one in known
            ]
        return min((place for place in places if place is not None), default=None)

    async def list(self, *, limit: int = 50, offset: int = 0) -> list[Session]:
        """Return sessions, newest first."""
        return (await self.page(limit=limit, offset=offset)).items
