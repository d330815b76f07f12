"""The embedded server's data is upgraded to the major version of this release, or left alone."""

import asyncio
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.knowledge import KnowledgeMemory
from commonplace.storage import cluster as clusters
from commonplace.storage import majors
from commonplace.storage.cluster import SUPERUSER, Cluster, create_data, locate_cluster
from commonplace.storage.embedded import join_server
from commonplace.storage.majors import PLACE, finish_upgrade
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres_binaries import POSTGRES_MAJOR, earlier_programs
from commonplace.storage.postmaster import is_running
from commonplace.storage.server_account import server_account
from support.commands import CommandServer
from support.postgres import wait_until

EARLIER = "16"

KILLED = """
import os, signal, sys
from pathlib import Path
from commonplace.storage import embedded, majors

majors.load = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
embedded.join_server(Path(sys.argv[1]))
"""


def make_earlier(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Create a home's cluster with the programs of an earlier major version, and one fact in it."""
    programs = earlier_programs(EARLIER)
    assert programs is not None
    cluster = replace(locate_cluster(directory), programs=programs)
    with monkeypatch.context() as patch, cluster.lock("server") as lock:
        patch.setattr(
            clusters,
            "TUNING",
            {name: value for name, value in clusters.TUNING.items() if name != "io_method"},
        )
        patch.setattr(clusters, "LOCALE", ("--locale", "C"))
        create_data(cluster, lock)
        with majors._running(cluster, lock) as url:
            asyncio.run(_fill(url.replace(f"{SUPERUSER}@", "commonplace@"), directory.parent))
    assert (cluster.data / "PG_VERSION").read_text() == f"{EARLIER}\n"
    return cluster


async def _fill(url: str, home: Path) -> None:
    await migrate_postgres(url, "memory")
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
    async with KnowledgeMemory.open(Settings(home=home, postgres_url=url), engine=engine) as memory:
        await memory.store_fact(subject="port", predicate="is", content="It is 5432.")


@pytest.mark.requirement("UPG-03.3")
def test_data_of_a_newer_major_version_are_refused(tmp_path: Path) -> None:
    """Whatever programs the machine has: the data stay as they are."""
    cluster = locate_cluster(tmp_path / "postgres")
    cluster.data.mkdir(parents=True)
    (cluster.data / "PG_VERSION").write_text(f"{int(POSTGRES_MAJOR) + 1}\n")
    with cluster.lock("server") as lock, pytest.raises(EmbeddedPostgresError, match="restore --replace FILE"):
        majors.upgrade_major(cluster, lock)
    assert [path.name for path in cluster.data.iterdir()] == ["PG_VERSION"]


def contents_of(home: Path) -> list[str]:
    """Return the facts of a home's embedded server."""

    async def read() -> list[str]:
        engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
        async with KnowledgeMemory.open(Settings(home=home), engine=engine) as memory:
            return [fact.content for fact in await memory.lists.facts()]

    return asyncio.run(read())


@pytest.mark.long
def test_data_of_an_earlier_major_version_is_upgraded(
    postgres_directory: Path, monkeypatch: pytest.MonkeyPatch, command_server: CommandServer
) -> None:
    """A kill in the middle and a comparison that fails leave the old data; the next start upgrades it."""
    cluster = make_earlier(postgres_directory, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(majors, "_fingerprint", lambda url: url)
        with pytest.raises(EmbeddedPostgresError, match="the loaded rows differ"):
            join_server(postgres_directory)
    assert (cluster.data / "PG_VERSION").read_text() == f"{EARLIER}\n"
    wait_until(lambda: not is_running(cluster.directory), what="server stopped")
    killed = subprocess.run([command_server.python, "-c", KILLED, postgres_directory], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert is_running(cluster.directory / PLACE)  # the server of the new data
    wait_until(lambda: not is_running(cluster.directory), what="server stopped")
    assert contents_of(postgres_directory.parent) == ["It is 5432."]
    assert (cluster.data / "PG_VERSION").read_text() == f"{POSTGRES_MAJOR}\n"
    assert not (cluster.directory / PLACE).exists()


def test_data_of_a_major_version_without_programs_is_left_alone(postgres_directory: Path) -> None:
    """The error names both versions and the command that installs the programs."""
    cluster = locate_cluster(postgres_directory)
    cluster.data.mkdir()
    (cluster.data / "PG_VERSION").write_text("17\n")
    with pytest.raises(
        EmbeddedPostgresError, match=r"PostgreSQL 17, .* includes 18.*apt-get install postgresql-17-pgvector"
    ):
        join_server(postgres_directory)
    assert (cluster.data / "PG_VERSION").read_text() == "17\n"


@pytest.mark.parametrize("renamed", [False, True])
def test_a_killed_exchange_is_completed(tmp_path: Path, *, renamed: bool) -> None:
    """Between the renames there is no data in place; after them, only the old data has to go."""
    cluster = Cluster(directory=tmp_path, account=server_account(), programs=tmp_path)
    new = cluster.data if renamed else tmp_path / PLACE / "data"
    new.mkdir(parents=True)
    (new / "PG_VERSION").write_text(POSTGRES_MAJOR)
    (tmp_path / PLACE / "old").mkdir(parents=True)
    finish_upgrade(cluster)
    assert (cluster.data / "PG_VERSION").read_text() == POSTGRES_MAJOR
    assert not (tmp_path / PLACE).exists()
