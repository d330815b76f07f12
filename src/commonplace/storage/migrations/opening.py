"""Opening of the database in the settings: SQLite by path, PostgreSQL by URL."""

from importlib import import_module
from typing import Any

from commonplace.core.settings import Settings
from commonplace.storage.database import Database
from commonplace.storage.migrations.runner import Before, Branch, migrate_postgres, migrate_sqlite
from commonplace.storage.postgres_access import with_owner
from commonplace.storage.postgres_database import PostgresDatabase
from commonplace.storage.sqlite import SQLiteDatabase


async def open_database(settings: Settings, branch: Branch) -> Database:
    """Open the database of operational and app memory, with the tables of one branch upgraded.

    Raises:
        StorageError: The database cannot be opened or upgraded, or is newer than this release.
    """
    if settings.database_is_postgres:
        await migrate_postgres(with_owner(settings.database, settings), branch)
        return await PostgresDatabase.open(settings.database)
    path = settings.database_path
    await migrate_sqlite(path, branch, before=before_upgrade(settings, only_sqlite=True))
    return await SQLiteDatabase.open(path)


def before_upgrade(settings: Settings, *, only_sqlite: bool = False) -> Before:
    """Return the function that makes a backup in the home before an upgrade."""

    async def back_up() -> None:
        # Imported when a database is upgraded: each start of a command would wait for the libraries of archives.
        taking: Any = import_module("commonplace.storage.backup.taking")
        await taking.back_up_before(settings, "upgrade", only_sqlite=only_sqlite)

    return back_up
