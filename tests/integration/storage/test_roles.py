"""The owner of the tables and the application are two roles, of the embedded server and by URL."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.core.settings import Settings, load_settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.workers.queue import open_queue
from commonplace.knowledge.workers.schema import prepare_schema
from commonplace.operational import OperationalMemory
from commonplace.storage.backup.restoring import restore
from commonplace.storage.backup.taking import back_up
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.embedded import EmbeddedPostgres, Membership, join_server
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres_access import PostgresUrls
from commonplace.storage.postgres_binaries import bundled_programs
from commonplace.storage.probe import ROLE_WARNING, probe_postgres
from commonplace.storage.roles import OWNER_ROLE, as_role
from support.postgres import fresh_database
from support.reembedding import TurnedEngine

ROLES = Path(__file__).parents[3] / "packaging" / "roles.sql"
SWITCHES_OFF = (
    "ALTER TABLE facts NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE facts DISABLE ROW LEVEL SECURITY",
    "DROP POLICY facts_tenant ON facts",
    "ALTER TABLE facts OWNER TO commonplace",
    "TRUNCATE facts",
    "SET ROLE postgres",
    "CREATE TABLE public.mine (id int)",
)


@pytest.fixture
def engine() -> EmbeddingEngine:
    """An engine without a model."""
    return EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))


@pytest.fixture
async def two_roles(embedded_cluster: Membership) -> AsyncIterator[PostgresUrls]:
    """An empty database that ``packaging/roles.sql`` has prepared, with role names of its own."""
    async with fresh_database(embedded_cluster) as url:
        yield prepared_by_script(url)


def prepared_by_script(url: str) -> PostgresUrls:
    """Run ``packaging/roles.sql`` in a database, with role names of its own; return the URLs of the two roles."""
    name = f"app_{uuid4().hex}"
    script = ROLES.read_text(encoding="utf-8").replace("commonplace", name)
    subprocess.run(
        [bundled_programs() / "psql", "--set=ON_ERROR_STOP=1", "--dbname", as_role(url, SUPERUSER)],
        input=script,
        text=True,
        check=True,
        env={"COMMONPLACE_PASSWORD": "a", "COMMONPLACE_OWNER_PASSWORD": "b"},
    )
    return PostgresUrls(url=as_role(url, name), owner_url=as_role(url, f"{name}_owner"))


def settings_of(urls: PostgresUrls, home: Path) -> Settings:
    """Return settings that name both roles, for all memories."""
    return Settings(
        home=home, workspace=home, database=urls.url, postgres_url=urls.url, postgres_owner_url=urls.owner_url
    )


@pytest.mark.requirement("HRD-04.1", "KNW-29.2")
async def test_the_application_cannot_switch_row_level_security_off(
    postgres_directory: Path, engine: EmbeddingEngine
) -> None:
    """A home with one role is changed over at its next opening, by one of several processes, and keeps its rows."""
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
        assert (await memory.get("fact", fact.id)).content == "It is 5432."
        assert (await memory.store_fact(subject="port", predicate="is", content="It is 5433.")).superseded_id
        async with memory.session.acting() as pool, pool.acquire() as connection:
            assert await connection.fetchval("SELECT current_user") == "commonplace"
            for statement in (*SWITCHES_OFF, f"SET ROLE {OWNER_ROLE}"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
        async with memory.database.owner_pool() as owners:
            assert await owners.fetchval("SELECT current_user") == OWNER_ROLE
            assert await owners.fetchval("SELECT count(*) FROM facts") == 0  # without a tenant
        await prepare_schema(await memory.database.access(as_owner=True))
        access = await memory.database.access()
        async with open_queue(access, name="tester", concurrency=1, on_register=lambda _: None) as app:
            assert await app.job_manager.list_jobs_async() == []
        assert (await memory.reembedding.run(TurnedEngine())).moved
        async with memory.session.acting() as pool:
            owners = await pool.fetch("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
            assert [row["tableowner"] for row in owners] == [OWNER_ROLE]


@pytest.mark.requirement("HRD-04.1", "KNW-29.2")
async def test_by_url_the_application_owns_nothing(
    two_roles: PostgresUrls, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """The owner creates the tables; then the application works without the URL of the owner."""
    settings = settings_of(two_roles, tmp_path)
    async with (
        OperationalMemory.open(settings) as operational,
        KnowledgeMemory.open(settings, engine=engine) as memory,
    ):
        await operational.add(category="timing", observation="The backup takes an hour")
        assert (await memory.store_fact(subject="port", predicate="is", content="It is 5432.")).id
        await prepare_schema(await memory.database.access(as_owner=True))
        assert (await memory.reembedding.run(TurnedEngine())).moved
    alone = settings.model_copy(update={"postgres_owner_url": None})
    async with (
        OperationalMemory.open(alone) as operational,
        KnowledgeMemory.open(alone, engine=TurnedEngine()) as memory,
    ):
        assert len(await operational.list_memories()) == 1
        assert (await memory.store_fact(subject="port", predicate="is", content="It is 5433.")).superseded_id
        await prepare_schema(await memory.database.access(as_owner=True))
        async with open_queue(
            await memory.database.access(), name="tester", concurrency=1, on_register=lambda _: None
        ) as app:
            assert await app.job_manager.list_jobs_async() == []
        async with memory.session.acting() as pool, pool.acquire() as connection:
            owner = await connection.fetchval("SELECT tableowner FROM pg_tables WHERE tablename = 'facts'")
            for statement in (*SWITCHES_OFF, f"SET ROLE {owner}"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
    assert ROLE_WARNING not in await probe_postgres(alone)
    assert ROLE_WARNING in await probe_postgres(
        alone.model_copy(update={"postgres_url": two_roles.owner_url})
    )


async def test_a_database_with_one_role_is_changed_over_by_its_operator(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """The error holds the statement that gives the tables to the owner; the rows stay."""
    one = Settings(home=tmp_path, postgres_url=knowledge_url)
    async with KnowledgeMemory.open(one, engine=engine) as memory:
        fact = await memory.store_fact(subject="port", predicate="is", content="It is 5432.")
    assert ROLE_WARNING in await probe_postgres(one)
    superuser = as_role(knowledge_url, SUPERUSER)
    two = one.model_copy(update={"postgres_owner_url": superuser})
    with pytest.raises(StorageUnavailableError, match="owns the database or objects in it") as refused:
        async with KnowledgeMemory.open(two, engine=engine):
            pass
    statement = str(refused.value).partition("run ")[2].partition(" in this database")[0]
    connection = await asyncpg.connect(superuser)
    application = await connection.fetchval(
        "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'facts'"
    )
    assert statement == f'REASSIGN OWNED BY "{application}" TO "{OWNER_ROLE}"'
    name = f"app_{uuid4().hex}"  # other tests need the databases of the shared role
    async with connection.transaction():
        await connection.execute(f"CREATE ROLE {name} LOGIN")
        for (table,) in await connection.fetch(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND pg_get_userbyid(relowner) = $1",
            application,
        ):
            await connection.execute(f"ALTER TABLE {table} OWNER TO {OWNER_ROLE}")
    await connection.close()
    changed = two.model_copy(update={"postgres_url": as_role(knowledge_url, name)})
    async with KnowledgeMemory.open(changed, engine=engine) as memory:
        assert (await memory.get("fact", fact.id)).content == "It is 5432."


@pytest.mark.parametrize("wrong", ["owner", "superuser"])
async def test_two_urls_name_two_plain_roles(
    two_roles: PostgresUrls, tmp_path: Path, engine: EmbeddingEngine, wrong: str
) -> None:
    """The application is neither the owner nor a superuser."""
    role = SUPERUSER if wrong == "superuser" else two_roles.owner_url.partition("//")[2].partition("@")[0]
    urls = PostgresUrls(url=as_role(two_roles.url, role), owner_url=two_roles.owner_url)
    expected = {"owner": "name another role", "superuser": "name a plain role"}[wrong]
    with pytest.raises(StorageUnavailableError, match=expected):
        async with KnowledgeMemory.open(settings_of(urls, tmp_path), engine=engine):
            pass


async def test_an_application_without_its_owner_says_what_to_set(
    two_roles: PostgresUrls, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """Tables that are missing or old need the owner."""
    alone = Settings(home=tmp_path, postgres_url=two_roles.url)
    with pytest.raises(StorageUnavailableError, match="set COMMONPLACE_POSTGRES_OWNER_URL"):
        async with KnowledgeMemory.open(alone, engine=engine):
            pass
    with pytest.raises(SettingsError, match=r"postgres_owner_url .*: expected postgres_url as well"):
        load_settings(environ={"COMMONPLACE_POSTGRES_OWNER_URL": two_roles.owner_url})


async def test_a_restore_gives_the_tables_to_the_owner(
    two_roles: PostgresUrls, knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """The application of the restored database reads the rows."""
    one = Settings(home=tmp_path / "one", workspace=tmp_path, postgres_url=knowledge_url)
    async with KnowledgeMemory.open(one, engine=engine) as memory:
        fact = await memory.store_fact(subject="port", predicate="is", content="It is 5432.")
    seeing = one.model_copy(update={"postgres_url": as_role(knowledge_url, SUPERUSER)})
    await back_up(seeing, tmp_path / "one.tar.gz")
    two = settings_of(two_roles, tmp_path / "two").model_copy(update={"database": ""})
    await restore(two, tmp_path / "one.tar.gz")
    async with KnowledgeMemory.open(
        two.model_copy(update={"postgres_owner_url": None}), engine=engine
    ) as memory:
        assert (await memory.get("fact", fact.id)).content == "It is 5432."
