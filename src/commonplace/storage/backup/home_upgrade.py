"""Upgrade of the tables of a whole home, after one backup.

An earlier release cannot open upgraded tables, so the way back is the backup. It must hold every database as that
release knows it, so all tables of the home are upgraded together, whichever memory is opened first.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.core.progress import warn_of_step
from commonplace.core.settings import Settings
from commonplace.storage.backup.copies import UNFINISHED_UPGRADE
from commonplace.storage.backup.taking import DIRECTORY, back_up_before
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.file_locks import FileLock
from commonplace.storage.migrations.runner import (
    HEADS,
    Branch,
    migrate_postgres,
    migrate_sqlite,
    other_revisions,
    postgres_revisions,
    require_known,
    revisions_of_file,
)
from commonplace.storage.postgres_access import connected, with_owner
from commonplace.storage.postgres_url import describe_url

LOCK: Final = "upgrade.lock"
TIMEOUT_S: Final = 600.0
"""Seconds to wait for another process that upgrades the home, which makes a backup first."""

KNOWLEDGE: Final = "knowledge memory"
IN_ONE_FILE: Final[tuple[Branch, ...]] = ("operational", "apps", "access")
"""The branches in the database of operational and app memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUpgrade:
    """An upgrade of the tables of one memory.

    Attributes:
        where: The database, without any password.
        revision: The revision that the tables have.
        target: The revision of this release.
        has_backup: Whether the upgrade makes a backup first; a server with a URL gets none.
    """

    where: str
    branch: Branch
    revision: str
    target: str
    has_backup: bool

    @property
    def line(self) -> str:
        """A sentence about the upgrade and the way back from it."""
        back = "with a backup" if self.has_backup else "without a backup, because the database has a URL"
        return f"{self.where}: {self.branch} from {self.revision} to {self.target}, {back}"


async def pending_upgrades(settings: Settings) -> list[TableUpgrade]:
    """Return the upgrades that existing tables need; nothing is changed.

    Raises:
        DatabaseTooNewError: A newer release has changed a schema.
        DatabaseTooOldError: A development version made a schema.
        StorageError: A database cannot be read.
    """
    async with _embedded(settings) as server:
        upgrades = await _own_upgrades(settings, server)
    for url, branch in _by_url(settings):
        async with connected(url) as connection:
            revisions = await postgres_revisions(connection)
        upgrades += _of(revisions, [branch], describe_url(url), has_backup=False)
    return upgrades


async def upgrade_all(settings: Settings, upgrades: Collection[TableUpgrade]) -> Path | None:
    """Run the pending upgrades of a home and of databases with a URL.

    Returns:
        The backup of the home's earlier state; ``None`` if the home had nothing to upgrade.

    Raises:
        DatabaseTooNewError: A newer release has changed a schema.
        StorageError: The backup cannot be made, or a database cannot be upgraded.
    """
    backup = await upgrade_home(settings)
    by_url = {each.branch for each in upgrades if not each.has_backup}
    for url, branch in _by_url(settings):
        if branch in by_url:
            announce = partial(announce_without_backup, describe_url(url))
            await migrate_postgres(with_owner(url, settings), branch, before=announce)
    return backup


def _by_url(settings: Settings) -> list[tuple[str, Branch]]:
    """Return the databases with a URL, with the memories in each."""
    databases: list[tuple[str, Branch]] = []
    if settings.database_is_postgres:
        databases.extend((settings.database, branch) for branch in IN_ONE_FILE)
    if settings.postgres_url:
        databases.append((settings.postgres_url, "memory"))
    return databases


