"""Opening of the database in the settings: SQLite by path, PostgreSQL by URL."""

from importlib import import_module
from typing import Any

from commonplace.core.settings import Settings
from commonplace.storage.database import Database
from commonplace.storage.migrations.runner import Before, Branch, migrate_postgres, migrate_sqlite
from commonplace.storage.postgres_access import with_owner
from commonplace.storage.postgres_database import PostgresDatabase
from commonplace.storage.postgres_url import describe_url
from commonplace.storage.sqlite import SQLiteDatabase


async def open_database(settings: Settings, branch: Branch) -> Database:
    """Open the database of operational and app memory, with the tables of one branch upgraded.

    Raises:
        StorageError: The database cannot be opened or upgraded, or is newer than this release.
    """
    if settings.database_is_postgres:
        before = before_upgrade_by_url(settings.database)
        await migrate_postgres(with_owner(settings.database, settings), branch, before=before)
        return await PostgresDatabase.open(settings.database)
    path = settings.database_path
    await migrate_sqlite(path, branch, before=before_upgrade(settings))
    return await SQLiteDatabase.open(path)


def before_upgrade(settings: Settings) -> Before:
    """Return the function that upgrades the whole home, after a backup, before one of its memories is opened."""

    async def upgrade() -> None:
        await _home_upgrade().upgrade_home(settings)

    return upgrade


def before_upgrade_by_url(url: str) -> Before:
    """Return the function that says what an upgrade on a server with a URL cannot take back."""

    async def announce() -> None:
        await _home_upgrade().announce_without_backup(describe_url(url))

    return announce


def before_queue_upgrade(settings: Settings) -> Before:
    """Return the function that makes a backup before the tables of background work are upgraded."""

    async def back_up() -> None:
        await _home_upgrade().back_up_queue(settings)

    return back_up


def _home_upgrade() -> Any:  # noqa: ANN401 - a module
    """Import the upgrade when it is due: each start of a command would wait for the libraries of archives."""
    return import_module("commonplace.storage.backup.home_upgrade")
