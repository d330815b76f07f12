"""The owner of the tables and the application are two roles of the embedded server."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers.queue import open_queue
from commonplace.knowledge.workers.schema import prepare_schema
from commonplace.storage.embedded import EmbeddedPostgres, join_server
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.roles import OWNER_ROLE
from support.reembedding import TurnedEngine

SWITCHES_OFF = (
    "ALTER TABLE facts NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE facts DISABLE ROW LEVEL SECURITY",
    "DROP POLICY facts_tenant ON facts",
    "ALTER TABLE facts OWNER TO commonplace",
    "TRUNCATE facts",
    f"SET ROLE {OWNER_ROLE}",
    "SET ROLE postgres",
    "CREATE TABLE public.mine (id int)",
)


@pytest.mark.requirement("HRD-04.1", "KNW-29.2")
async def test_the_application_cannot_switch_row_level_security_off(postgres_directory: Path) -> None:
    """A home with one role is changed over at its next opening, by one of several processes, and keeps its rows."""
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    with_one_role = join_server(postgres_directory)
    await migrate_postgres(with_one_role.url(), "memory")
    async with KnowledgeMemory.open(
        Settings(home=postgres_directory.parent, postgres_url=with_one_role.url()), engine=engine
    ) as memory:
        fact = await memory.store_fact(subject="port", predicate="is", content="It is 5432.")

    async def opened() -> None:
        async with EmbeddedPostgres(postgres_directory) as server:
            await migrate_postgres(server, "memory")

    await asyncio.gather(opened(), opened())
    with_one_role.leave()
    async with KnowledgeMemory.open(Settings(home=postgres_directory.parent), engine=engine) as memory:
        assert (await memory.get_memory("fact", fact.id)).content == "It is 5432."
        assert (await memory.store_fact(subject="port", predicate="is", content="It is 5433.")).superseded_id
        async with memory.acting() as pool, pool.acquire() as connection:
            assert await connection.fetchval("SELECT current_user") == "commonplace"
            for statement in SWITCHES_OFF:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
        async with memory.database.owner_pool() as owners:
            assert await owners.fetchval("SELECT current_user") == OWNER_ROLE
            assert await owners.fetchval("SELECT count(*) FROM facts") == 0  # without a tenant
        await prepare_schema(await memory.database.access(as_owner=True))
        access = await memory.database.access()
        async with open_queue(access, name="tester", concurrency=1, on_register=lambda _: None) as app:
            assert await app.job_manager.list_jobs_async() == []
        assert (await memory.reembed(TurnedEngine())).moved
        async with memory.acting() as pool:
            owners = await pool.fetch("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
            assert [row["tableowner"] for row in owners] == [OWNER_ROLE]