async def upgrade_home(settings: Settings) -> Path | None:
    """Upgrade all existing tables of a home, except those on a server with a URL.

    A second process waits and then finds nothing to do. An upgrade that was killed continues with its first backup.

    Returns:
        The backup of the earlier state; ``None`` if there was nothing to upgrade.

    Raises:
        DatabaseTooNewError: A newer release has changed a schema; nothing is written.
        DatabaseTooOldError: A development version made a schema; nothing is written.
        StorageError: The backup cannot be made, and nothing was changed; or a database cannot be upgraded.
    """
    await asyncio.to_thread(make_directories, settings.home)
    with FileLock(settings.home / LOCK) as lock:
        await asyncio.to_thread(lock.require, timeout_s=TIMEOUT_S)
        async with _embedded(settings) as server:
            upgrades = await _own_upgrades(settings, server)
            if not upgrades:
                return None
            warn_of_step(
                f"Upgrading the tables of {_names(upgrades)} after a backup in {settings.home / DIRECTORY}. "
                "Earlier releases cannot open upgraded tables; to go back, install the earlier release and run "
                "`commonplace restore --replace` with that backup"
            )
            backup = await _backup(settings)
            for upgrade in upgrades:
                if upgrade.branch == "memory" and server is not None:
                    await migrate_postgres(server, upgrade.branch)
                else:
                    await migrate_sqlite(settings.database_path, upgrade.branch)
            (settings.home / UNFINISHED_UPGRADE).unlink(missing_ok=True)
            return backup


async def announce_without_backup(where: str) -> None:
    """Say before an upgrade on a server with a URL that commonplace makes no backup of it."""
    warn_of_step(
        f"Upgrading the tables in {where}. Earlier releases cannot open upgraded tables, and commonplace makes no "
        "backup of a server with a URL: the only way back is your own backup"
    )


async def back_up_queue(settings: Settings) -> None:
    """Make a backup before the tables of background work are upgraded, or say that there is none."""
    if settings.postgres_url:
        await announce_without_backup(describe_url(settings.postgres_url))
        return
    warn_of_step(
        f"Upgrading the tables of background work after a backup in {settings.home / DIRECTORY}. The workers of "
        "earlier releases cannot use upgraded tables"
    )
    await back_up_before(settings, "upgrade")


@asynccontextmanager
async def _embedded(settings: Settings) -> AsyncGenerator[EmbeddedPostgres | None]:
    if settings.postgres_url or not (settings.postgres_directory / "data").exists():
        yield None
        return
    async with EmbeddedPostgres(settings.postgres_directory) as server:
        yield server


async def _own_upgrades(settings: Settings, server: EmbeddedPostgres | None) -> list[TableUpgrade]:
    upgrades: list[TableUpgrade] = []
    if not settings.database_is_postgres and settings.database_path.exists():
        revisions = await asyncio.to_thread(revisions_of_file, settings.database_path)
        upgrades += _of(revisions, IN_ONE_FILE, str(settings.database_path))
    if server is not None:
        async with connected(await server.url(), where=KNOWLEDGE) as connection:
            upgrades += _of(await postgres_revisions(connection), {"memory"}, KNOWLEDGE)
    return upgrades


def _of(
    revisions: Collection[str], branches: Collection[Branch], where: str, *, has_backup: bool = True
) -> list[TableUpgrade]:
    """Return the upgrades of the tables with these revisions."""
    if other_revisions(revisions):
        require_known(revisions, where=where)
    return [
        TableUpgrade(where=where, branch=branch, revision=revision, target=head, has_backup=has_backup)
        for branch, head in HEADS.items()
        for revision in sorted(revisions)
        if branch in branches and revision != head and revision.partition("_")[0] == head.partition("_")[0]
    ]


def _names(upgrades: Collection[TableUpgrade]) -> str:
    return " and ".join(dict.fromkeys(each.where for each in upgrades))


async def _backup(settings: Settings) -> Path:
    """Make the backup, or return that of an upgrade that was killed."""
    unfinished = settings.home / UNFINISHED_UPGRADE
    if unfinished.exists():
        name = Path(json.loads(unfinished.read_text(encoding="utf-8"))["backup"]).name
        if (settings.home / DIRECTORY / name).is_file():
            return settings.home / DIRECTORY / name
    backup = await back_up_before(settings, "upgrade")
    write_text(unfinished, json.dumps({"backup": backup.name}) + "\n", mode=0o600)
    return backup
