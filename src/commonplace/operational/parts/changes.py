"""The changes of all memories."""

from datetime import datetime

from commonplace.core.clock import format_timestamp
from commonplace.operational.model.figures import ListedChange
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.store import Store


class OperationalChanges:
    """Reads the changes of all memories."""

    def __init__(self, store: Store[OperationalStatements]) -> None:
        self._store = store

    async def since(self, since: datetime, *, limit: int) -> list[ListedChange]:
        """Return the changes of all memories since a time, newest first."""
        rows = await self._store.reads.changes_since(since=format_timestamp(since), limit=limit)
        return ListedChange.from_rows(rows)
