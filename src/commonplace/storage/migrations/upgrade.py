"""The part of the runner that needs Alembic; imported only when there is something to migrate."""

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from asyncpg import InsufficientPrivilegeError
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from commonplace.core.errors import DatabaseTooNewError, DatabaseTooOldError, StorageUnavailableError
from commonplace.storage import sqlite
from commonplace.storage.postgres_access import Access, connect

DIRECTORY: Final = Path(__file__).parent
VERSIONS: Final = DIRECTORY / "versions"
RETIRED: Final = {
    **dict.fromkeys(("ops_006", "ops_007"), "ops_008"),
    **dict.fromkeys(("app_001", "app_002", "app_003"), "app_004"),
    **{f"mem_{number:03}": "mem_015" for number in range(4, 15)},
}
"""Revisions of development versions, each with the revision that now creates the same schema."""
_POSTGRES_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('commonplace migration'))"


def configuration() -> Config:
    """Return Alembic's configuration, with the directory of each branch."""
    config = Config()
    config.set_main_option("script_location", str(DIRECTORY))
    config.set_main_option("path_separator", "os")
    branches = sorted(str(path) for path in VERSIONS.iterdir() if path.is_dir() and path.name[0] != "_")
    config.set_main_option("version_locations", ":".join(branches))
    return config


def require_known(revisions: Iterable[str], *, where: str) -> None:
    """Require that this release can upgrade a database.

    Raises:
        DatabaseTooNewError: A revision is of a newer release.
        DatabaseTooOldError: A revision is of a development version.
    """
    scripts = ScriptDirectory.from_config(configuration())
    for found in revisions:
        if found in RETIRED:
            raise DatabaseTooOldError(where, found, RETIRED[found])
        try:
            scripts.get_revision(found)
        except CommandError:
            branch = next(
                (head for head in scripts.get_heads() if head[:4] == found[:4]), scripts.get_heads()[0]
            )
            raise DatabaseTooNewError(where, found, branch) from None


def upgrade(connection: Connection, branch: str, target: str, *, where: str) -> None:
    """Run the missing revisions of a branch in the transaction that the caller opened.

    ``target`` is a revision's name, or ``"head"`` for the newest of the branch.

    Raises:
        DatabaseTooNewError: The database holds a revision that this release does not know.
        DatabaseTooOldError: The database holds a revision of a development version.
    """
    require_known(_revisions(connection), where=where)
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, f"{branch}@{target}" if target == "head" else target)


def _revisions(connection: Connection) -> list[str]:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return []
    return list(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def upgrade_sqlite(path: Path, branch: str, target: str) -> None:
    """Upgrade a SQLite file; see :func:`~commonplace.storage.migrations.runner.migrate_sqlite`."""
    engine = create_engine("sqlite://", creator=lambda: sqlite.connect(path), poolclass=NullPool)
    # The driver begins no transaction by itself; this one also keeps other processes out.
    event.listen(engine, "begin", _begin_immediate)
    try:
        with _named_errors(str(path)), sqlite.translated_errors(path), engine.begin() as connection:
            upgrade(connection, branch, target, where=str(path))
    finally:
        engine.dispose()


@contextmanager
def _named_errors(where: str) -> Generator[None]:
    """Turn the drivers' errors, which SQLAlchemy wraps, into a storage error that names the database."""
    try:
        yield
    except DBAPIError as error:
        refused = getattr(error.orig, "sqlstate", None) == InsufficientPrivilegeError.sqlstate
        advice = (
            ": set COMMONPLACE_POSTGRES_OWNER_URL to the URL of the owner of the tables" if refused else ""
        )
        raise StorageUnavailableError(
            f"{where}: the tables cannot be upgraded, and nothing was changed: {error.orig}{advice}"
        ) from error


async def upgrade_postgres(access: Access, branch: str, target: str) -> None:
    """Upgrade a PostgreSQL database; see :func:`~commonplace.storage.migrations.runner.migrate_postgres`."""
    async with _migrating(access) as connection:
        await connection.run_sync(upgrade, branch, target, where=access.where)


@asynccontextmanager
async def _migrating(access: Access) -> AsyncGenerator[AsyncConnection]:
    """Open a transaction that excludes other migrations of the database."""

    async def open_connection() -> object:
        return await connect(access.url, where=access.where, server_settings=access.server_settings)

    engine = create_async_engine("postgresql+asyncpg://", async_creator=open_connection, poolclass=NullPool)
    try:
        with _named_errors(access.where):
            async with engine.begin() as connection:
                await connection.execute(text(_POSTGRES_LOCK))
                yield connection
    finally:
        await engine.dispose()
