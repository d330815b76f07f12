"""The tables of app memory, on both servers."""

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing

import asyncpg
import pytest

from commonplace.apps.memory import AppMemory
from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.operational.memory import OperationalMemory
from commonplace.storage.migrations.runner import migrate_postgres, migrate_sqlite
from support.statements import prepare_all

COLUMNS = [
    # name, type, not null, default, primary key: as the specification writes them
    ("id", "INTEGER", 1, None, 1),
    ("app_id", "TEXT", 1, None, 0),
    ("content", "TEXT", 1, None, 0),
    ("created_at", "DATETIME", 0, "CURRENT_TIMESTAMP", 0),
    ("updated_at", "DATETIME", 0, "CURRENT_TIMESTAMP", 0),
    ("source_conversation_id", "TEXT", 0, None, 0),
    ("metadata", "TEXT", 0, None, 0),
]


async def migrate(settings: Settings, target: str = "head") -> None:
    """Bring a database up to a revision."""
    if settings.database_is_postgres:
        await migrate_postgres(settings.database, "apps", target=target)
    else:
        await migrate_sqlite(settings.database_path, "apps", target=target)


async def run(settings: Settings, sql: str) -> list[Sequence[object]]:
    """Run a statement as another program would."""
    if settings.database_is_postgres:
        connection = await asyncpg.connect(settings.database)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()
    with closing(sqlite3.connect(settings.database_path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        return connection.execute(sql).fetchall()


async def schema(settings: Settings) -> list[Sequence[object]]:
    """Return columns and indexes, in words."""
    if not settings.database_is_postgres:
        return await run(settings, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2")
    columns = await run(
        settings,
        "SELECT table_name, column_name, data_type, is_nullable, column_default "
        "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2",
    )
    indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
    return columns + await run(settings, indexes)


@asynccontextmanager
async def opened(settings: Settings, clock: ManualClock, engine: EmbeddingEngine) -> AsyncIterator[AppMemory]:
    """Open app memory with the extractive model."""
    async with AppMemory.open(settings, engine=engine, clock=clock) as apps:
        yield apps


@pytest.mark.requirement("APP-01.1")
async def test_the_table_is_as_specified(new_settings: Settings) -> None:
    """Columns, types, defaults, foreign key, three indexes; a column and an index of ours follow."""
    await migrate(new_settings)
    columns = [tuple(row[1:]) for row in await run(new_settings, "PRAGMA table_info(app_memories)")]
    assert columns == [*COLUMNS, ("user_id", "TEXT", 0, None, 0)]
    ((sql,),) = await run(new_settings, "SELECT sql FROM sqlite_master WHERE name = 'app_memories'")
    assert "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT" in str(sql)
    (reference,) = await run(new_settings, "PRAGMA foreign_key_list(app_memories)")
    assert (reference[2], reference[3], reference[4], reference[6]) == ("apps", "app_id", "app_id", "CASCADE")
    indexes = {
        row[1]: [column[2] for column in await run(new_settings, f"PRAGMA index_info({row[1]})")]
        for row in await run(new_settings, "PRAGMA index_list(app_memories)")
    }
    assert indexes == {
        "idx_app_memories_app_id": ["app_id"],
        "idx_app_memories_created_at": ["created_at"],
        "idx_app_memories_updated_at": ["updated_at"],
        "uq_app_memories_conversation": ["app_id", "source_conversation_id"],
    }


@pytest.mark.requirement("APP-01.2")
async def test_creating_twice_changes_nothing(empty_database: Settings) -> None:
    """The tables and their rows stay as they are."""
    await migrate(empty_database)
    await run(
        empty_database,
        "INSERT INTO apps (app_id, name, installed_at) VALUES ('a', 'A', '2026-01-01') RETURNING 1",
    )
    await run(empty_database, "INSERT INTO app_memories (app_id, content) VALUES ('a', 'x') RETURNING 1")
    before = (await schema(empty_database), await run(empty_database, "SELECT * FROM app_memories"))
    await migrate(empty_database)
    assert (await schema(empty_database), await run(empty_database, "SELECT * FROM app_memories")) == before


async def test_a_database_at_the_head_of_development_opens(
    empty_database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """It has this revision in its table of versions; rows that another program wrote are read as UTC."""
    await migrate(empty_database, "app_004")
    await run(
        empty_database,
        "INSERT INTO apps (app_id, name, installed_at) VALUES ('a', 'A', '2026-01-01T00:00:00.000000Z') RETURNING 1",
    )
    await run(
        empty_database, "INSERT INTO app_memories (app_id, content) VALUES ('a', 'Older words.') RETURNING 1"
    )
    async with opened(empty_database, clock, engine) as apps:
        (memory,) = await apps.list_memories("a")
        assert memory.content == "Older words."
        assert memory.created_at == memory.updated_at
        assert memory.created_at.utcoffset() is not None
        (hit,) = await apps.search("a", "older words", by="meaning")
        assert hit.memory == memory


async def test_it_lives_beside_operational_memory(
    empty_database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """In one database, in any order."""
    async with opened(empty_database, clock, engine) as apps:
        await apps.registry.register("a")
        async with OperationalMemory.open(empty_database, clock=clock) as operational:
            await operational.add(category="timing", observation="x")
    async with (
        OperationalMemory.open(empty_database) as operational,
        opened(empty_database, clock, engine) as apps,
    ):
        assert len(await operational.list_memories()) == len(await apps.registry.list()) == 1


@pytest.mark.requirement("APP-01.1", "APP-09.2")
async def test_the_row_of_an_app_takes_its_memories_with_it(database: Settings) -> None:
    """The foreign key cascades; a memory of no app is refused."""
    await migrate(database)
    await run(
        database,
        "INSERT INTO apps (app_id, name, installed_at) VALUES ('a', 'A', '2026-01-01') RETURNING 1",
    )
    await run(database, "INSERT INTO app_memories (app_id, content) VALUES ('a', 'x') RETURNING 1")
    with pytest.raises((sqlite3.IntegrityError, asyncpg.ForeignKeyViolationError)):
        await run(database, "INSERT INTO app_memories (app_id, content) VALUES ('b', 'x') RETURNING 1")
    await run(database, "DELETE FROM apps RETURNING 1")
    assert await run(database, "SELECT * FROM app_memories") == []


async def test_every_statement_is_accepted_by_the_server(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Each named statement is prepared against the real schema."""
    async with opened(database, clock, engine) as apps:
        assert await prepare_all(apps._store) > 40


@pytest.mark.parametrize(
    "name", ["visible", "space", "count_memories", "get_digest", "get_conversation", "unanswered"]
)
async def test_reading_what_an_app_is_shown_uses_an_index(
    settings: Settings, clock: ManualClock, engine: EmbeddingEngine, name: str
) -> None:
    """No statement on the way to an answer reads a whole table: only what it has found itself."""
    async with opened(settings, clock, engine) as apps:
        store = apps._store
        statement = getattr(store._queries.queries, name)
        plan = f"EXPLAIN QUERY PLAN {statement.sql}"
        async with (
            store.reading() as sql,
            sql.connection.execute(plan, dict.fromkeys(statement.parameters or ())) as cursor,
        ):
            steps = [str(row[3]).split() for row in await cursor.fetchall()]
    found = Counter(step[1] for step in steps if step[0] == "CO-ROUTINE")
    read_whole = Counter(step[1] for step in steps if step[0] == "SCAN")
    assert read_whole <= found, steps
