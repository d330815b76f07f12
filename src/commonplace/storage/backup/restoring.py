"""Restoring of a backup.

The whole backup is unpacked and checked before anything is replaced, so a damaged backup changes nothing. Then each
database is replaced as a whole, one after the other, and the files after them. If one of them cannot be written, those
before it stay replaced, and the error names the backup of the earlier state. SQLite's own copy replaces the contents of
its file while other processes have it open. The embedded server loads a second database and exchanges the two names in
one transaction.
"""

import asyncio
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.drafts import draft_of
from commonplace.core.errors import InvalidInputError, StorageError
from commonplace.core.settings import Settings
from commonplace.storage import sqlite
from commonplace.storage.backup import copies
from commonplace.storage.backup.archive import Manifest, disk_errors, unpack
from commonplace.storage.backup.copies import KNOWLEDGE, OPERATIONAL, SQLITE, Server, run_program, servers
from commonplace.storage.backup.taking import DIRECTORY, BackupReceipt, back_up_before
from commonplace.storage.cluster import APPLICATION_ROLE, DATABASE
from commonplace.storage.file_locks import FileLock
from commonplace.storage.postgres_access import connect, prepare_access
from commonplace.storage.postgres_url import describe_url
from commonplace.storage.roles import separate_roles

RESTORED: Final = f"{DATABASE}_restored"
REPLACED: Final = f"{DATABASE}_replaced"
WORKSPACES: Final = "restored-workspaces"

