"""Two roles on a server: the application, and the owner of the tables.

The application reads and writes rows, but it cannot change tables or policies, disable row-level security, or become
the owner. The owner runs migrations, changes of the queue's schema and moves to another embedding model; row-level
security applies to the owner too.

On the embedded server, the roles are ``commonplace`` and ``commonplace_owner``. The cluster is created with one role;
the first opening, even of an older home, separates the roles in one transaction. On another server, each role has a
URL, and the operator creates both roles. Source: HRD-04.
"""

from typing import Final, cast
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from commonplace.core.errors import StorageUnavailableError
from commonplace.core.quoting import quoted
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.postgres_access import Access, PostgresUrls, connected, prepare_access
from commonplace.storage.postgres_url import describe_url

OWNER_ROLE: Final = "commonplace_owner"

_IS_SEPARATE: Final = f"""
SELECT pg_get_userbyid(datdba) = '{OWNER_ROLE}'
    AND NOT EXISTS (SELECT 1 FROM pg_class WHERE relowner = CAST('{APPLICATION_ROLE}' AS regrole))
FROM pg_database WHERE datname = current_database()
"""  # noqa: S608 - constants
_SERIALISE: Final = "SELECT pg_advisory_xact_lock(hashtext('commonplace roles'))"
_SEPARATE: Final = f"""
DO $$
BEGIN
    SET LOCAL lock_timeout = '60s';
    IF to_regrole('{OWNER_ROLE}') IS NULL THEN
        CREATE ROLE {OWNER_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    END IF;
    REASSIGN OWNED BY {APPLICATION_ROLE} TO {OWNER_ROLE};
    EXECUTE format('ALTER DATABASE %I OWNER TO {OWNER_ROLE}', current_database());
END
$$;
SET LOCAL ROLE {OWNER_ROLE}
"""
_GRANTS: Final = r"""
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', nspname, $1::name) FROM pg_namespace
WHERE (nspname = 'public' OR pg_get_userbyid(nspowner) = current_user AND nspname NOT LIKE 'pg\_%')
    AND NOT has_schema_privilege($1::name, oid, 'USAGE')
UNION ALL
SELECT format(
    'GRANT %s %s TO %I',
    CASE relkind WHEN 'S' THEN 'USAGE, SELECT, UPDATE ON SEQUENCE' ELSE 'SELECT, INSERT, UPDATE, DELETE ON TABLE' END,
    oid::regclass, $1::name
)
FROM pg_class
WHERE pg_get_userbyid(relowner) = current_user AND relkind IN ('r', 'p', 'v', 'S') AND relpersistence <> 't'
UNION ALL
SELECT format('ALTER DEFAULT PRIVILEGES GRANT ' || rights || ' TO %I', $1::name)
FROM unnest(ARRAY[
    'USAGE ON SCHEMAS', 'SELECT, INSERT, UPDATE, DELETE ON TABLES', 'USAGE, SELECT, UPDATE ON SEQUENCES'
]) AS rights
"""
"""The statements that give a role its rights to the rows; the owner runs them."""

_IS_OWNER: Final = """
    EXISTS (SELECT FROM pg_class WHERE relowner = pg_roles.oid AND relpersistence <> 't')
    OR EXISTS (SELECT FROM pg_database WHERE datname = current_database() AND datdba = pg_roles.oid)
"""
IS_READY: Final = f"""
SELECT NOT (rolsuper OR rolbypassrls OR {_IS_OWNER})
    AND coalesce(has_table_privilege(to_regclass('alembic_version'), 'SELECT'), false)
FROM pg_roles WHERE rolname = session_user
"""  # noqa: S608 - constants
"""Whether the role of a connection is an application role with its rights to the rows."""

CAN_SWITCH_OFF: Final = """
SELECT EXISTS (SELECT FROM pg_class WHERE relrowsecurity AND pg_has_role(session_user, relowner, 'MEMBER'))
"""
"""Whether the role of a connection can disable row-level security."""

