"""The embedded PostgreSQL server for tests: one cluster a session, a database a test.

It does not wait for the disk, in which it differs from a user's; what is tested of the server itself, and of
killing it, starts a cluster of its own.

A copy of a small template database takes about 30 ms, and its removal 10.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.embedded import Membership, join_server, remove_cluster
from commonplace.storage.migrations.runner import Branch, migrate_postgres
from support.deadlines import DEADLINE_S

EMPTY = "template1"
"""The template with pgvector and nothing else."""


def wait_until(condition: Callable[[], object], *, what: str, timeout_s: float = DEADLINE_S) -> None:
    """Poll until a condition holds.

    Raises:
        AssertionError: It did not within ``timeout_s``.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s} s"
        time.sleep(0.01)


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
            yield cluster.url(database=name)
        finally:
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture(scope="session", autouse=True)
def no_cluster_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Delete what servers of homes that were only a test's keep; as root that is outside of these homes."""
    yield
    for directory, names, _ in os.walk(tmp_path_factory.getbasetemp()):
        for link in (Path(directory, name) for name in names if name == "postgres"):
            if link.is_symlink() and link.exists():
                remove_cluster(link)


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
    return name


async def _hurry(cluster: Membership) -> None:
    """Let the server not wait for the disk: no test of it takes the power away."""
    admin = await asyncpg.connect(cluster.url(role=SUPERUSER, database="postgres"))
    try:
        await admin.execute("ALTER SYSTEM SET fsync = off")
        await admin.execute("SELECT pg_reload_conf()")
    finally:
        await admin.close()


@pytest.fixture(scope="session")
def embedded_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Membership]:
    """The session's server; stopped and deleted at the end."""
    directory = tmp_path_factory.mktemp("embedded") / "postgres"
    membership = join_server(directory)
    asyncio.run(_hurry(membership))
    yield membership
    membership.leave()
    remove_cluster(directory)


@pytest.fixture
async def postgres_url(embedded_cluster: Membership) -> AsyncIterator[str]:
    """The URL of an empty database with pgvector, owned by its role, for one test."""
    async with fresh_database(embedded_cluster) as url:
        yield url


@pytest.fixture(scope="session")
def operational_template(embedded_cluster: Membership) -> str:
    """The name of a database with the newest schema of operational and app memory; nobody is connected to it."""
    return asyncio.run(make_template(embedded_cluster, "operational", "apps"))


@pytest.fixture
async def database_url(embedded_cluster: Membership, operational_template: str) -> AsyncIterator[str]:
    """The URL of a migrated database of operational and app memory, for one test."""
    async with fresh_database(embedded_cluster, template=operational_template) as url:
        yield url


@pytest.fixture
def postgres_directory(tmp_path: Path) -> Iterator[Path]:
    """A directory for a cluster of the test's own; deleted when the last user has gone."""
    directory = tmp_path / "home" / "postgres"
    yield directory
    remove_cluster(directory)
