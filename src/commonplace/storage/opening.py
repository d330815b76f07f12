"""Opening of the database in the settings: SQLite by path, PostgreSQL by URL."""

from importlib import import_module
from typing import Any

from commonplace.core.settings import Settings
from commonplace.storage.database import Database
from commonplace.storage.migrations.runner import Before, Branch, migrate_postgres, migrate_sqlite
from commonplace.storage.postgres_access import PostgresUrls
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


def with_owner(url: str, settings: Settings) -> str | PostgresUrls:
    """Return a URL of the settings, with the URL of the owner if the settings name an owner of this database."""
    owner_url = settings.postgres_owner_url
    return PostgresUrls(url=url, owner_url=owner_url) if owner_url and url == settings.postgres_url else url


def before_upgrade(settings: Settings, *, only_sqlite: bool = False) -> Before:
    """Return the function that makes a backup in the home before an upgrade."""

    async def back_up() -> None:
        taking: Any = import_module("commonplace.storage.backup.taking")
        await taking.back_up_before(settings, "upgrade", only_sqlite=only_sqlite)

    return back_up
