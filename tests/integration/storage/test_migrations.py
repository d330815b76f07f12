"""Migrations: from nothing and from every older revision, with data, to the same schema, on both servers."""

import asyncio
import json
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from commonplace.core.errors import (
    DatabaseTooNewError,
    DatabaseTooOldError,
    StorageError,
    StorageUnavailableError,
)
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.storage.migrations.runner import HEADS, migrate_postgres, migrate_sqlite
from commonplace.storage.migrations.upgrade import configuration
from support.commands import CommandServer
from support.deadlines import DEADLINE_S
from support.statements import prepare_all

SPECIFIED = ["ops_001", "ops_002", "ops_003", "ops_004", "ops_005"]

MEMORIES_COLUMNS = [
    # name, type, not null, default, primary key
    ("id", "INTEGER", 1, None, 1),
    ("service", "TEXT", 0, None, 0),
    ("category", "TEXT", 1, None, 0),
    ("observation", "TEXT", 1, None, 0),
    ("confidence", "REAL", 1, "0.7", 0),
    ("active", "INTEGER", 1, "1", 0),
    ("created_at", "TEXT", 1, None, 0),
    ("updated_at", "TEXT", 1, None, 0),
    ("session_id", "INTEGER", 0, None, 0),
    ("tier", "INTEGER", 1, "1", 0),
]


