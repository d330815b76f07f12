"""The apps that are known, and which app a conversation belongs to."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.apps.conversations import Conversation
from commonplace.apps.names import require_app_id, require_name
from commonplace.apps.store import memories_lock
from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import NotFoundError
from commonplace.storage.database import Row, Statements
from commonplace.storage.store import Store


class AppStatus(StrEnum):
    """Whether an app is in use."""

    INSTALLED = "installed"
    UNINSTALLED = "uninstalled"
    """Its memories are retained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """One row of ``apps``; ``name`` is what context blocks call it."""

    app_id: str
    name: str
    status: AppStatus
    installed_at: datetime
    uninstalled_at: datetime | None

    @classmethod
    def from_row(cls, row: Row) -> "App":
        """Read a row."""
        gone = row["uninstalled_at"]
        return cls(
            app_id=row["app_id"],
            name=row["name"],
            status=AppStatus(row["status"]),
            installed_at=parse_timestamp(row["installed_at"]),
            uninstalled_at=None if gone is None else parse_timestamp(gone),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApp:
    """An app, and how many memories it has."""

    app: App
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallReceipt:
    """What uninstalling did to an app: ``retained`` and ``purged`` count memories."""

    app_id: str
    retained: int
    purged: int


async def get_app(sql: Statements, app_id: str) -> App:
    """Return an app, uninstalled ones too.

    Raises:
        NotFoundError: No app has this id.
    """
    row = await sql.get_app(app_id=app_id)
    if row is None:
        raise NotFoundError("app", app_id)
    return App.from_row(row)


class AppRegistry:
    """Installs and uninstalls apps. Source: APP-09, R-APP-1."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def register(self, app_id: str, *, name: str | None = None) -> App:
        """Install an app, or rename one; one that was uninstalled is back with its memories.

        Args:
            app_id: At most 200 letters, digits and ``. : @ + - _``.
            name: At most 100 characters; without one a new app is called by its id.

        Raises:
            InvalidInputError: The id or the name is not of its form.
        """
        key, shown = require_app_id(app_id), None if name is None else require_name(name)
        async with self._store.writing() as sql:
            row = await sql.register_app(app_id=key, name=shown, moment=self._store.moment())
        return App.from_row(row)

    async def get(self, app_id: str) -> App:
        """Return an app, uninstalled ones too.

        Raises:
            NotFoundError: No app has this id.
        """
        async with self._store.reading() as sql:
            return await get_app(sql, app_id)

    async def list_apps(
        self, *, status: AppStatus | None = None, limit: int = 1_000_000, offset: int = 0
    ) -> list[ListedApp]:
        """Return apps by id, of one status or all, with the number of their memories."""
        async with self._store.reading() as sql:
            rows = await sql.list_apps(status=status, limit=limit, offset=offset)
        return [ListedApp(app=App.from_row(row), memories=row["memories"]) for row in rows]

    async def count_apps(self, *, status: AppStatus | None = None) -> int:
        """Return how many apps there are, of one status or in all."""
        async with self._store.reading() as sql:
            return await sql.count_listed_apps(status=status)

    async def get_app_id_for_conversation(self, conversation_id: str) -> str | None:
        """Return the id of the app that a conversation belongs to; ``None`` for an unknown conversation."""
        async with self._store.reading() as sql:
            row = await sql.get_conversation(conversation_id=conversation_id)
        return None if row is None else Conversation.from_row(row).app_id

    async def uninstall_app(self, app_id: str, *, purge_memories: bool = False) -> UninstallReceipt:
        """Uninstall an app.

        Its row stays, marked, so that its memories stay too. With ``purge_memories`` the row goes, and with it
        the app's conversations, memories and waiting digests, and the words of its memories' history.

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
