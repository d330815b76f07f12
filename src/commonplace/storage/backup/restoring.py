"""Restoring a backup.

The whole backup is unpacked, checked and loaded before anything is replaced, so a failure or a kill leaves the home
unchanged. The embedded server loads a second database and exchanges the two names in a transaction. While that
transaction is open, SQLite's backup API replaces the contents of its file in one transaction, even while other
processes have the file open. If that fails, the exchange is rolled back. The files of the home come last: they are
renamed, after a check that nothing is in their way.
"""

import asyncio
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import asyncpg

from commonplace.core.atomic_write import draft_of, write_text
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, StorageError, StorageUnavailableError
from commonplace.core.settings import Settings
from commonplace.storage import sqlite
from commonplace.storage.backup import copies
from commonplace.storage.backup.archive import Manifest, disk_errors, unpack
from commonplace.storage.backup.copies import KNOWLEDGE, OPERATIONAL, SQLITE, PostgresServer, servers
from commonplace.storage.backup.taking import DIRECTORY, BackupReceipt, back_up_before
from commonplace.storage.cluster import APPLICATION_ROLE, DATABASE
from commonplace.storage.dumps import contents, load
from commonplace.storage.file_locks import FileLock
from commonplace.storage.migrations.runner import postgres_revisions
from commonplace.storage.postgres_access import connected
from commonplace.storage.postgres_url import describe_url
from commonplace.storage.roles import as_role, separate_roles

RESTORED: Final = f"{DATABASE}_restored"
REPLACED: Final = f"{DATABASE}_replaced"
WORKSPACES: Final = "restored-workspaces"
LOCK: Final = "restore.lock"
STAGING: Final = ".restore-"