_DROP_LEFT: Final = (
    f"DROP DATABASE IF EXISTS {RESTORED} (FORCE)",
    f"DROP DATABASE IF EXISTS {REPLACED} (FORCE)",
)
_CREATE: Final = f"CREATE DATABASE {RESTORED} OWNER {APPLICATION_ROLE}"
_END_USERS: Final = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
_EXCHANGE: Final = (
    f"ALTER DATABASE {DATABASE} RENAME TO {REPLACED}; ALTER DATABASE {RESTORED} RENAME TO {DATABASE}"
)
_ATTEMPTS: Final = 5
_IS_USED: Final = "SELECT to_regclass('alembic_version') IS NOT NULL"
_LEFT_OUT: Final = (
    " EXTENSION - ",
    " COMMENT - EXTENSION ",
    " SCHEMA - public ",
    " COMMENT - SCHEMA public ",
)
"""Entries of a dump that the server has already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReceipt:
    """Result of a restore.

    Attributes:
        backup: The contents of the backup.
        replaced: The backup of the earlier state; ``None`` if there was none.
        workspaces: The files with workspace memory, each where it was restored.
        elsewhere: Those of them that are not in their workspace, because it does not exist or has other memories.
    """

    backup: BackupReceipt
    replaced: Path | None
    workspaces: tuple[Path, ...]
    elsewhere: tuple[Path, ...]


async def restore(
    settings: Settings, file: Path, *, replace: bool = False, clock: Clock = utc_now
) -> RestoreReceipt:
    """Bring back all that a backup holds.

    Args:
        settings: The home and its databases. A PostgreSQL database with a URL must have no tables of commonplace.
        file: The backup.
        replace: Whether memories that exist are replaced; a backup of them is made first.
        clock: Returns the current time.

    Raises:
        InvalidInputError: There are memories already, and ``replace`` is not set.
        StorageError: The file is damaged, is from a newer release or does not fit the settings, or a database cannot be
            written.
    """
    with disk_errors(settings.home):
        make_directories(settings.home / DIRECTORY)
        staging = Path(tempfile.mkdtemp(prefix=".restore-", dir=settings.home / DIRECTORY))
        try:
            manifest = await check(file, staging)
            _require_places(settings, manifest)
            replaced = await _make_room(settings, replace=replace, clock=clock)
            try:
                placed = await _put_in_place(settings, staging, manifest)
            except (StorageError, OSError) as error:
                if replaced is None:
                    raise
                raise StorageError(f"{error}; the backup of the earlier state is {replaced}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            with suppress(OSError):
                staging.parent.rmdir()  # unless it holds backups
    return RestoreReceipt(
        backup=BackupReceipt.of(file, manifest),
        replaced=replaced,
        workspaces=tuple(placed),
        elsewhere=tuple(path for path in placed if path.is_relative_to(settings.home / WORKSPACES)),
    )


async def _put_in_place(settings: Settings, staging: Path, manifest: Manifest) -> list[Path]:
    """Replace the databases and files with those of an unpacked backup; return the files with workspace memory."""
    async with servers(settings, create=KNOWLEDGE in manifest.revisions) as found:
        for name, server in found.items():
            if name in manifest.revisions:
                await _load(server, staging / name)
    if SQLITE in manifest.revisions:
        await asyncio.to_thread(_restore_sqlite, staging / SQLITE, settings.database_path)
    _restore_home(staging / copies.HOME, settings.home)
    return _restore_workspaces(staging, manifest, settings.home / WORKSPACES)


async def check(file: Path, staging: Path) -> Manifest:
    """Unpack a backup to an empty directory, check each part, and return the manifest.

    Raises:
        StorageError: The file is damaged, or is from a newer release.
    """
    manifest = await asyncio.to_thread(unpack, file, staging)
    upgrades: Any = import_module("commonplace.storage.migrations.upgrade")
    for name, revisions in manifest.revisions.items():
        upgrades.require_known(revisions, where=f"{name} in {file}")
        if name == SQLITE:
            await asyncio.to_thread(_check_sqlite, staging / name)
        else:
            await asyncio.to_thread(_contents, staging / name)
    return manifest


def _check_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, sqlite.translated_errors(path):
        copies.check_integrity(connection, path)


def _contents(dump: Path) -> str:
    return run_program("pg_restore", None, "--list", str(dump))


def _require_places(settings: Settings, manifest: Manifest) -> None:
    kinds = {SQLITE: "a file", OPERATIONAL: "PostgreSQL"}
    wanted, other = (OPERATIONAL, SQLITE) if settings.database_is_postgres else (SQLITE, OPERATIONAL)
    if other in manifest.revisions:
        raise StorageError(
            f"the backup holds operational and app memory from {kinds[other]}, but COMMONPLACE_DATABASE names "
            f"{kinds[wanted]}: change that setting"
        )


async def _make_room(settings: Settings, *, replace: bool, clock: Clock) -> Path | None:
    used = [describe_url(server) for server in await _used_servers(settings)]
    if used:
        raise InvalidInputError("database", "a database without tables of commonplace", ", ".join(used))
    if not settings.database_path.exists() and not settings.postgres_directory.exists():
        return None
    if not replace:
        raise InvalidInputError(
            "home",
            "a home without memories, or --replace, which makes a backup of them first",
            str(settings.home),
        )
    return await back_up_before(settings, "restore", clock=clock)


async def _used_servers(settings: Settings) -> list[str]:
    """Return the URLs of databases that hold tables of commonplace; the embedded server is not asked."""
    urls = {settings.postgres_url, settings.database if settings.database_is_postgres else None} - {None}
    used: list[str] = []
    for url in sorted(filter(None, urls)):
        connection = await connect(url, where=describe_url(url))
        try:
            if await connection.fetchval(_IS_USED):
                used.append(url)
        finally:
            await connection.close()
    return used


async def _load(server: Server, dump: Path) -> None:
    """Load a dump into a database: beside the one that is there, if the embedded server has it."""
    chosen = dump.with_suffix(".list")
    lines = (await asyncio.to_thread(_contents, dump)).splitlines()
    chosen.write_text("\n".join(line for line in lines if not any(part in line for part in _LEFT_OUT)))
    options = [
        "--exit-on-error",
        "--single-transaction",
        "--no-owner",
        "--no-privileges",
        f"--use-list={chosen}",
    ]
    if server.admin_url is None:
        access = await prepare_access(server.url)
        options += [f"--role={access.role}"] if access.role else []
        await asyncio.to_thread(run_program, "pg_restore", server.url, *options, str(dump))
        return
    options.append(f"--role={APPLICATION_ROLE}")
    admin = await connect(server.admin_url, where="the embedded server")
    try:
        for statement in (*_DROP_LEFT, _CREATE):
            await admin.execute(statement)
        restored = server.url.replace(f"/{DATABASE}?", f"/{RESTORED}?")
        await asyncio.to_thread(run_program, "pg_restore", restored, *options, str(dump))
        await separate_roles(restored)
        await _exchange(admin)
    finally:
        for statement in _DROP_LEFT:
            await admin.execute(statement)
        await admin.close()


async def _exchange(admin: asyncpg.Connection) -> None:
    """Give the restored database the name of the one in use, whose users lose their connections and open new ones."""
    for attempt in range(_ATTEMPTS):
        await admin.execute(_END_USERS, DATABASE)
        try:
            await admin.execute(_EXCHANGE)  # one message is one transaction
        except asyncpg.ObjectInUseError:
            if attempt == _ATTEMPTS - 1:
                raise StorageError(
                    "the embedded database is in use: stop its users, and restore again"
                ) from None
        else:
            return


def _restore_sqlite(source: Path, target: Path) -> None:
    with (
        sqlite.translated_errors(target),
        closing(sqlite3.connect(source)) as restored,
        closing(sqlite.connect(target)) as connection,
    ):
        restored.backup(connection)


def _restore_home(source: Path, home: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            _put(path, home / path.relative_to(source))


def _restore_workspaces(staging: Path, manifest: Manifest, elsewhere: Path) -> list[Path]:
    """Restore workspace memory: to its workspace, or to the home if that is not possible."""
    placed: list[Path] = []
    for name, workspace in manifest.workspaces.items():
        source, target = staging / name, Path(workspace) / copies.MEMORIES
        if not _is_in_workspace(source, Path(workspace)):
            target = elsewhere / Path(name).stem / target.name
            _put(source, target)
            (target.parent / "workspace").write_text(f"{workspace}\n", encoding="utf-8")
        placed.append(target)
    return placed


def _is_in_workspace(source: Path, workspace: Path) -> bool:
    """Put memories in a workspace, and return whether they are there.

    They are not if the workspace does not exist, has other memories, cannot be written, or if links lead elsewhere.
    """
    target = workspace / copies.MEMORIES
    directories = (workspace / parent for parent in copies.MEMORIES.parents[:-1])
    if not workspace.is_dir() or any(path.is_symlink() for path in directories):
        return False
    try:
        make_directories(target.parent)
        with FileLock(target.with_name(copies.LOCK)) as lock:
            if not lock.wait(deadline=time.monotonic() + copies.LOCK_TIMEOUT_S):
                return False
            if os.path.lexists(target):
                return not target.is_symlink() and target.read_bytes() == source.read_bytes()
            _put(source, target)
    except OSError:
        return False
    return True


def _put(source: Path, target: Path) -> None:
    """Copy a file in place of another one, for its owner alone."""
    make_directories(target.parent)
    with draft_of(target) as copy, source.open("rb") as original:
        shutil.copyfileobj(original, copy)
