"""Copies of the databases and files of a home at one moment.

For a moment, SQLite writers wait. Meanwhile the snapshot of each PostgreSQL database begins and the small files are
copied. Then a SQLite read transaction holds that state, and the writers continue while the databases are copied.
"""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, cast

import asyncpg

from commonplace.core.directories import make_directories
from commonplace.core.settings import Settings
from commonplace.storage import clock_guard, sqlite
from commonplace.storage.backup import last_backup
from commonplace.storage.cluster import DATABASE, SUPERUSER
from commonplace.storage.dumps import run_program
from commonplace.storage.embedded import join_server
from commonplace.storage.file_locks import FileLock
from commonplace.storage.migrations.runner import postgres_revisions, sqlite_revisions
from commonplace.storage.postgres_access import Access, PostgresUrls, connected, prepare_access, with_owner
from commonplace.storage.postgres_url import require_direct
from commonplace.storage.roles import owner_access

SQLITE: Final = "commonplace.db"
OPERATIONAL: Final = "operational.dump"
KNOWLEDGE: Final = "knowledge.dump"
HOME: Final = "home"
WORKSPACES: Final = "workspaces"
MEMORIES: Final = Path(".aegis", "memory", "memories.jsonl")
LOCK: Final = "memories.lock"
LISTS: Final = ("projects.json", "sources.json", "mirrors.json")
"""Lists that name memories of this home, so that they fit the memories of the same backup alone."""
SESSIONS: Final = "claude-code"

UNFINISHED_UPGRADE: Final = "upgrade.json"
"""The note about the backup of an upgrade that has not ended."""

SYNC: Final = "sync"
"""The state of sync. A restored home joins again as another device, because numbers of changes are never used twice."""

NOT_KEPT: Final = frozenset(
    {
        "postgres",
        "postgres.incoming",
        "models",
        "logs",
        "backups",
        SYNC,
        f"{SYNC}.joining",
        clock_guard.FILE,
        last_backup.FILE,
        UNFINISHED_UPGRADE,
    }
)
"""Parts of a home that are copied in another way, can be recreated, or describe this machine."""

PROGRAMS: Final = frozenset({"postgres", "postgres.incoming", "models", SQLITE})
"""Databases, programs and models of a home, which are never restored as files."""

BACKUP_SUFFIXES: Final = (".tar.gz", ".tgz")
LOCK_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A PostgreSQL database of a home.

    Attributes:
        url: The URL; the owner's if the database has two roles.
        admin_url: The superuser's URL of another database, if the server is the embedded one.
    """

    url: str
    admin_url: str | None = None
    roles: PostgresUrls | None = None

    @classmethod
    def of(cls, named: str | PostgresUrls) -> Self:
        """Return the database that one or two URLs name."""
        return cls(url=named) if isinstance(named, str) else cls(url=named.owner_url, roles=named)

    async def access(self) -> Access:
        """Return the access of the owner of the tables; see :func:`prepare_access`."""
        return await (owner_access(self.roles) if self.roles else prepare_access(self.url))


def _is_there(path: Path) -> bool:
    """Return whether a path exists; a broken link counts."""
    return os.path.lexists(path)


@asynccontextmanager
async def servers(settings: Settings, *, create: bool = False) -> AsyncGenerator[dict[str, PostgresServer]]:
    """Yield the PostgreSQL databases of a home, by their member names in a backup.

    Args:
        settings: The settings that name the databases.
        create: Whether to create a missing embedded server; otherwise it is left out.

    Raises:
        SettingsError: A URL leads to a pooler.
    """
    found: dict[str, PostgresServer] = {}
    for url in (settings.database, settings.postgres_owner_url or settings.postgres_url):
        require_direct(url or "", "a backup, a restore or an erasure")
    if settings.database_is_postgres and settings.database != settings.postgres_url:
        found[OPERATIONAL] = PostgresServer(url=settings.database)
    if settings.postgres_url:
        yield found | {KNOWLEDGE: PostgresServer.of(with_owner(settings.postgres_url, settings))}
    elif create or _is_there(settings.postgres_directory):
        membership = await asyncio.to_thread(join_server, settings.postgres_directory)
        try:
            url, admin_url = (
                membership.url(role=SUPERUSER, database=name) for name in (DATABASE, "postgres")
            )
            yield found | {KNOWLEDGE: PostgresServer(url=url, admin_url=admin_url)}
        finally:
            membership.leave()
    else:
        yield found


async def copy_everything(
    settings: Settings, found: Mapping[str, PostgresServer], workspaces: Iterable[Path], staging: Path
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Copy all databases and files to a directory.

    Returns:
        The revisions of each database, by member; and the directory of each workspace, by member.

    Raises:
        StorageError: A database cannot be read, or another process keeps a lock for too long.
        OSError: A copy cannot be written.
    """
    async with AsyncExitStack() as stack:
        connections = {
            name: await stack.enter_async_context(connected(server.url)) for name, server in found.items()
        }
        places = _copy_workspaces(workspaces, staging)
        reader = None
        with _writers_waiting(
            settings.database_path if not settings.database_is_postgres else None
        ) as opened:
            snapshots = {
                name: await stack.enter_async_context(_snapshot(connection))
                for name, connection in connections.items()
            }
            _copy_home(settings, staging)
            if opened is not None:
                reader = stack.enter_context(closing(sqlite.connect(opened)))
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        revisions: dict[str, list[str]] = {}
        if reader is not None:
            revisions[SQLITE] = await asyncio.to_thread(
                _copy_sqlite, reader, settings.database_path, staging / SQLITE
            )
        for name, connection in connections.items():
            revisions[name] = sorted(await postgres_revisions(connection))
            await dump(found[name].url, staging / name, snapshot=snapshots[name])
        return revisions, places