_DROP_LEFT: Final = (
    f"DROP DATABASE IF EXISTS {RESTORED} (FORCE)",
    f"DROP DATABASE IF EXISTS {REPLACED} (FORCE)",
)
_CREATE: Final = f"CREATE DATABASE {RESTORED} OWNER {APPLICATION_ROLE}"
_END_USERS: Final = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
_RENAME: Final = (
    f"ALTER DATABASE {DATABASE} RENAME TO {REPLACED}; ALTER DATABASE {RESTORED} RENAME TO {DATABASE}"
)
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Workspace memory that could not be restored to its workspace.

    Attributes:
        file: The file in the home that holds the memories.
    """

    workspace: Path
    file: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReceipt:
    """Result of a restore.

    Attributes:
        replaced: The backup of the earlier state; ``None`` if there was none.
        workspaces: The restored files with workspace memory.
        elsewhere: The restored files that are not in their workspace.
        newer: The session records in the home that the backup does not have.
    """

    backup: BackupReceipt
    replaced: Path | None
    workspaces: tuple[Path, ...]
    elsewhere: tuple[Elsewhere, ...]
    newer: tuple[Path, ...]


async def restore(settings: Settings, file: Path, *, replace: bool = False) -> RestoreReceipt:
    """Restore the contents of a backup.

    Args:
        settings: The home and its databases. A PostgreSQL database with a URL must have no tables of commonplace.
        file: The backup.
        replace: Whether to replace existing memories; a backup of them is made first.

    Raises:
        InvalidInputError: A database with a URL has tables of commonplace.
        StorageError: The home has memories and ``replace`` is not set; the file is damaged, is from a newer release or
            does not match the settings; or a database cannot be written.
    """
    directory = settings.home / DIRECTORY
    with disk_errors(settings.home):
        make_directories(directory)
        with FileLock(settings.home / LOCK) as lock:
            lock.require(timeout_s=copies.LOCK_TIMEOUT_S)
            for leftover in directory.glob(f"{STAGING}*"):
                shutil.rmtree(leftover)
            staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=directory))
            try:
                manifest = await check(file, staging)
                _require_places(settings, manifest)
                _require_paths(staging / copies.HOME, settings.home)
                replaced = await _make_room(settings, replace=replace)
                try:
                    await _load_and_exchange(settings, staging, manifest)
                    newer = _restore_home(staging / copies.HOME, settings.home)
                except (StorageError, OSError) as error:
                    if replaced is None:
                        raise
                    raise StorageError(f"{error}; the backup of the earlier state is {replaced}") from error
                placed, elsewhere = _restore_workspaces(staging, manifest, settings.home / WORKSPACES)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
                with suppress(OSError):
                    directory.rmdir()  # Unless it contains backups.
    return RestoreReceipt(
        backup=BackupReceipt.of(file, manifest),
        replaced=replaced,
        workspaces=tuple(placed),
        elsewhere=tuple(elsewhere),
        newer=tuple(newer),
    )


async def _load_and_exchange(settings: Settings, staging: Path, manifest: Manifest) -> None:
    """Load the databases of an unpacked backup, and replace all of them, or none if one fails to load."""
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(servers(settings, create=KNOWLEDGE in manifest.revisions))
        admin: asyncpg.Connection | None = None
        wanted = {name: server for name, server in found.items() if name in manifest.revisions}
        for name, server in sorted(wanted.items(), key=lambda each: each[1].admin_url is None):
            if server.admin_url is None:
                await _load_by_url(server, staging / name)
            else:
                admin = await stack.enter_async_context(_loaded_beside(server, staging / name))
        if admin is not None:
            await stack.enter_async_context(_exchange(admin))
        if SQLITE in manifest.revisions:
            await asyncio.to_thread(_restore_sqlite, staging / SQLITE, settings.database_path)


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
            await asyncio.to_thread(_check_sqlite, staging / name, file)
        else:
            await asyncio.to_thread(contents, staging / name)
    return manifest


def _check_sqlite(path: Path, file: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, sqlite.translated_errors(path, copy_of=file):
        copies.check_integrity(connection)


def _require_places(settings: Settings, manifest: Manifest) -> None:
    kinds = {SQLITE: "a file", OPERATIONAL: "PostgreSQL"}
    wanted, other = (OPERATIONAL, SQLITE) if settings.database_is_postgres else (SQLITE, OPERATIONAL)
    if other in manifest.revisions:
        raise StorageError(
            f"the backup holds operational and app memory from {kinds[other]}, but COMMONPLACE_DATABASE names "
            f"{kinds[wanted]}: change that setting"
        )


async def _make_room(settings: Settings, *, replace: bool) -> Path | None:
    used = [describe_url(server) for server in await _used_servers(settings)]
    if used:
        raise InvalidInputError("database", "a database without tables of commonplace", ", ".join(used))
    if not settings.database_path.exists() and not settings.postgres_directory.exists():
        return None
    if not replace:
        raise StorageError(
            f"the home {settings.home} has databases, with memories or from an interrupted restore: "
            "to make a backup of them and then replace them, add --replace"
        )
    return await back_up_before(settings, "restore")


async def _used_servers(settings: Settings) -> list[str]:
    """Return the URLs of databases that contain tables of commonplace, except the embedded server."""
    urls = {settings.postgres_url, settings.database if settings.database_is_postgres else None} - {None}
    used: list[str] = []
    for url in sorted(filter(None, urls)):
        async with connected(url) as connection:
            if await postgres_revisions(connection):
                used.append(url)
    return used


async def _load_by_url(server: PostgresServer, dump: Path) -> None:
    """Load a dump into an empty database, in one transaction."""
    access = await server.access()
    role = [f"--role={access.role}"] if access.role else []
    await asyncio.to_thread(load, server.url, dump, *role)


@asynccontextmanager
async def _loaded_beside(server: PostgresServer, dump: Path) -> AsyncGenerator[asyncpg.Connection]:
    """Load a dump into a second database of the embedded server; yield a superuser connection.

    A dump is a program in SQL, so the application's role runs it, which cannot become another role.

    At the end, the database that is not in use is deleted.
    """
    async with connected(str(server.admin_url), where="the embedded server") as admin:
        try:
            for statement in (*_DROP_LEFT, _CREATE):
                await admin.execute(statement)
            restored = server.url.replace(f"/{DATABASE}?", f"/{RESTORED}?")
            await asyncio.to_thread(load, as_role(restored, APPLICATION_ROLE), dump)
            await separate_roles(restored)
            yield admin
            for statement in _DROP_LEFT:
                await admin.execute(statement)
        except BaseException:
            with suppress(
                asyncpg.PostgresError, asyncpg.InterfaceError, OSError
            ):  # The next restore deletes it.
                await admin.execute(_DROP_LEFT[0])
            raise


@asynccontextmanager
async def _exchange(admin: asyncpg.Connection) -> AsyncGenerator[None]:
    """Exchange the names of the restored database and the one in use when the block ends; after an error, do nothing.

    Users of the database lose their connections. New connections wait for the end of the block.
    """
    for _ in range(_ATTEMPTS):
        exchange = admin.transaction()
        await admin.execute(_END_USERS, DATABASE)
        await exchange.start()
        try:
            await admin.execute(_RENAME)
        except asyncpg.ObjectInUseError:
            await exchange.rollback()
        except BaseException:
            await exchange.rollback()
            raise
        else:
            break
    else:
        raise StorageError("the embedded database is in use: stop its users, and restore again")
    try:
        yield
    except BaseException:
        await exchange.rollback()
        raise
    await exchange.commit()


def _restore_sqlite(source: Path, target: Path) -> None:
    deadline = time.monotonic() + copies.LOCK_TIMEOUT_S

    def check(status: int, _remaining: int, _total: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} and time.monotonic() >= deadline:
            raise StorageUnavailableError(
                f"{target} has been locked for {copies.LOCK_TIMEOUT_S:g} s: try again"
            )

    with (
        sqlite.translated_errors(target),
        closing(sqlite3.connect(source)) as restored,
        closing(sqlite.connect(target)) as connection,
    ):
        restored.backup(connection, progress=check)


def _files(source: Path, home: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of an unpacked home, each with its path in the home."""
    for path in source.rglob("*"):
        if path.is_file():
            yield path, home / path.relative_to(source)


