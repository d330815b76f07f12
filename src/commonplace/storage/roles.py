"""Two roles of the embedded server: the application, and the owner of the tables.

The application logs in as ``commonplace``. This role reads and writes rows, but it can neither change a table or a
policy, nor switch row-level security off, nor become the owner. Migrations, the queue's schema and moves to another
embedding model use ``commonplace_owner``, to which row-level security applies as well.

The cluster is created with one role. The first opening, also of an older home, changes it over in one transaction.
Source: HRD-04.
"""

from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from commonplace.core.errors import StorageUnavailableError
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.embedded import EmbeddedPostgres
from commonplace.storage.postgres_access import Access, connect
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
DECLARE
    place name;
BEGIN
    SET LOCAL lock_timeout = '60s';
    IF to_regrole('{OWNER_ROLE}') IS NULL THEN
        CREATE ROLE {OWNER_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    END IF;
    REASSIGN OWNED BY {APPLICATION_ROLE} TO {OWNER_ROLE};
    EXECUTE format('ALTER DATABASE %I OWNER TO {OWNER_ROLE}', current_database());
    FOR place IN
        SELECT nspname FROM pg_namespace
        WHERE nspname = 'public' OR nspowner = CAST('{OWNER_ROLE}' AS regrole) AND nspname NOT LIKE 'pg\\_%'
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO {APPLICATION_ROLE}', place);
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO {APPLICATION_ROLE}', place
        );
        EXECUTE format('GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %I TO {APPLICATION_ROLE}', place);
    END LOOP;
    ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER_ROLE} GRANT USAGE ON SCHEMAS TO {APPLICATION_ROLE};
    ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER_ROLE} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APPLICATION_ROLE};
    ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER_ROLE} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO {APPLICATION_ROLE};
END
$$
"""  # noqa: S608 - constants


def as_role(url: str, role: str) -> str:
    """Return a URL of the embedded server with another role; the server asks no role for a password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{quote(role)}@{parts.netloc.rpartition('@')[2]}"))


async def owner_access(source: EmbeddedPostgres) -> Access:
    """Return the owner's access to the embedded server; give the tables to the owner if they are not yet.

    Raises:
        StorageUnavailableError: The server cannot be reached or used.
        EmbeddedPostgresError: The server cannot be started.
    """
    url = await source.start()
    where = describe_url(url)
    connection = await connect(url, where=where)
    try:
        is_separate = await connection.fetchval(_IS_SEPARATE)
    finally:
        await connection.close()
    if not is_separate:
        await separate_roles(url)
    return Access(url=as_role(url, OWNER_ROLE), where=where, role=None, vector_schema="public")


async def separate_roles(url: str) -> None:
    """Give all tables of a database of the embedded server to the owner, and the application its rights to the rows.

    Args:
        url: The database, with any role.

    Raises:
        StorageUnavailableError: The server cannot be reached or used.
    """
    where = describe_url(url)
    connection = await connect(as_role(url, SUPERUSER), where=where)
    try:
        async with connection.transaction():
            await connection.execute(_SERIALISE)
            await connection.execute(_SEPARATE)
    except (asyncpg.PostgresError, OSError) as error:
        raise StorageUnavailableError(
            f"{where}: the tables cannot be given to their owner: {error}"
        ) from error
    finally:
        await connection.close()