class Server:
    """A database on one of the servers: migrated, asked, and told."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def migrate(self, target: str = "head") -> None:
        """Bring it up to a revision."""
        if self.settings.database_is_postgres:
            await migrate_postgres(self.settings.database, "operational", target=target)
        else:
            await migrate_sqlite(self.settings.database_path, "operational", target=target)

    async def run(self, sql: str) -> list[Sequence[object]]:
        """Run a statement of our own."""
        if self.settings.database_is_postgres:
            connection = await asyncpg.connect(self.settings.database)
            try:
                return [tuple(row) for row in await connection.fetch(sql)]
            finally:
                await connection.close()
        with closing(sqlite3.connect(self.settings.database_path)) as connection, connection:
            return connection.execute(sql).fetchall()

    async def schema(self) -> list[Sequence[object]]:
        """Return columns and indexes, in words."""
        if not self.settings.database_is_postgres:
            return await self.run("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2")
        columns = await self.run(
            "SELECT table_name, column_name, data_type, is_nullable, column_default "
            "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
        )
        return columns + await self.run(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        )


@pytest.fixture
def server(empty_database: Settings) -> Server:
    """An empty database on each server."""
    return Server(empty_database)


async def test_every_older_revision_with_data_reaches_the_same_schema(
    server: Server, new_settings: Settings, tmp_path: Path
) -> None:
    """Rows of the older schema are there afterwards, and the schema is that of a fresh database."""
    await server.migrate(SPECIFIED[0])
    await server.run(
        "INSERT INTO sessions (tier, status, started_at) VALUES (2, 'completed', '2026-01-01T00:00:00.000000Z')"
        " RETURNING id"
    )
    for revision in SPECIFIED[1:]:
        await server.migrate(revision)
    await server.migrate()
    rows = await server.run("SELECT tier, status, trigger, response, agent_session_id FROM sessions")
    assert rows == [(2, "completed", "scheduled", None, None)]
    if not server.settings.database_is_postgres:
        fresh = Server(new_settings.model_copy(update={"database": str(tmp_path / "fresh.db")}))
        await fresh.migrate()
        assert [row[:3] for row in await server.schema()] == [row[:3] for row in await fresh.schema()]
    async with OperationalMemory.open(server.settings) as memory:
        (session,) = await memory.sessions.list()
        assert session.tier == 2


@pytest.mark.requirement("OPS-01.1", "R-OPS-1")
async def test_migration_005_creates_memories_as_specified(new_settings: Settings) -> None:
    """Columns, types, defaults, foreign key and indexes."""
    server = Server(new_settings)
    await server.migrate("ops_004")
    assert await server.run("PRAGMA table_info(memories)") == []
    await server.migrate("ops_005")
    columns = [tuple(row[1:]) for row in await server.run("PRAGMA table_info(memories)")]
    assert columns == MEMORIES_COLUMNS
    ((sql,),) = await server.run("SELECT sql FROM sqlite_master WHERE name = 'memories'")
    assert "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT" in str(sql)
    (reference,) = await server.run("PRAGMA foreign_key_list(memories)")
    assert reference[2:5] == ("sessions", "session_id", "id")
    indexes = {}
    for row in await server.run("PRAGMA index_list(memories)"):
        indexes[row[1]] = [column[2] for column in await server.run(f"PRAGMA index_info({row[1]})")]
    assert sorted(indexes.values()) == [["category"], ["confidence", "active"], ["service", "active"]]


@pytest.mark.requirement("OPS-01.2")
async def test_a_migration_that_was_applied_is_skipped(server: Server) -> None:
    """The table and its rows stay as they are."""
    await server.migrate()
    await server.run(
        "INSERT INTO memories (category, observation, created_at, updated_at)"
        " VALUES ('timing', 'x', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z') RETURNING id"
    )
    before = (await server.schema(), await server.run("SELECT * FROM memories"))
    await server.migrate()
    await server.migrate("ops_005")
    assert (await server.schema(), await server.run("SELECT * FROM memories")) == before
    assert await server.run("SELECT confidence, active, tier FROM memories") == [(0.7, 1, 1)]


async def test_a_newer_database_is_refused(server: Server) -> None:
    """Clearly, and without touching it."""
    await server.migrate()
    await server.run("UPDATE alembic_version SET version_num = 'ops_999' RETURNING 1")
    with pytest.raises(DatabaseTooNewError, match=rf'"ops_999".*"{HEADS["operational"]}"'):
        await server.migrate()
    assert await server.run("SELECT version_num FROM alembic_version") == [("ops_999",)]


async def test_a_database_at_the_heads_of_development_opens(server: Server) -> None:
    """It has these revisions in its table of versions, and its rows are there."""
    await server.migrate("ops_008")
    await server.run(
        "INSERT INTO memories (category, observation, created_at, updated_at)"
        " VALUES ('timing', 'x', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z') RETURNING id"
    )
    async with OperationalMemory.open(server.settings) as memory:
        added = await memory.add(category="timing", observation="y")
        assert {row.observation for row in await memory.list_memories()} == {"x", "y"}
        assert await memory.history(added.id)
    versions = [(HEADS["operational"],)]
    assert await server.run("SELECT version_num FROM alembic_version") == versions


STAMP = "UPDATE alembic_version SET version_num = 'REVISION' RETURNING 1"


@pytest.mark.parametrize(
    ("found", "oldest"), [("ops_006", "ops_008"), ("app_003", "app_004"), ("mem_014", "mem_015")]
)
async def test_a_database_of_an_older_development_version_is_refused(
    server: Server, found: str, oldest: str
) -> None:
    """The error says what to do, and nothing is written."""
    await server.migrate("ops_005")
    await server.run(STAMP.replace("REVISION", found))
    with pytest.raises(
        DatabaseTooOldError, match=rf'"{found}".*from "{oldest}" on.*commit e3e977d.*move it away'
    ):
        await server.migrate()
    assert await server.run("SELECT version_num FROM alembic_version") == [(found,)]


START_UP = """
import asyncio, sys
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory

async def main():
    async with OperationalMemory.open(Settings(home=sys.argv[1], database=sys.argv[2])) as memory:
        await memory.add(category="timing", observation="started")

