"""The registry of apps. Source: APP-09, R-APP-1."""

from commonplace.apps.model.apps import (
    App,
    AppStatus,
    ListedApp,
    RegisteredApp,
    RegistrationOutcome,
    UninstallReceipt,
)
from commonplace.apps.model.conversations import Conversation
from commonplace.apps.model.memories import ALL_ROWS
from commonplace.apps.model.names import require_app_id, require_name
from commonplace.apps.store.apps import get_app
from commonplace.apps.store.locks import memories_lock
from commonplace.apps.store.statements import AppStatements
from commonplace.core.choices import optional_one_of
from commonplace.storage.store import Store


class AppRegistry:
    """Installs and uninstalls apps. Source: APP-09, R-APP-1."""

    def __init__(self, store: Store[AppStatements]) -> None:
        self._store = store

    async def register(self, app_id: str, *, name: str | None = None) -> RegisteredApp:
        """Install or rename an app; an uninstalled app comes back with its memories.

        Args:
            app_id: At most 200 letters, digits and ``. : @ + - _``.
            name: At most 100 characters; ``None`` keeps the name, which is at first the id.

        Raises:
            InvalidInputError: The id or the name is malformed.
        """
        key, shown = require_app_id(app_id), None if name is None else require_name(name)
        async with self._store.writing() as sql:
            before = await sql.get_app(app_id=key)
            row = await sql.register_app(app_id=key, name=shown, moment=self._store.moment())
        was = None if before is None else App.from_row(before)
        return RegisteredApp.from_row({**row, "outcome": RegistrationOutcome.of(was, App.from_row(row))})

    async def get(self, app_id: str) -> App:
        """Return an app, installed or not.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            return await get_app(sql, app_id)

    async def count(self, *, status: AppStatus | None = None) -> int:
        """Return the number of apps of one status or all."""
        return await self._store.reads.count_listed_apps(status=status)

    async def get_app_id_for_conversation(self, conversation_id: str) -> str | None:
        """Return the id of a conversation's app; ``None`` for an unknown conversation, as specified."""
        row = await self._store.reads.get_conversation(conversation_id=conversation_id)
        return None if row is None else Conversation.from_row(row).app_id

    async def uninstall_app(self, app_id: str, *, purge_memories: bool = False) -> UninstallReceipt:
        """Uninstall an app.

        The app is marked as uninstalled and keeps its memories. ``purge_memories`` deletes the app with its
        conversations, memories and waiting digests, and the texts in its memories' history.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.writing(memories_lock(app_id)) as sql:
            await get_app(sql, app_id)
            memories = await sql.count_memories(app_id=app_id)
            if purge_memories:
                await sql.forget_texts_of_app(app_id=app_id)
                await sql.delete_app(app_id=app_id)
                return UninstallReceipt(app_id=app_id, retained=0, purged=memories)
            await sql.mark_uninstalled(app_id=app_id, moment=self._store.moment())
            return UninstallReceipt(app_id=app_id, retained=memories, purged=0)

    async def list(
        self, *, status: AppStatus | None = None, limit: int = ALL_ROWS, offset: int = 0
    ) -> list[ListedApp]:
        """Return apps of one status or all, by id, with their numbers of memories."""
        wanted = optional_one_of(AppStatus, status, field="status")
        rows = await self._store.reads.list_apps(status=wanted, limit=limit, offset=offset)
        return [ListedApp(app=App.from_row(row), memories=row["memories"]) for row in rows]
