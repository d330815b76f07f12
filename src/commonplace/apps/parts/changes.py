"""The changes of memories, newest first."""

from datetime import datetime

from commonplace.apps.model.memories import LISTED, Change
from commonplace.apps.store.statements import AppStatements
from commonplace.core.clock import format_timestamp
from commonplace.storage.store import Store


class AppChanges:
    """The changes of memories; deleted memories are included."""

    def __init__(self, store: Store[AppStatements]) -> None:
        self._store = store

    async def since(self, since: datetime, *, limit: int) -> list[tuple[Change, str | None]]:
        """Return the changes of all memories since a time, newest first, each with the conversation of the memory.

        Deleted memories are included, without their conversations.
        """
        rows = await self._store.reads.changes_of_all(since=format_timestamp(since), limit=limit)
        return [(Change.from_row(row), row["conversation_id"]) for row in rows]

    async def list(self, app_id: str, *, limit: int = LISTED) -> list[Change]:
        """Return the changes of an app's memories, newest first; deleted memories are included."""
        return Change.from_rows(await self._store.reads.changes_of_app(app_id=app_id, limit=limit))