_APPLICATION: Final = f"""
SELECT session_user::text AS name, rolsuper OR rolbypassrls AS is_privileged, {_IS_OWNER} AS is_owner
FROM pg_roles WHERE rolname = session_user
"""  # noqa: S608 - constants


def as_role(url: str, role: str) -> str:
    """Return a URL of the embedded server with another role; roles of this server need no password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(role)}@{parts.netloc.rpartition('@')[2]}"))


async def owner_access(source: PostgresUrls | EmbeddedPostgres) -> Access:
    """Return the owner's access to a server, after giving the application its rights to the rows.

    On the embedded server, the tables are given to the owner if they are not yet.

    Raises:
        SettingsError: A URL is malformed.
        StorageUnavailableError: The server cannot be reached or used, or the URLs do not name two suitable roles.
        EmbeddedPostgresError: The server cannot be started.
    """
    if isinstance(source, PostgresUrls):
        return await _owner_by_url(source)
    url = await source.start()
    async with connected(url) as connection:
        is_separate = await connection.fetchval(_IS_SEPARATE)
    if not is_separate:
        await separate_roles(url)
    return embedded_owner(url)


def embedded_owner(url: str) -> Access:
    """Return the owner's access to a database of the embedded server whose roles are separate."""
    return Access(url=as_role(url, OWNER_ROLE), where=describe_url(url), role=None, vector_schema="public")


async def separate_roles(url: str) -> None:
    """Give all tables of a database of the embedded server to the owner, and the application its rights to the rows.

    Raises:
        StorageUnavailableError: The server cannot be reached or used.
    """
    try:
        async with connected(as_role(url, SUPERUSER)) as connection, connection.transaction():
            await connection.execute(_SERIALISE)
            await connection.execute(_SEPARATE)
            await _grant(connection, APPLICATION_ROLE)
    except (asyncpg.PostgresError, OSError) as error:
        raise StorageUnavailableError(
            f"{describe_url(url)}: the tables cannot be given to their owner: {error}"
        ) from error


async def _grant(connection: asyncpg.Connection, application: str) -> None:
    for (statement,) in await connection.fetch(_GRANTS, application):
        await connection.execute(statement)


async def _owner_by_url(urls: PostgresUrls) -> Access:
    access = await prepare_access(urls.owner_url, plain_role=OWNER_ROLE)
    async with connected(urls.url) as connection:
        application = cast("asyncpg.Record", await connection.fetchrow(_APPLICATION))
    try:
        async with connected(access.url, server_settings=access.server_settings) as connection:
            owner = await connection.fetchval("SELECT current_user::text")
            is_member = await connection.fetchval(
                "SELECT pg_has_role($1::name, current_user, 'MEMBER')", application["name"]
            )
            _require_two_roles(access.where, application, owner, is_member=is_member)
            async with connection.transaction():
                await connection.execute(_SERIALISE)
                await _grant(connection, application["name"])
    except (asyncpg.PostgresError, OSError) as error:
        raise StorageUnavailableError(f"{access.where}: the owner cannot grant rights: {error}") from error
    return access


def _require_two_roles(where: str, application: asyncpg.Record, owner: str, *, is_member: bool) -> None:
    """Require that the application's role is neither the owner nor able to do the work of the owner.

    Raises:
        StorageUnavailableError: The application has rights of the owner.
    """
    name = application["name"]
    if application["is_privileged"]:
        reason = "bypasses row-level security: name a plain role"
    elif is_member:
        reason = f"is the owner {quoted(owner)} or a member of it: name another role"
    elif application["is_owner"]:
        reason = (
            f'owns the database or objects in it: as a superuser, run REASSIGN OWNED BY "{name}" TO "{owner}" in this '
            "database"
        )
    else:
        return
    raise StorageUnavailableError(f"{where}: the role {quoted(name)} of COMMONPLACE_POSTGRES_URL {reason}")
