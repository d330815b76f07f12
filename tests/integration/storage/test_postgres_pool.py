"""Pools: types, limits, roles, and servers that come and go."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import asyncpg
import numpy as np
import pytest
from pgvector import Vector

from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.storage.cluster import SUPERUSER, locate_cluster
from commonplace.storage.embedded import EmbeddedPostgres, Membership, join_server
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from support.deadlines import DEADLINE_S
from support.postgres import fresh_database


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    """A pool on an empty database of the application's role."""
    async with await open_pool(postgres_url) as pool:
        yield pool


def as_role(url: str, role: str) -> str:
    """Return a URL of the cluster with another role."""
    return url.replace("postgresql://commonplace@", f"postgresql://{role}@")


async def test_json_is_encoded_once(pool: asyncpg.Pool) -> None:
    """Objects stay objects in the database, text stays text, and both come back as they went."""
    for value in ({"a": [1, "ü", None]}, [1, 2], "text", '{"looks": "like json"}', True):
        kinds = await pool.fetchrow(
            "SELECT jsonb_typeof($1::jsonb) AS b, json_typeof($2::json) AS j", value, value
        )
        expected = {dict: "object", list: "array", str: "string", bool: "boolean"}[type(value)]
        assert (kinds["b"], kinds["j"]) == (expected, expected)
        row = await pool.fetchrow("SELECT $1::jsonb AS b, $2::json AS j", value, value)
        assert (row["b"], row["j"]) == (value, value)


async def test_a_number_that_json_has_not_is_refused(pool: asyncpg.Pool) -> None:
    """NaN never reaches the database as invalid JSON."""
    with pytest.raises(asyncpg.DataError, match="JSON compliant"):
        await pool.fetchval("SELECT $1::jsonb", {"score": float("nan")})


@pytest.mark.requirement("KNW-25.1")
async def test_vectors_go_and_come_as_values(pool: asyncpg.Pool) -> None:
    """Lists and arrays are vectors in the database, and come back as such."""
    await pool.execute("CREATE TABLE item (embedding vector(3))")
    for value in ([1.0, 2.0, 3.0], np.array([1, 2, 3], dtype=np.float32), Vector([1, 2, 3])):
        await pool.execute("INSERT INTO item VALUES ($1)", value)
    found = [row["embedding"] for row in await pool.fetch("SELECT embedding FROM item")]
    assert found == [Vector([1, 2, 3])] * 3


async def test_vectors_work_with_pgvector_in_another_schema(embedded_cluster: Membership) -> None:
    """A server whose administrator keeps extensions in a schema of their own is served alike."""
    async with fresh_database(embedded_cluster) as url:
        admin = await asyncpg.connect(as_role(url, SUPERUSER))
        await admin.execute("CREATE SCHEMA extensions; ALTER EXTENSION vector SET SCHEMA extensions")
        await admin.execute("GRANT USAGE ON SCHEMA extensions TO PUBLIC")
        await admin.close()
        async with await open_pool(url) as pool:
            assert await pool.fetchval("SELECT $1::extensions.vector", [1, 2]) == Vector([1, 2])
        await migrate_postgres(url, "memory")
        async with await open_pool(url) as pool:
            assert await pool.fetchval("SELECT count(*) FROM embedding_versions") == 0


async def test_a_statement_that_takes_too_long_is_cancelled(postgres_url: str) -> None:
    """The server ends it, and the connection serves the next one, with the same limit."""
    async with await open_pool(postgres_url, statement_timeout_s=0.5, max_size=1) as pool:
        for _ in range(2):
            with pytest.raises(asyncpg.QueryCanceledError):
                await pool.fetchval("SELECT pg_sleep(30)")
        assert await pool.fetchval("SELECT 1") == 1


async def test_the_server_sees_who_is_connected_and_how_often(postgres_url: str) -> None:
    """Connections carry their application's name, and there are never more than were allowed."""
    async with await open_pool(postgres_url, application_name="a test", max_size=2) as pool:
        await asyncio.gather(*(pool.execute("SELECT pg_sleep(0.05)") for _ in range(6)))
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'a test'"
        assert await pool.fetchval(count) == 2


@pytest.mark.requirement("KNW-29.2")
async def test_a_superusers_url_gives_plain_connections(postgres_url: str) -> None:
    """Connections assume the plain role, and no reset gives the privileges back."""
    async with await open_pool(as_role(postgres_url, SUPERUSER), max_size=1) as pool:
        for _ in range(2):
            async with pool.acquire() as connection:
                for reset in ("RESET ALL", "RESET ROLE"):
                    await connection.execute(reset)
                    who = "SELECT current_user, session_user, current_setting('is_superuser') AS superuser"
                    assert [tuple(row) for row in await connection.fetch(who)] == [
                        ("commonplace", SUPERUSER, "off")
                    ]
        await pool.execute("CREATE TABLE made_by_plain_role (id int)")


