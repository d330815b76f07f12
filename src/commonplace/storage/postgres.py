"""Pools of PostgreSQL connections, to the embedded server or to a server by URL.

Every connection has the same codecs: ``jsonb`` and ``json`` are Python objects; pgvector's ``vector`` accepts lists
and arrays, and is read as :class:`pgvector.Vector`. The server cancels statements that run too long.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from pgvector import Vector

from commonplace.core.errors import StorageUnavailableError
from commonplace.storage.cluster import APPLICATION_ROLE
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.outage_log import OutageLog
from commonplace.storage.postgres_access import Access, PostgresUrls, connect, prepare_access, replica_access
from commonplace.storage.postgres_url import describe_url, is_pooled
from commonplace.storage.roles import as_role, owner_access

Check = Callable[[asyncpg.Connection], Awaitable[bool]]
"""A question about a database, which a connection answers."""

MAX_POOL_SIZE = 10
"""Several processes share the 100 connections that a server allows by default."""

STATEMENT_TIMEOUT_S = 30.0
CLIENT_GRACE_S = 5.0
"""Seconds that the client waits longer than the server, so that the server's cancellation is the one reported."""

CLOSING_S = 2.0
"""Seconds that closing a pool waits for connections in use before it terminates them."""


async def open_pool(
    source: str | PostgresUrls | EmbeddedPostgres,
    *,
    application_name: str = "commonplace",
    max_size: int = MAX_POOL_SIZE,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    as_owner: bool = False,
) -> asyncpg.Pool:
    """Open a pool of connections. The caller closes the pool, before it closes the embedded server.

    If a connection to the embedded server fails, the server is started again, once per attempt. If the role of a URL
    bypasses row-level security, connections assume a plain role: see :mod:`commonplace.storage.postgres_access`.

    Args:
        source: One or two URLs of PostgreSQL 15 or later with pgvector, or the embedded server.
        application_name: The name in the server's list of connections.
        max_size: Maximum number of connections; one is opened immediately.
        statement_timeout_s: Seconds until a statement is cancelled: by the server, or behind a pooler by the client.
        as_owner: Connect as the owner of the tables, to change them; a single URL always names the owner.

    Raises:
        SettingsError: The URL is not a PostgreSQL URL.
        StorageUnavailableError: The server cannot be reached or used. No message contains the password.
        EmbeddedPostgresError: The embedded server cannot be started.
    """
    access = await access_to(source, as_owner=as_owner)
    return await _pool(access, source, application_name, max_size, statement_timeout_s)


async def open_current_pool(server: EmbeddedPostgres, is_current: Check) -> asyncpg.Pool | None:
    """Open a pool of connections to the embedded server, unless the database has to be upgraded first.

    The check runs on the first connection of the pool, because another connection would take a tenth of the time of a
    command. The caller closes the pool, before it closes the server.

    Returns:
        The pool; ``None`` if the first connection does not pass the check.

    Raises:
        StorageUnavailableError: The server cannot be reached or used.
        EmbeddedPostgresError: The embedded server cannot be started.
    """
    url = await server.url()
    access = Access(url=url, where=describe_url(url), role=None, vector_schema="public")
    try:
        return await _pool(
            access, server, "commonplace", MAX_POOL_SIZE, STATEMENT_TIMEOUT_S, check=is_current
        )
    except _OutdatedError:
        return None


class _OutdatedError(Exception):
    """The database has to be upgraded before it is used."""


async def open_replica_pool(url: str, primary: str) -> asyncpg.Pool:
    """Open a pool of connections to a replica. The caller closes it.

    The connections assume the role of ``primary``, a URL, if the role of ``url`` is privileged.

    Raises:
        SettingsError: A URL is not a PostgreSQL URL.
        StorageUnavailableError: One of the servers cannot be reached or used. No message contains the password.
    """
    access = await replica_access(url, await access_to(primary))
    return await _pool(access, url, "commonplace", MAX_POOL_SIZE, STATEMENT_TIMEOUT_S)


async def _pool(
    access: Access,
    source: str | PostgresUrls | EmbeddedPostgres,
    application_name: str,
    max_size: int,
    statement_timeout_s: float,
    *,
    check: Check | None = None,
) -> asyncpg.Pool:
    settings = {
        "application_name": application_name,
        "statement_timeout": str(int(statement_timeout_s * 1000)),
        **access.server_settings,
    }
    return await asyncpg.create_pool(
        access.url,
        min_size=1,
        max_size=max_size,
        command_timeout=statement_timeout_s + (0 if is_pooled(access.url) else CLIENT_GRACE_S),
        max_cacheable_statement_size=0,  # Search statements are longer than the default allows.
        connect=partial(_connect_again, source, OutageLog(access.where), access.where),  # pyright: ignore[reportArgumentType] - asyncpg asks for less
        init=partial(_begin, access.vector_schema, check),
        server_settings=settings,
    )


async def close_pool(pool: asyncpg.Pool) -> None:
    """Close a pool; terminate connections that are still in use after :data:`CLOSING_S`."""
    try:
        async with asyncio.timeout(CLOSING_S):
            await pool.close()
    except TimeoutError:
        pool.terminate()


async def access_to(source: str | PostgresUrls | EmbeddedPostgres, *, as_owner: bool = False) -> Access:
    """Return the access to a server; the embedded server is started if it is not running.

    Raises:
        SettingsError: The URL is not a PostgreSQL URL.
        StorageUnavailableError: The server cannot be reached or used. No message contains the password.
        EmbeddedPostgresError: The embedded server cannot be started.
    """
    if isinstance(source, str):
        return await prepare_access(source)
    if as_owner:
        return await owner_access(source)
    if isinstance(source, PostgresUrls):
        return await prepare_access(source.url)
    url = await source.start()
    return Access(url=url, where=describe_url(url), role=None, vector_schema="public")


async def _connect_again(
    source: str | PostgresUrls | EmbeddedPostgres,
    outages: OutageLog,
    where: str,
    url: str,
    **options: Any,  # noqa: ANN401 - handed on to asyncpg, which has no types
) -> asyncpg.Connection:
    with outages.connecting():
        try:
            return await connect(url, where=where, **options)
        except StorageUnavailableError:
            if not isinstance(source, EmbeddedPostgres):
                raise
            role = urlsplit(url).username or APPLICATION_ROLE
            return await connect(as_role(await source.start(), role), where=where, **options)


async def _begin(vector_schema: str, check: Check | None, connection: asyncpg.Connection) -> None:
    if check is not None and not await check(connection):
        raise _OutdatedError
    await _set_codecs(vector_schema, connection)


async def _set_codecs(vector_schema: str, connection: asyncpg.Connection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=partial(json.dumps, allow_nan=False), decoder=_json_value
        )
    # pgvector's own function also looks up two types that no statement returns, for each connection.
    await connection.set_type_codec(
        "vector", schema=vector_schema, encoder=_vector_to_binary, decoder=Vector.from_binary, format="binary"
    )


def _json_value(text: str) -> object:
    """Return a JSON value. Most memories have no tags, no flags and no metadata, and a block reads hundreds of them."""
    if text == "[]":
        return []
    return {} if text == "{}" else json.loads(text)


def _vector_to_binary(value: Any) -> bytes:  # noqa: ANN401 - a vector, or numbers to make one of
    return (value if isinstance(value, Vector) else Vector(value)).to_binary()