@contextmanager
def _writers_waiting(path: Path | None) -> Generator[Path | None]:
    """Keep other processes from writing to a SQLite file; yield it, or ``None`` if it does not exist."""
    if path is None or not path.exists():
        yield None
        return
    with closing(sqlite.connect(path)) as writer, sqlite.translated_errors(path):
        writer.execute("BEGIN IMMEDIATE")
        yield path


def _copy_sqlite(reader: sqlite3.Connection, source: Path, target: Path) -> list[str]:
    with (
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
        sqlite.translated_errors(target, copy_of=source),
    ):
        reader.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # One file, without side files.
        check_integrity(copy)
        return sorted(sqlite_revisions(copy))


def check_integrity(connection: sqlite3.Connection) -> None:
    """Check a SQLite file completely.

    Raises:
        sqlite3.DatabaseError: The file is damaged.
    """
    found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(f"the file is damaged: {found}")


@asynccontextmanager
async def _snapshot(connection: asyncpg.Connection) -> AsyncGenerator[str]:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield cast("str", await connection.fetchval("SELECT pg_export_snapshot()"))


def _copy_workspaces(workspaces: Iterable[Path], staging: Path) -> dict[str, str]:
    places: dict[str, str] = {}
    for number, workspace in enumerate(dict.fromkeys(workspaces), start=1):
        source = workspace / MEMORIES
        if source.is_file() and not source.is_symlink():
            name = f"{WORKSPACES}/{number}.jsonl"
            with _locked(source.with_name(LOCK)):
                _copy_file(source, staging / name)
            places[name] = str(workspace)
    return places


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with ExitStack() as stack:
        try:
            lock = stack.enter_context(FileLock(path))
        except OSError:
            yield  # Without the lock, copying is safe too: writers replace the file as a whole.
            return
        lock.require(shared=True, timeout_s=LOCK_TIMEOUT_S)
        yield


def _copy_home(settings: Settings, staging: Path) -> None:
    """Copy the small files of the home: projects, transcripts, and episodes that clients have not sent yet.

    If the backup is made in the home, neither its staging directory nor the backups beside it are copied.
    """
    database = settings.database_path
    staging = staging.resolve()
    for directory, names, files in os.walk(settings.home):
        here = Path(directory)
        left_out = NOT_KEPT if here == settings.home else frozenset[str]()
        if here.resolve() == staging.parent:
            left_out |= {staging.name, *(name for name in files if name.endswith(BACKUP_SUFFIXES))}
        names[:] = [name for name in names if name not in left_out]
        for path in (here / name for name in files if name not in left_out):
            is_database = path.name.startswith(database.name) and path.parent == database.parent
            if path.is_file() and not path.is_symlink() and not is_database and path.suffix != ".lock":
                _copy_file(path, staging / HOME / path.relative_to(settings.home))


def _copy_file(source: Path, target: Path) -> None:
    make_directories(target.parent)
    shutil.copyfile(source, target)


async def dump(url: str, target: Path, *, snapshot: str) -> None:
    """Write a dump of a PostgreSQL database in the state of an exported snapshot.

    Raises:
        StorageError: The server does not let the role read everything, or ``pg_dump`` failed.
    """
    await asyncio.to_thread(
        run_program,
        "pg_dump",
        url,
        *("--format=custom", "--compress=none", "--no-sync", f"--snapshot={snapshot}", f"--file={target}"),
    )
