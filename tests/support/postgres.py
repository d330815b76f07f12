"""The embedded PostgreSQL server for tests: one cluster for some processes of tests.

It does not wait for the disk, and keeps its databases in memory where there is room, in which it differs from a
user's; what is tested of the server itself, and of killing it, starts a cluster of its own.

A copy of a template takes about 15 ms in memory. On a disk it takes ten times as long: file systems such as ext4 look
for places that were not freed just now, and every test frees hundreds.
"""

import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import psutil
import pytest

from commonplace.core.request_context import request_context
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.embedded import Membership, join_server, remove_cluster
from commonplace.storage.migrations.runner import Branch, migrate_postgres
from commonplace.storage.postgres import open_pool
from commonplace.storage.postgres_url import is_pooled, server_url
from commonplace.storage.server_account import server_account
from support.apart import run_apart
from support.deadlines import DEADLINE_S
from support.on_pool import memory_on
from support.pooler import MODE, pooled_url, pooler
from support.run_share import GROUP, RUN, RunShare

PARTITIONED: Final = bool(os.environ.get("TESTS_PARTITIONS"))
"""Whether tests of knowledge memory run on partitioned tables."""

EMPTY = "template1"
"""The template with pgvector and nothing else."""

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it is this user's alone
_POOLER_PORTS: dict[Path, int] = {}
"""The pooler before each server, by the server's directory of sockets."""

LEAST_FREE_BYTES = 1 << 30
"""A process of tests keeps some ten databases of 10 MB there; containers often have 64 MB in all."""


def wait_until(condition: Callable[[], object], *, what: str, timeout_s: float = DEADLINE_S) -> None:
    """Poll until a condition holds.

    Raises:
        AssertionError: It did not within ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.01)


def database_name(url: str) -> str:
    """Return the name of the database that a URL leads to."""
    return urlsplit(url).path.removeprefix("/")


@asynccontextmanager
async def fresh_database(cluster: Membership, *, template: str = EMPTY) -> AsyncIterator[str]:
    """Make a database that the application's role owns, a copy of a template; yield its URL, then drop it.

    Nobody may be connected to the template meanwhile.
    """
    name = f"test_{uuid4().hex}"
    admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database="postgres"))
    try:
        await admin.execute(
            f'CREATE DATABASE {name} OWNER {APPLICATION_ROLE} TEMPLATE "{template}" STRATEGY FILE_COPY'
        )
        try:
            port = _POOLER_PORTS.get(cluster.sockets)
            yield pooled_url(port, name) if port else cluster.url(database=name)
        finally:
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture(scope="session", autouse=True)
def no_cluster_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Delete what servers of homes that were only a test's keep: each takes 60 MB."""
    yield
    for directory, names, _ in os.walk(tmp_path_factory.getbasetemp()):
        for cluster in (Path(directory, name) for name in names if name == "postgres"):
            if (cluster / "data").is_dir():
                remove_cluster(cluster)


async def make_template(cluster: Membership, *branches: Branch) -> str:
    """Make a database with the newest schema of some branches, for copies; return its name."""
    name = f"template_{uuid4().hex}"
    admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database="postgres"))
    try:
        await admin.execute(f'CREATE DATABASE {name} OWNER {APPLICATION_ROLE} TEMPLATE "{EMPTY}"')
    finally:
        await admin.close()
    for branch in branches:
        await migrate_postgres(cluster.url(database=name), branch)
    if PARTITIONED and "memory" in branches:
        async with await open_pool(cluster.url(database=name)) as pool:
            with request_context(actor="tester"):
                await memory_on(pool).partitions.prepare()
    return name


async def _hurry(cluster: Membership) -> None:
    """Let the server not wait for the disk, and not vacuum: no test takes its power away or keeps rows for long.

    A vacuum in the middle of a test changes the statistics, and with them the plans of its searches.
    """
    admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database="postgres"))
    try:
        await admin.execute("ALTER SYSTEM SET fsync = off")
        await admin.execute("ALTER SYSTEM SET autovacuum = off")
        await admin.execute("SELECT pg_reload_conf()")
        if (space := _space_in_memory()) is not None:
            await admin.execute(f"CREATE TABLESPACE memory LOCATION '{space}'")
            await admin.execute(f"ALTER DATABASE {EMPTY} SET TABLESPACE memory")  # and with it all copies
    finally:
        await admin.close()


SPACE: Final = SHARED_MEMORY / f"commonplace-tests-{GROUP}-{RUN}"
"""A directory in memory for the server; the number of the run tells whether its tests were killed."""


def _space_in_memory() -> Path | None:
    """Make a directory in memory that the server may write to, if there is room."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < LEAST_FREE_BYTES:
        return None
    for left in SHARED_MEMORY.glob("commonplace-tests-*"):
        if not psutil.pid_exists(int(left.name.rpartition("-")[2])):
            shutil.rmtree(left, ignore_errors=True)
    account = server_account()
    SPACE.mkdir(mode=0o700)
    os.chown(SPACE, account.uid, account.gid)
    return SPACE


@contextmanager
def _perhaps_pooled(cluster: Membership) -> Iterator[None]:
    """Run a pooler before the server if the environment asks for it."""
    if MODE is None:
        yield
        return
    with pooler(cluster.sockets, mode=MODE) as port, pytest.MonkeyPatch.context() as patch:
        _POOLER_PORTS[cluster.sockets] = port
        # Tests look into their database with the driver, which does not know our parameter.
        patch.setattr(asyncpg, "connect", partial(_connect_without_parameter, asyncpg.connect))
        yield


async def _connect_without_parameter(
    connect: Callable[..., Awaitable[asyncpg.Connection]],
    url: str,
    **options: Any,  # noqa: ANN401 - handed on
) -> asyncpg.Connection:
    options = ({"statement_cache_size": 0} if is_pooled(url) else {}) | options
    return await connect(server_url(url), **options)


@pytest.fixture(scope="session")
def embedded_cluster(run_share: RunShare) -> Iterator[Membership]:
    """The server of this process of tests and some others; stopped and deleted when the last of them ends."""
    directory = run_share.directory / f"postgres-{GROUP}"
    run_share.delete_at_end(directory)
    run_share.delete_at_end(SPACE)
    membership = join_server(directory)
    run_share.once(f"server {GROUP}", lambda: run_apart(_hurry(membership)))
    with _perhaps_pooled(membership):
        yield membership
    membership.leave()


@pytest.fixture
async def postgres_url(embedded_cluster: Membership) -> AsyncIterator[str]:
    """The URL of an empty database with pgvector, owned by its role, for one test."""
    async with fresh_database(embedded_cluster) as url:
        yield url


@pytest.fixture
def postgres_directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for a cluster of the test's own; deleted when the last user has gone."""
    directory = tmp_path / "home" / "postgres"
    yield directory
    remove_cluster(directory)
