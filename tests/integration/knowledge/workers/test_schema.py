"""The tables of the queue: made once, brought up to date, and left alone where they are somebody else's."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.errors import DatabaseTooNewError, SettingsError, StorageUnavailableError
from commonplace.knowledge.workers import schema
from commonplace.knowledge.workers.queue import open_queue
from commonplace.knowledge.workers.schema import known_steps, prepare_schema
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.embedded import Membership
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres_access import Access, prepare_access

TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = 'procrastinate'"
OWNERS = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'procrastinate'"


async def test_two_that_start_at_once_make_it_once(postgres_url: str) -> None:
    """And a third finds nothing to do."""
    access = await prepare_access(postgres_url)
    await asyncio.gather(*(prepare_schema(access) for _ in range(4)))
    connection = await asyncpg.connect(postgres_url)
    steps = await connection.fetch("SELECT name FROM procrastinate.schema_steps")
    assert {row["name"] for row in steps} == {step.name for step in known_steps()}
    before = await connection.fetchval(TABLES)
    await prepare_schema(access)
    assert await connection.fetchval(TABLES) == before
    await connection.close()


async def test_a_schema_that_appears_while_it_is_looked_for_is_ours(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process creates it between two questions of this one."""
    access = await prepare_access(postgres_url)
    fetchval, asked = asyncpg.Connection.fetchval, list[str]()

    async def after_another(connection: asyncpg.Connection, query: str, *values: str) -> object:
        if asked:
            return await fetchval(connection, query, *values)
        asked.append(query)
        answer = await fetchval(connection, query, *values)
        await prepare_schema(access)
        return answer

    monkeypatch.setattr(asyncpg.Connection, "fetchval", after_another)
    await prepare_schema(access)


async def test_steps_of_a_later_release_are_applied(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, each once; what is stored stays. A step that fails leaves nothing behind, and is tried again."""
    access = await prepare_access(postgres_url)
    await prepare_schema(access)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("INSERT INTO procrastinate.procrastinate_workers DEFAULT VALUES")
    later = tmp_path / "002_later.sql"
    later.write_text("ALTER TABLE worker_details ADD COLUMN motto TEXT; SELECT 1 / 0;")
    steps = [*known_steps(), schema.Step(name="commonplace/002_later.sql", path=later)]
    monkeypatch.setattr(schema, "known_steps", lambda: steps)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await prepare_schema(access)
    later.write_text("ALTER TABLE worker_details ADD COLUMN motto TEXT;")
    for _ in range(2):
        await prepare_schema(access)
    assert await connection.fetchval("SELECT count(motto) FROM procrastinate.worker_details") == 0
    assert await connection.fetchval("SELECT count(*) FROM procrastinate.procrastinate_workers") == 1
    monkeypatch.undo()
    with pytest.raises(
        DatabaseTooNewError, match=r'002_later.*supports only revisions up to "Procrastinate 3'
    ):
        await prepare_schema(access)
    await connection.close()


async def test_a_schema_of_another_program_is_left_alone(postgres_url: str) -> None:
    """It says whose it is, and what to do."""
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        "CREATE SCHEMA procrastinate; CREATE TABLE procrastinate.procrastinate_jobs (id int)"
    )
    with pytest.raises(StorageUnavailableError, match="belongs to another program"):
        await prepare_schema(await prepare_access(postgres_url))
    assert await connection.fetchval(TABLES) == 1
    await connection.close()


async def test_a_role_that_may_not_create_a_schema_is_told(
    postgres_url: str, embedded_cluster: Membership
) -> None:
    """With the statement that helps."""
    database = postgres_url.split("/")[3].split("?", maxsplit=1)[0]
    admin = await asyncpg.connect(embedded_cluster.url(role=SUPERUSER, database=database))
    await admin.execute(f'REVOKE CREATE ON DATABASE "{database}" FROM commonplace')
    await admin.execute(f'ALTER DATABASE "{database}" OWNER TO {SUPERUSER}')
    with pytest.raises(StorageUnavailableError, match="CREATE SCHEMA procrastinate AUTHORIZATION"):
        await prepare_schema(await prepare_access(postgres_url))
    await admin.execute("CREATE SCHEMA procrastinate AUTHORIZATION commonplace")
    await prepare_schema(await prepare_access(postgres_url))
    await admin.close()


async def test_a_superusers_url_works_as_the_plain_role(
    postgres_url: str, embedded_cluster: Membership
) -> None:
    """Both drivers take the role as they connect, and everything belongs to it."""
    database = postgres_url.split("/")[3].split("?", maxsplit=1)[0]
    url = embedded_cluster.url(role=SUPERUSER, database=database)
    await migrate_postgres(url, "memory")
    access = await prepare_access(url)
    assert access.role == "commonplace"
    await prepare_schema(access)
    async with open_queue(access, name="tester", concurrency=1, on_register=lambda _: None) as app:
        who = await app.connector.execute_query_one_async(
            "SELECT current_user::text AS role, current_schema()::text AS place"
        )
        assert who == {"role": "commonplace", "place": "procrastinate"}
    admin = await asyncpg.connect(url)
    assert [row["tableowner"] for row in await admin.fetch(OWNERS)] == ["commonplace"]
    await admin.close()


async def test_a_url_that_only_one_driver_understands_is_refused_by_name(postgres_url: str) -> None:
    """Without its password."""
    access = await prepare_access(postgres_url)
    odd = Access(
        url="postgresql://me:hunter2@db/memory?jit=off",
        where="db",
        role=None,
        vector_schema=access.vector_schema,
    )
    with pytest.raises(SettingsError, match="jit") as caught:
        async with open_queue(odd, name="tester", concurrency=1, on_register=lambda _: None):
            pass
    assert "hunter2" not in str(caught.value)