asyncio.run(main())
"""


async def test_processes_may_start_at_once(server: Server, command_server: CommandServer) -> None:
    """Six of them on an empty database: one migrates, the others wait, all of them work."""
    arguments = [str(server.settings.home), server.settings.database]
    processes = [
        await asyncio.create_subprocess_exec(command_server.python, "-c", START_UP, *arguments)
        for _ in range(6)
    ]
    assert [await process.wait() for process in processes] == [0] * 6
    assert len(await server.run("SELECT id FROM memories")) == 6


async def test_a_start_that_is_killed_leaves_a_whole_schema(
    new_settings: Settings, command_server: CommandServer
) -> None:
    """Killed anywhere in the migration, the next start completes it."""
    for delay_ms in range(0, 400, 40):
        path = new_settings.home / f"{delay_ms}.db"
        arguments = ["-c", START_UP, str(new_settings.home), str(path)]
        process = subprocess.Popen([command_server.python, *arguments])
        await asyncio.sleep(delay_ms / 1000)
        process.kill()
        process.wait()
        async with OperationalMemory.open(new_settings.model_copy(update={"database": str(path)})) as memory:
            assert len(await memory.list_memories()) <= 1


def test_the_heads_are_those_of_the_scripts() -> None:
    """The constant that spares most starts from loading Alembic is right."""
    scripts = ScriptDirectory.from_config(configuration())
    assert {branch: scripts.get_revision(f"{branch}@head").revision for branch in HEADS} == HEADS
    assert sorted(scripts.get_heads()) == sorted(HEADS.values())


async def test_every_statement_is_accepted_by_the_server(operational: OperationalMemory) -> None:
    """Each named statement is prepared against the real schema."""
    assert await prepare_all(operational._store) > 20


async def test_the_file_is_for_its_owner_only(new_settings: Settings) -> None:
    """Also the files that SQLite puts beside it, and the directory."""
    async with OperationalMemory.open(new_settings) as memory:
        await memory.add(category="timing", observation="x")
        files = sorted(new_settings.home.iterdir())
        assert len(files) >= 2
        assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    assert oct(new_settings.home.stat().st_mode & 0o777) == "0o700"


async def test_a_file_that_is_no_database_is_left_alone(new_settings: Settings) -> None:
    """The error says so and names it."""
    new_settings.home.mkdir()
    new_settings.database_path.write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match=r"commonplace\.db: file is not a database"):
        await Server(new_settings).migrate()
    assert new_settings.database_path.read_bytes().startswith(b"not a database")


async def test_a_home_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    """A file stands where the directory should be."""
    (tmp_path / "home").write_text("")
    with pytest.raises(StorageUnavailableError, match=r"commonplace\.db"):
        await Server(Settings(home=tmp_path / "home")).migrate()


WRITER = """
import asyncio, json, sys
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory

async def main():
    async with OperationalMemory.open(Settings(home=sys.argv[1])) as memory:
        for number in range(100000):
            stored = await memory.add(category="timing", observation=f"{sys.argv[2]} {number}")
            print(json.dumps([stored.id, stored.memory.observation]), flush=True)

asyncio.run(main())
"""


async def test_a_writer_that_is_killed_loses_nothing_acknowledged(
    new_settings: Settings, command_server: CommandServer
) -> None:
    """Two writers on one file, one killed and then the other: every acknowledged row is there."""
    await Server(new_settings).migrate()
    acknowledged: dict[int, str] = {}
    for wanted in (5, 25):
        processes = [
            subprocess.Popen(
                [command_server.python, "-c", WRITER, str(new_settings.home), name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("a", "b")
        ]
        for process in processes:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(wanted)]
            process.kill()
            lines += process.stdout.read().splitlines()
            process.wait()
            process.stdout.close()
            acknowledged |= dict(json.loads(line) for line in lines if line.strip().endswith("]"))
    async with OperationalMemory.open(new_settings) as memory:
        stored = {row.id: row.observation for row in await memory.list_memories()}
    assert acknowledged.items() <= stored.items()
    assert len(acknowledged) >= 60


async def test_a_full_disk_is_a_clear_error_and_loses_nothing(
    new_settings: Settings, command_server: CommandServer
) -> None:
    """What was acknowledged is there, what was not is refused."""
    async with OperationalMemory.open(new_settings) as memory:
        await memory.add(category="timing", observation="before")
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "size = 300_000\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n" + WRITER
    )
    done = subprocess.run(
        [command_server.python, "-c", script, str(new_settings.home), "x" * 1500],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode != 0
    assert "StorageUnavailableError" in done.stderr
    acknowledged = [json.loads(line)[0] for line in done.stdout.splitlines()]
    async with OperationalMemory.open(new_settings) as memory:
        stored = {row.id for row in await memory.list_memories()}
    assert acknowledged
    assert set(acknowledged) <= stored
