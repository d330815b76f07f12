"""The tables of the queue: Procrastinate's tables and two of ours, in a schema beside knowledge memory.

Procrastinate ships its complete schema and the migrations leading to it. A new database gets the schema of the
installed release, and the included migrations are recorded, so that a later release applies only new ones. Our own
steps follow in the same list.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import asyncpg
from procrastinate.schema import SchemaManager

from commonplace.core.errors import DatabaseTooNewError, StorageUnavailableError
from commonplace.core.quoting import quoted
from commonplace.storage.migrations.runner import Before
from commonplace.storage.postgres_access import Access, connect
from commonplace.storage.postgres_database import translated_errors

SCHEMA: Final = "procrastinate"
DDL_DIRECTORY: Final = Path(__file__).parent / "ddl"

_OURS: Final = "commonplace/"
_SERIALISE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('commonplace queue', 0))"
_IS_THERE: Final = "SELECT to_regnamespace($1) IS NOT NULL"
# After waiting for a lock, to_regclass() may not see tables that the former holder created.
_HAS_TABLE: Final = """
SELECT EXISTS (
    SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname || '.' || relname = $1
)
"""
_SETTINGS: Final = f"SET LOCAL lock_timeout = '60s'; SET LOCAL search_path TO {SCHEMA}"
_CREATE_LIST: Final = """
CREATE TABLE schema_steps (name TEXT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())
"""
_NOTE: Final = "INSERT INTO schema_steps (name) SELECT unnest($1::text[])"
_NOTED: Final = f"SELECT name FROM {SCHEMA}.schema_steps"  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change of the schema: its name in the list, and its SQL file."""

    name: str
    path: Path


def known_steps() -> list[Step]:
    """Return all steps of this release in order: Procrastinate's, then ours."""
    theirs = Path(SchemaManager.get_migrations_path())
    return [
        *(Step(name=path.name, path=path) for path in sorted(theirs.glob("*.sql"))),
        *(Step(name=f"{_OURS}{path.name}", path=path) for path in sorted(DDL_DIRECTORY.glob("*.sql"))),
    ]


async def prepare_schema(access: Access, *, before: Before | None = None) -> None:
    """Bring the queue's schema up to date; two processes may do so at once.

    A step and its record are one transaction, so a killed process leaves complete steps and the next process continues.

    Args:
        access: The access to the knowledge database.
        before: Awaited before tables that exist are changed.

    Raises:
        DatabaseTooNewError: A newer release of Procrastinate or of this package changed the schema.
        StorageUnavailableError: The server cannot be reached, the role may not create the schema, or the schema belongs
            to another program.
    """
    steps = known_steps()
    connection = await connect(access.url, where=access.where, server_settings=access.server_settings)
    try:
        with translated_errors(access.where):
            noted = await _noted(connection, access.where, steps)
            if noted == {step.name for step in steps}:
                return
            if before is not None and _is_upgrade(noted, steps):
                await before()
            await _bring_up(connection, access.where, steps)
    except asyncpg.InsufficientPrivilegeError as error:
        raise StorageUnavailableError(
            f"{access.where}: the tables of background work cannot be created ({error}): set "
            "COMMONPLACE_POSTGRES_OWNER_URL to the URL of the owner of the tables, or, as the owner of the database, "
            f"run CREATE SCHEMA {SCHEMA} AUTHORIZATION followed by the role that commonplace connects as"
        ) from error
    finally:
        await connection.close()


def _is_upgrade(noted: set[str], steps: list[Step]) -> bool:
    """Return whether missing steps change existing tables; another process may be creating them."""
    missing = {step.name for step in steps} - noted
    return bool(noted) and missing != {step.name for step in steps if step.name.startswith(_OURS)}


async def _noted(connection: asyncpg.Connection, where: str, steps: list[Step]) -> set[str]:
    """Return the names of the recorded steps; refuse a schema with unknown steps."""
    # Another process may create both tables in one transaction between these two queries.
    has_jobs = await connection.fetchval(_HAS_TABLE, f"{SCHEMA}.procrastinate_jobs")
    if not await connection.fetchval(_HAS_TABLE, f"{SCHEMA}.schema_steps"):
        if has_jobs:
            raise StorageUnavailableError(
                f"{where}: the schema {quoted(SCHEMA)} belongs to another program that uses Procrastinate: "
                "give knowledge memory a database of its own"
            )
        return set()
    noted = {row["name"] for row in await connection.fetch(_NOTED)}
    unknown = sorted(noted - {step.name for step in steps})
    if unknown:
        known = f"Procrastinate {version('procrastinate')}"
        raise DatabaseTooNewError(f"the queue in {where}", unknown[-1], known)
    return noted


async def _bring_up(connection: asyncpg.Connection, where: str, steps: list[Step]) -> None:
    await _install(connection, where, steps)
    for step in steps:
        async with _changing(connection):
            if step.name not in await _noted(connection, where, steps):
                await connection.execute(step.path.read_text(encoding="utf-8"))
                await connection.execute(_NOTE, [step.name])


async def _install(connection: asyncpg.Connection, where: str, steps: list[Step]) -> None:
    async with _changing(connection):
        if await _noted(connection, where, steps):
            return
        if not await connection.fetchval(_IS_THERE, SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.execute(SchemaManager.get_schema())
        await connection.execute(_CREATE_LIST)
        await connection.execute(_NOTE, [step.name for step in steps if not step.name.startswith(_OURS)])


@asynccontextmanager
async def _changing(connection: asyncpg.Connection) -> AsyncGenerator[None]:
    """Open a transaction in the queue's schema that excludes other changes of it."""
    async with connection.transaction():
        await connection.execute(_SETTINGS)
        await connection.execute(_SERIALISE)
        yield
