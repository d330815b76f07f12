"""Rewriting of database files after an erasure, because a deleted row stays in its file until its space is reused."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import asyncpg

from commonplace.storage import sqlite
from commonplace.storage.backup.copies import PostgresServer
from commonplace.storage.postgres_access import connected
from commonplace.storage.postgres_url import describe_url

LOCK_TIMEOUT_S: Final = 60
QUEUE_SCHEMA: Final = "procrastinate"
"""The schema of the tables of background work, beside those of knowledge memory."""

_TABLES: Final = """
SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
WHERE schemaname = ANY (current_schemas(false)) AND pg_has_role(tableowner, 'USAGE')
"""
_LOG_FILES: Final = "SELECT count(*) FROM pg_ls_waldir()"
_KEEP_NO_LOG: Final = ("ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf()", "CHECKPOINT")
_KEEP_LOG: Final = ("ALTER SYSTEM RESET wal_recycle", "SELECT pg_reload_conf()")


def compact_sqlite(path: Path) -> str | None:
    """Rewrite a SQLite file and empty its write-ahead log.

    Returns:
        The reason why erased texts may remain; ``None`` if they are gone.
    """
    try:
        with closing(sqlite.connect(path)) as connection:
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.OperationalError as error:
        return f"{path}: was not compacted ({error}): run the command again with --yes"
    return (
        f"{path}-wal: another process still reads this file; it is emptied when that process ends"
        if busy
        else None
    )


async def compact_postgres(server: PostgresServer) -> str | None:
    """Rewrite the tables and indexes of a database, and remove the write-ahead log of the embedded server.

    Returns:
        The reason why erased texts may remain; ``None`` if they are gone.
    """
    try:
        async with connected(server.url) as connection:
            await connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
            await connection.execute(f'SET search_path TO "$user", public, {QUEUE_SCHEMA}')
            tables = [row[0] for row in await connection.fetch(_TABLES)]
            await connection.execute(f"VACUUM (FULL, ANALYZE) {', '.join(tables)}")
            if server.admin_url:
                # ANALYZE has just replaced the frequent column values in this table.
                await connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")
                await _remove_log(connection)
    except asyncpg.PostgresError as error:
        return f"{describe_url(server.url)}: was not compacted ({error}): run the command again with --yes"
    return None


async def _remove_log(connection: asyncpg.Connection) -> None:
    """Use up and delete every file of the write-ahead log; the server keeps some files for reuse."""
    try:
        for statement in _KEEP_NO_LOG:
            await connection.execute(statement)
        for _ in range(await connection.fetchval(_LOG_FILES)):
            await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("CHECKPOINT")
    finally:
        for statement in _KEEP_LOG:
            await connection.execute(statement)