async def test_the_plain_role_is_created_where_it_is_missing(postgres_directory: Path) -> None:
    """A server that has never seen commonplace gets a role without login; several processes may ask at once."""
    membership = await asyncio.to_thread(join_server, postgres_directory)
    try:
        url = membership.url(role=SUPERUSER, database="postgres")
        admin = await asyncpg.connect(url)
        for statement in ("DROP DATABASE commonplace", "DROP ROLE commonplace", "CREATE DATABASE other"):
            await admin.execute(statement)
        urls = [url, url, membership.url(role=SUPERUSER, database="other")]
        pools = await asyncio.gather(*(open_pool(url) for url in urls))
        for pool in pools:
            assert await pool.fetchval("SELECT current_user") == "commonplace"
            await pool.execute("CREATE TABLE IF NOT EXISTS public.made_by_plain_role (id int)")
            await pool.close()
        state = "SELECT rolcanlogin, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = 'commonplace'"
        assert [tuple(row) for row in await admin.fetch(state)] == [(False, False, False)]
        await admin.close()
    finally:
        membership.leave()


async def test_a_role_that_bypasses_rls_and_cannot_help_it_is_refused(embedded_cluster: Membership) -> None:
    """Without the right to use a plain role there is no pool, and the error says what to do."""
    async with fresh_database(embedded_cluster) as url:
        admin = await asyncpg.connect(as_role(url, SUPERUSER))
        await admin.execute("CREATE ROLE bypasser LOGIN BYPASSRLS")
        try:
            with pytest.raises(StorageUnavailableError, match="connect as a plain role"):
                await open_pool(as_role(url, "bypasser"))
            await admin.execute("GRANT commonplace TO bypasser")
            async with await open_pool(as_role(url, "bypasser")) as pool:
                assert await pool.fetchval("SELECT current_user") == "commonplace"
        finally:
            await admin.execute("DROP ROLE bypasser")
            await admin.close()


@pytest.mark.requirement("KNW-25.1")
async def test_a_database_without_pgvector_is_refused_with_advice(embedded_cluster: Membership) -> None:
    """A role that may not create the extension is told who can; a superuser's URL creates it."""
    async with fresh_database(embedded_cluster) as url:
        admin = await asyncpg.connect(as_role(url, SUPERUSER))
        await admin.execute("DROP EXTENSION vector")
        await admin.close()
        with pytest.raises(StorageUnavailableError, match="CREATE EXTENSION IF NOT EXISTS vector"):
            await open_pool(url)
        async with await open_pool(as_role(url, SUPERUSER)) as pool:
            assert await pool.fetchval("SELECT $1::vector", [1]) == Vector([1])


async def test_a_server_out_of_reach_is_named_without_the_password() -> None:
    """The error names host and database; neither it nor what caused it shows the password."""
    with pytest.raises(StorageUnavailableError, match=r'database "notes" at 127\.0\.0\.1:1') as raised:
        await open_pool("postgresql://ann:hunter2@127.0.0.1:1/notes")
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


async def test_a_database_that_is_not_there_is_named(embedded_cluster: Membership) -> None:
    """The server's own words are in the error."""
    with pytest.raises(StorageUnavailableError, match=r'"nowhere" at .* does not exist'):
        await open_pool(embedded_cluster.url(database="nowhere"))


async def test_a_url_with_unknown_parameters_is_a_wrong_setting(postgres_url: str) -> None:
    """What the driver does not understand is said, without the password."""
    url = f"postgresql://ann:{quote('hunter2')}@127.0.0.1:1/notes?sslmode=perhaps"
    with pytest.raises(SettingsError, match="sslmode") as raised:
        await open_pool(url)
    assert "hunter2" not in str(raised.value)
    with pytest.raises(StorageUnavailableError, match="no_such_parameter"):
        await open_pool(f"{postgres_url}&no_such_parameter=1")


async def test_a_pool_brings_the_embedded_server_back(postgres_directory: Path) -> None:
    """After kill -9 of the postmaster, the pool serves again by itself."""
    async with EmbeddedPostgres(postgres_directory) as server, await open_pool(server, max_size=2) as pool:
        assert await pool.fetchval("SELECT current_user") == "commonplace"
        pid = int((locate_cluster(postgres_directory).data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                assert await pool.fetchval("SELECT 1") == 1
                break
            except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)


async def test_an_outage_is_two_lines_in_the_log(
    postgres_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One says that the server is lost, one that it is back; the driver logs no traceback for each try."""
    membership = await asyncio.to_thread(join_server, postgres_directory)
    try:
        async with await open_pool(membership.url(), max_size=2) as pool:
            await _stop(postgres_directory, pool)
            for _ in range(2):
                with pytest.raises(StorageUnavailableError):
                    await pool.fetchval("SELECT 1")
            again = await asyncio.to_thread(join_server, postgres_directory)
            try:
                assert await pool.fetchval("SELECT 1") == 1
            finally:
                await asyncio.to_thread(again.leave)
    finally:
        await asyncio.to_thread(membership.leave)
    lost, back = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert {lost.name, back.name} == {"commonplace.storage.outage_log"}
    assert lost.getMessage().endswith("requests fail until the server can be reached again")
    assert back.getMessage().endswith("can be reached again")
    assert lost.exc_info is back.exc_info is None


async def _stop(directory: Path, pool: asyncpg.Pool) -> None:
    """Stop a server at once, and wait until it refuses connections."""
    os.kill(int((locate_cluster(directory).data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            await pool.fetchval("SELECT 1")
        except StorageUnavailableError:
            return
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
            pass
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
