"""PostgreSQL servers for tests, made with the embedded server's programs: a primary with a replica, or alone."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import asyncpg

from commonplace.storage.postgres_binaries import bundled_programs
from commonplace.storage.server_account import server_account
from support.deadlines import wait_for_port
from support.pooler import free_port

_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 60
shared_buffers = '32MB'
fsync = off
"""


@dataclass(slots=True, kw_only=True)
class Server:
    """A server on loopback that trusts everybody."""

    port: int
    process: subprocess.Popen[Any]

    @property
    def url(self) -> str:
        """The URL of its database, with the superuser's role."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def kill(self) -> None:
        """Kill the server as a loss of power does."""
        self.process.kill()
        self.process.wait()


def all_of(*servers: Server) -> str:
    """Return a URL that names several servers."""
    return f"postgresql://postgres@{','.join(f'127.0.0.1:{each.port}' for each in servers)}/postgres"


@contextmanager
def primary_and_replica() -> Iterator[tuple[Server, Server]]:
    """Run a primary and its replica."""
    with primary_and_replicas(1) as (primary, replica):
        yield primary, replica


@contextmanager
def primary_and_replicas(count: int) -> Iterator[list[Server]]:
    """Run a primary and some replicas; yield the primary first."""
    with ExitStack() as stack:
        directory = stack.enter_context(server_directory())
        servers = [stack.enter_context(new_server(directory))]
        for name in (f"replica-{number}" for number in range(count)):
            source = f"--dbname={servers[0].url}"
            _run("pg_basebackup", source, f"--pgdata={name}", "-R", "--no-sync", cwd=directory)
            servers.append(stack.enter_context(running(directory / name)))
        yield servers


@contextmanager
def server_directory() -> Iterator[Path]:
    """Make a directory that the server's account owns; delete it at the end."""
    directory = Path(mkdtemp(prefix="replication-"))
    give(directory)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def new_server(directory: Path) -> Iterator[Server]:
    """Make and run a server, with its data in a folder of a directory."""
    _run("initdb", "--username=postgres", "--auth=trust", "--no-sync", "--pgdata=primary", cwd=directory)
    (directory / "primary" / "postgresql.auto.conf").write_text(_SETTINGS)
    with running(directory / "primary") as server:
        yield server


async def wait_for_replica(primary: Server) -> None:
    """Let each commit on the primary wait until the replica has it."""
    connection = await asyncpg.connect(primary.url)
    await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


async def promote(replica: Server) -> None:
    """Make a replica the primary."""
    connection = await asyncpg.connect(replica.url)
    assert await connection.fetchval("SELECT pg_promote()")
    await connection.close()


async def is_primary(server: Server) -> bool:
    """Return whether a server accepts writes by now."""
    try:
        connection = await asyncpg.connect(server.url)
    except asyncpg.CannotConnectNowError:
        return False
    try:
        return not await connection.fetchval("SELECT pg_is_in_recovery()")
    finally:
        await connection.close()


async def is_streaming(server: Server) -> bool:
    """Return whether somebody receives the log of a server by now."""
    connection = await asyncpg.connect(server.url)
    try:
        return bool(
            await connection.fetchval("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
        )
    finally:
        await connection.close()


@contextmanager
def running(data: Path) -> Iterator[Server]:
    """Run the server of a data directory."""
    port = free_port()
    with data.with_suffix(".log").open("wb") as log:
        command = [bundled_programs() / "postgres", "-D", str(data), "-p", str(port)]
        process = subprocess.Popen(command, cwd=data, stdout=log, stderr=log, **account_options())
    try:
        wait_for_port(port)
        yield Server(port=port, process=process)
    finally:
        process.terminate()
        process.wait()


def _run(name: str, *options: str, cwd: Path) -> None:
    subprocess.run(
        [bundled_programs() / name, *options], cwd=cwd, check=True, capture_output=True, **account_options()
    )


def account_options() -> dict[str, Any]:
    """Return the options of subprocess that run a program as the server's account; the server refuses root."""
    account = server_account()
    return {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switches else {}


def give(directory: Path) -> None:
    """Give a directory to the server's account."""
    account = server_account()
    os.chown(directory, account.uid, account.gid)
