"""Upgrades of a database to the newest revision of one branch.

All revisions of an upgrade run in one transaction that begins by taking the database's own lock, so that two
processes may start at once, and a process that is killed in the middle leaves the older schema whole.
A database that is up to date costs one query and does not load Alembic.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import asyncpg

from commonplace.core.progress import begin_step
from commonplace.core.settings import Settings
from commonplace.storage import sqlite
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.postgres_access import PostgresUrls, connected, prepare_access
from commonplace.storage.roles import IS_READY, owner_access

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

Branch = Literal["operational", "apps", "memory", "access"]

HEADS: Final[dict[Branch, str]] = {
    "operational": "ops_012",
    "apps": "app_005",
    "memory": "mem_026",
    "access": "acc_001",
}
"""The newest revision of each branch; a constant, so that most starts need not load Alembic."""


Before = Callable[[], Awaitable[object]]


async def migrate_sqlite(
    path: Path, branch: Branch, *, target: str = "head", before: Before | None = None
) -> None:
    """Upgrade a SQLite file to a revision; create the file if it does not exist.

    Args:
        path: The file.
        branch: The memory whose tables are upgraded.
        target: A revision's name, or ``"head"``. Revisions are not taken back.
        before: Awaited before tables of the branch that exist are changed.

    Raises:
        DatabaseTooNewError: A newer release has changed the schema; nothing is written.
        DatabaseTooOldError: A development version made the schema; nothing is written.
        StorageUnavailableError: The file cannot be opened or written.
    """
    found = await asyncio.to_thread(revisions_of_file, path)
    if HEADS[branch] not in found:
        await _prepare(branch, found, before, where=str(path))
        await asyncio.to_thread(_upgrades().upgrade_sqlite, path, branch, target)


async def _prepare(branch: Branch, found: set[str], before: Before | None, *, where: str) -> None:
    """Prepare a change of existing tables; refuse it before anything is written if this release cannot make it."""
    prefix = HEADS[branch].partition("_")[0]
    if found:
        require_known(found, where=where)
    if before is not None and any(revision.startswith(prefix) for revision in found):
        await before()


def revisions_of_file(path: Path) -> set[str]:
    """Return the revisions of all branches in a SQLite file.

    Raises:
        StorageUnavailableError: The file cannot be opened.
    """
    with closing(sqlite.connect(path)) as connection, sqlite.translated_errors(path):
        return sqlite_revisions(connection)


def sqlite_revisions(connection: sqlite3.Connection) -> set[str]:
    """Return the revisions of all branches in a SQLite file; empty for one without tables of commonplace."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
        return set()
    return {row[0] for row in connection.execute("SELECT version_num FROM alembic_version")}


async def migrate_postgres(
    source: str | PostgresUrls | EmbeddedPostgres,
    branch: Branch,
    *,
    target: str = "head",
    before: Before | None = None,
) -> None:
    """Upgrade a PostgreSQL database to a revision.

    Args:
        source: One or two URLs, or the embedded server. With two URLs, the owner connects only if there is work.
        branch: The memory whose tables are upgraded.
        target: A revision's name, or ``"head"``. Revisions are not taken back.
        before: Awaited before tables of the branch that exist are changed.

    Raises:
        DatabaseTooNewError: A newer release has changed the schema; nothing is written.
        DatabaseTooOldError: A development version made the schema; nothing is written.
        StorageUnavailableError: The server cannot be reached or does not fit.
        EmbeddedPostgresError: The embedded server cannot be started.
    """
    if isinstance(source, PostgresUrls) and await _is_current_by_url(branch, source.url):
        return
    access = await (prepare_access(source) if isinstance(source, str) else owner_access(source))
    async with connected(
        access.url, where=access.where, server_settings=access.server_settings
    ) as connection:
        found = await postgres_revisions(connection)
    if HEADS[branch] not in found:
        await _prepare(branch, found, before, where=access.where)
        begin_step("Creating or upgrading the tables of knowledge memory")
        await _upgrades().upgrade_postgres(access, branch, target)


async def _is_current_by_url(branch: Branch, url: str) -> bool:
    async with connected(url) as connection:
        return await is_current(branch, connection)


async def is_current(branch: Branch, connection: asyncpg.Connection) -> bool:
    """Return whether a connection of the application's role finds nothing to upgrade, and the owner no work to do."""
    return bool(await connection.fetchval(IS_READY)) and HEADS[branch] in await postgres_revisions(connection)


async def postgres_revisions(connection: "asyncpg.Connection | PoolConnectionProxy") -> set[str]:
    """Return the revisions of all branches in a PostgreSQL database; empty for one without tables of commonplace."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return set()
    return {row[0] for row in await connection.fetch("SELECT version_num FROM alembic_version")}


async def database_revisions(settings: Settings) -> set[str]:
    """Return the revisions of the database of operational and app memory.

    Raises:
        StorageError: The database cannot be read.
    """
    if not settings.database_is_postgres:
        return await asyncio.to_thread(revisions_of_file, settings.database_path)
    async with connected(settings.database) as connection:
        return await postgres_revisions(connection)


def other_revisions(revisions: Collection[str]) -> list[str]:
    """Return the revisions that are not those of this release, because another process changed the tables."""
    return sorted(set(revisions) - set(HEADS.values()))


def require_known(revisions: Collection[str], *, where: str) -> None:
    """Require that this release can upgrade tables with these revisions.

    Raises:
        DatabaseTooNewError: A revision is of a newer release.
        DatabaseTooOldError: A revision is of a development version.
    """
    _upgrades().require_known(revisions, where=where)


def _upgrades() -> Any:  # noqa: ANN401 - a module
    """Import Alembic only when there is something to migrate; it takes longer than the rest of a start."""
    return import_module("commonplace.storage.migrations.upgrade")
