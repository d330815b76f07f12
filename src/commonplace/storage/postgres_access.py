"""Access to a PostgreSQL server, and the role that the application has on it.

Row-level security does not apply to superusers and to roles with ``BYPASSRLS``. A URL often names such a role
(``postgres`` in a container, the owner of a managed database). Then every connection assumes the plain role
``commonplace``, which is created without login if it does not exist. The role is set in the start-up packet, so that
neither ``RESET ALL``, which the pool sends between two users of a connection, nor ``RESET ROLE`` restores the
privileges. A pooler does not forward this setting, so the URL of a pooler must name a plain role.
"""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import asyncpg

from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.core.quoting import quoted
from commonplace.core.settings import Settings
from commonplace.storage.postgres_url import describe_url, is_pooled, mask_password, server_url

logger = logging.getLogger(__name__)

PLAIN_ROLE = "commonplace"
MIN_SERVER_MAJOR = 15
CONNECT_TIMEOUT_S = 10

_CREATE_PLAIN_ROLE = "CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS"
_IS_PRIVILEGED = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1"
_MISSING_GRANTS = """
SELECT format('GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %I TO %I', current_database(), $1::name)
WHERE NOT has_database_privilege($1::name, current_database(), 'CREATE')
UNION ALL
SELECT format('GRANT USAGE, CREATE ON SCHEMA %I TO %I', current_schema(), $1::name)
WHERE NOT has_schema_privilege($1::name, current_schema(), 'CREATE')
UNION ALL
SELECT format('GRANT %I TO %I', $1::name, current_user) WHERE NOT pg_has_role(current_user, $1::name,
'MEMBER')
"""
_LOOK = """
SELECT rolsuper OR rolbypassrls AS is_privileged, nspname AS vector_schema,
    nspname = ANY (current_schemas(false)) AS is_in_path
FROM pg_roles
LEFT JOIN (pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace) ON extname = 'vector'
WHERE rolname = current_user
"""
_SERIALISE = "SELECT pg_advisory_xact_lock(hashtext('commonplace access'))"
_CREATE_VECTOR = "CREATE EXTENSION IF NOT EXISTS vector"
_VECTOR_SCHEMA = """
SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
"""


class PooledConnection(asyncpg.Connection):
    """A connection to a pooler, which may lend a different server connection to each transaction.

    It prepares no named statements and does not reset the session.
    """

    async def prepare(self, query: str, *, name: str | None = None, **options: Any) -> Any:  # noqa: ANN401, ARG002
        """Prepare a statement without a name; see :meth:`asyncpg.Connection.prepare`."""
        return await super().prepare(query, name="", **options)

    def get_reset_query(self) -> str:
        """Return an empty statement, because there is no session to reset."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresUrls:
    """A database with two roles: the URL of the application, and the URL of the owner of the tables."""

    url: str
    owner_url: str


def with_owner(url: str, settings: Settings) -> str | PostgresUrls:
    """Return a URL of the settings, together with the URL of the owner if the settings name it for this database."""
    owner_url = settings.postgres_owner_url
    return PostgresUrls(url=url, owner_url=owner_url) if owner_url and url == settings.postgres_url else url


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The URL and settings for connections to which row-level security applies.

    ``role`` is the role to assume (the setting ``role`` of each connection), or ``None`` to keep the URL's role.
    ``vector_schema`` is the schema of pgvector's types. ``where`` names host and database, for messages.
    """

    url: str
    where: str
    role: str | None
    vector_schema: str

    @property
    def server_settings(self) -> dict[str, str]:
        """The start-up settings of every connection: the role, and a search path that includes pgvector."""
        settings = {"role": self.role} if self.role else {}
        if self.vector_schema != "public":
            quoted = self.vector_schema.replace('"', '""')
            settings["search_path"] = f'"$user", public, "{quoted}"'
        return settings


async def connect(
    url: str,
    *,
    where: str,
    **options: Any,  # noqa: ANN401 - handed on to asyncpg, which has no types
) -> asyncpg.Connection:
    """Open one connection; if the URL names several hosts, to their primary.

    A connection to a pooler gets no setting except ``application_name``.

    ``options`` are further arguments of ``asyncpg.connect``.

    Raises:
        SettingsError: The URL has unknown parameters.
        StorageUnavailableError: The server cannot be reached or refuses the connection. No message holds the password.
    """
    if is_pooled(url):
        options["server_settings"] = {
            name: value
            for name, value in options.get("server_settings", {}).items()
            if name == "application_name"
        }
        options |= {"connection_class": PooledConnection, "statement_cache_size": 0}
    try:
        return await asyncpg.connect(server_url(url), timeout=CONNECT_TIMEOUT_S, **options)
    except (asyncpg.PostgresError, OSError) as error:
        reason = mask_password(str(error) or type(error).__name__, url)
        raise StorageUnavailableError(f"cannot connect to PostgreSQL, {where}: {reason}") from None
    except (asyncpg.InterfaceError, ValueError) as error:
        raise SettingsError(f"the PostgreSQL URL of {where}: {mask_password(str(error), url)}") from None


@asynccontextmanager
async def connected(
    url: str,
    *,
    where: str | None = None,
    **options: Any,  # noqa: ANN401 - as above
) -> AsyncGenerator[asyncpg.Connection]:
    """Yield one connection, and close it at the end of the block; see :func:`connect`."""
    connection = await connect(url, where=where or describe_url(url), **options)
    try:
        yield connection
    finally:
        await connection.close()


