"""Memories that are shared with other apps (APP-16.7)."""

from collections.abc import Mapping

from commonplace.apps.model.memories import Author, ChangeKind
from commonplace.apps.model.receipts import ShareReceipt
from commonplace.apps.store import memories
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.statements import AppStatements
from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import current_actor
from commonplace.storage.store import Store


class AppShares:
    """The memories that conversations of other apps see too."""

    def __init__(self, store: Store[AppStatements]) -> None:
        self._store = store

    async def add(self, memory_id: int, to_app_id: str) -> ShareReceipt:
        """Show a memory to the conversations of another app too.

        A memory in a user's space is shown to that user only.

        Raises:
            NotFoundError: The memory or the app does not exist.
            InvalidInputError: The memory is that app's own.
        """
        return await self._change(memory_id, to_app_id, ChangeKind.SHARED)

    async def remove(self, memory_id: int, to_app_id: str) -> ShareReceipt:
        """Stop sharing a memory with another app.

        Raises:
            NotFoundError: The memory or the app does not exist.
            InvalidInputError: The memory is that app's own.
        """
        return await self._change(memory_id, to_app_id, ChangeKind.UNSHARED)

    async def of_app(self, app_id: str) -> Mapping[int, list[str]]:
        """Return the apps that an app's memories are shared with, by memory id."""
        rows = await self._store.reads.shares_from(app_id=app_id)
        apps: dict[int, list[str]] = {}
        for row in rows:
            apps.setdefault(row["memory_id"], []).append(row["to_app_id"])
        return apps

    async def _change(self, memory_id: int, to_app_id: str, kind: ChangeKind) -> ShareReceipt:
        author = Author(actor=current_actor(), now=self._store.now(), reason=f"app {to_app_id}")
        async with self._store.writing() as sql:
            memory = await memories.get(sql, memory_id)
            await get_app(sql, to_app_id)
            if memory.app_id == to_app_id:
                raise InvalidInputError("to_app_id", "an app other than the memory's own", to_app_id)
            if kind is ChangeKind.SHARED:
                row = await sql.share_memory(
                    memory_id=memory_id, to_app_id=to_app_id, moment=self._store.moment()
                )
            else:
                row = await sql.unshare_memory(memory_id=memory_id, to_app_id=to_app_id)
            if row is not None:
                await memories.record(sql, memory, kind, author)
        return ShareReceipt(memory_id=memory_id, to_app_id=to_app_id, changed=row is not None)

    async def list(self, memory_id: int) -> list[str]:
        """Return the ids of the apps that a memory is shared with."""
        return [row["to_app_id"] for row in await self._store.reads.shares_of(memory_id=memory_id)]