def _require_paths(source: Path, home: Path) -> None:
    """Require that each file of the home can be put in place, and that it may be in a backup."""
    for _, target in _files(source, home):
        first = target.relative_to(home).parts[0]
        if first in copies.PROGRAMS:
            raise StorageError(f"the backup holds {first} as files of the home, which no backup holds")
        wrong = next((each for each in target.parents if each.exists() and not each.is_dir()), None)
        if wrong is None and target.is_dir() and not target.is_symlink():
            wrong = target
        if wrong is not None:
            raise StorageError(f"{wrong} blocks a file or directory of the backup: move it away")


def _restore_home(source: Path, home: Path) -> list[Path]:
    """Put the files of a home in place, and return the session records that are newer than the backup.

    A list of projects, sources or mirrors that is newer than the backup is deleted, because its memories are gone, and
    the home no longer syncs.
    """
    targets: set[Path] = set()
    for path, target in _files(source, home):
        _put(path, target)
        targets.add(target)
    for name in copies.LISTS:
        if home / name not in targets:
            (home / name).unlink(missing_ok=True)
    (home / copies.UNFINISHED_UPGRADE).unlink(missing_ok=True)
    shutil.rmtree(home / copies.SYNC, ignore_errors=True)
    return sorted(set((home / copies.SESSIONS).glob("*.json")) - targets)


def _restore_workspaces(
    staging: Path, manifest: Manifest, elsewhere: Path
) -> tuple[list[Path], list[Elsewhere]]:
    """Restore workspace memory to its workspace, or to the home if that is not possible."""
    placed: list[Path] = []
    left: list[Elsewhere] = []
    for name, workspace in manifest.workspaces.items():
        source, target = staging / name, Path(workspace) / copies.MEMORIES
        reason = _put_in_workspace(source, Path(workspace))
        if reason:
            target = elsewhere / Path(name).stem / target.name
            _put(source, target)
            write_text(target.with_name("workspace"), f"{workspace}\n")
            left.append(Elsewhere(workspace=Path(workspace), file=target, reason=reason))
        placed.append(target)
    return placed, left


def _put_in_workspace(source: Path, workspace: Path) -> str:
    """Restore memories to a workspace; return why this is not possible, or an empty text."""
    target = workspace / copies.MEMORIES
    if not workspace.is_dir():
        return "the directory does not exist"
    if any((workspace / parent).is_symlink() for parent in copies.MEMORIES.parents[:-1]):
        return f"{target.parent} is reached through a symbolic link"
    try:
        make_directories(target.parent)
        with FileLock(target.with_name(copies.LOCK)) as lock:
            lock.require(timeout_s=copies.LOCK_TIMEOUT_S)
            if not os.path.lexists(target):
                _put(source, target)
            elif target.is_symlink() or target.read_bytes() != source.read_bytes():
                return "the directory has other memories"
    except StorageUnavailableError as error:
        return str(error)
    except OSError as error:
        return f"{target} cannot be written: {error.strerror}"
    return ""


def _put(source: Path, target: Path) -> None:
    """Move a file to its place, replacing an existing file; copy it if the place is on another disk."""
    make_directories(target.parent)
    try:
        source.replace(target)
    except OSError:
        with draft_of(target) as copy, source.open("rb") as original:
            shutil.copyfileobj(original, copy)