async def replica_access(url: str, primary: Access) -> Access:
    """Return the access to a replica of a prepared server; all other information comes from the primary.

    Raises:
        StorageUnavailableError: The replica cannot be reached, or its role is not suitable.
    """
    where = describe_url(url)
    try:
        async with connected(url) as connection:
            found = await connection.fetchrow(_LOOK)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise StorageUnavailableError(f"cannot read from {where}: {error}") from error
    if found and is_pooled(url):
        _refuse_behind_pooler(found, where)
    is_privileged = found is not None and found["is_privileged"]
    if is_privileged and primary.role is None:
        raise StorageUnavailableError(
            f"{where}: the role of the URL bypasses row-level security: use the role of COMMONPLACE_POSTGRES_URL"
        )
    return replace(primary, url=url, where=where, role=primary.role if is_privileged else None)


async def prepare_access(url: str, *, plain_role: str = PLAIN_ROLE) -> Access:
    """Check a server, and create the role and the extension if they are missing and the URL's role may do so.

    Args:
        url: ``postgresql://user:password@host:port/database`` of PostgreSQL 15 or later with pgvector.
        plain_role: The role to assume if row-level security does not apply to the role of the URL.

    Raises:
        SettingsError: The text is not a PostgreSQL URL.
        StorageUnavailableError: The server cannot be reached or refuses the connection, is too old, or lacks pgvector
            or a plain role. No message holds the password.
    """
    where = describe_url(url)
    try:
        async with connected(url) as connection:
            _require_version(connection.get_server_version().major, where)
            found = await connection.fetchrow(_LOOK)
            if is_pooled(url) and found:
                _refuse_behind_pooler(found, where)
            if found and not found["is_privileged"] and found["vector_schema"]:
                # For nearly every connection, one statement is enough, because nothing has to be created.
                return Access(url=url, where=where, role=None, vector_schema=found["vector_schema"])
            async with connection.transaction():
                await connection.execute(_SERIALISE)
                role = await _plain_role(connection, where, plain_role)
                vector_schema = await _vector_schema(connection, where)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise StorageUnavailableError(f"cannot prepare {where}: {error}") from error
    return Access(url=url, where=where, role=role, vector_schema=vector_schema)


def _refuse_behind_pooler(found: asyncpg.Record, where: str) -> None:
    """Refuse a role or search path that only a session setting could fix.

    Raises:
        StorageUnavailableError: The role or its search path is not suitable.
    """
    if found["is_privileged"]:
        raise StorageUnavailableError(
            f"{where}: the role of the URL bypasses row-level security, and behind a pooler no other role can be "
            "assumed: connect as a plain role that owns the database"
        )
    if found["vector_schema"] and not found["is_in_path"]:
        raise StorageUnavailableError(
            f"{where}: pgvector is in the schema {quoted(found['vector_schema'])}, which is not in the search path, "
            "and behind a pooler no search path can be set: run ALTER ROLE … SET search_path for the role of the URL"
        )


def _require_version(major: int, where: str) -> None:
    if major < MIN_SERVER_MAJOR:
        raise StorageUnavailableError(
            f"{where} runs PostgreSQL {major}: version {MIN_SERVER_MAJOR} or later is required"
        )


async def _plain_role(connection: asyncpg.Connection, where: str, role: str) -> str | None:
    login = cast("str", await connection.fetchval("SELECT current_user"))
    if not await connection.fetchval(_IS_PRIVILEGED, login):
        return None
    try:
        if await connection.fetchval(_IS_PRIVILEGED, role) is None:
            await _create_plain_role(connection, role)
        for (grant,) in await connection.fetch(_MISSING_GRANTS, role):
            await connection.execute(grant)
    except asyncpg.InsufficientPrivilegeError as error:
        raise StorageUnavailableError(
            f"{where}: role {quoted(login)} bypasses row-level security, and the plain role {quoted(role)} "
            f"cannot be set up ({error}): connect as a plain role that owns the database"
        ) from error
    if await connection.fetchval(_IS_PRIVILEGED, role):
        raise StorageUnavailableError(
            f"{where}: role {quoted(login)} bypasses row-level security, and so does {quoted(role)}: "
            f"ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS"
        )
    logger.info("%s: role %r bypasses row-level security; connections use %r", where, login, role)
    return role


async def _create_plain_role(connection: asyncpg.Connection, role: str) -> None:
    try:
        async with connection.transaction():
            await connection.execute(_CREATE_PLAIN_ROLE.format(role=role))
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        # Roles belong to the whole server, but the advisory lock to one database.
        logger.debug("role %r was created by another process meanwhile", role)


async def _vector_schema(connection: asyncpg.Connection, where: str) -> str:
    schema: str | None = await connection.fetchval(_VECTOR_SCHEMA)
    if schema is not None:
        return schema
    try:
        await connection.execute(_CREATE_VECTOR)
    except asyncpg.InsufficientPrivilegeError as error:
        raise StorageUnavailableError(
            f"{where} has no pgvector, and this role may not create it: as a superuser, run {_CREATE_VECTOR} there"
        ) from error
    except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:
        raise StorageUnavailableError(
            f"{where}: the server has no pgvector; install it there (Debian: postgresql-NN-pgvector)"
        ) from error
    return cast("str", await connection.fetchval(_VECTOR_SCHEMA))
