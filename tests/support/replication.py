"""PostgreSQL servers for tests, made with the embedded server's programs: a primary with a replica or an archive."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
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


def both(first: Server, second: Server) -> str:
    """Return a URL that names two servers."""
    return f"postgresql://postgres@127.0.0.1:{first.port},127.0.0.1:{second.port}/postgres"


@contextmanager
def primary_and_replica() -> Iterator[tuple[Server, Server]]:
    """Run a primary and its replica; a commit on the primary waits for the replica."""
    with ExitStack() as stack:
        directory = stack.enter_context(server_directory())
        primary = stack.enter_context(_new_server(directory, _SETTINGS))
        _run("pg_basebackup", f"--dbname={primary.url}", "--pgdata=replica", "-R", "--no-sync", cwd=directory)
        yield primary, stack.enter_context(_running(directory / "replica"))


@contextmanager
def archiving_server() -> Iterator[tuple[Server, Path]]:
    """Run a server that archives its log, with a base backup; yield it, and the directory of both."""
    with server_directory() as directory:
        (directory / "archive").mkdir()
        give(directory / "archive")
        archiving = f"archive_mode = on\narchive_command = 'cp %p {directory}/archive/%f'\n"
        with _new_server(directory, _SETTINGS + archiving) as server:
            _run("pg_basebackup", f"--dbname={server.url}", "--pgdata=base", "--no-sync", cwd=directory)
            yield server, directory


@contextmanager
def restored_server(directory: Path, until: datetime) -> Iterator[Server]:
    """Run the server of a base backup, brought by the archive to a moment."""
    settings = (
        f"{_SETTINGS}restore_command = 'cp {directory}/archive/%f %p'\n"
        f"recovery_target_time = '{until.isoformat()}'\nrecovery_target_action = 'promote'\n"
    )
    (directory / "base" / "postgresql.auto.conf").write_text(settings)
    (directory / "base" / "recovery.signal").touch()
    with _running(directory / "base") as server:
        yield server


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
def _new_server(directory: Path, settings: str) -> Iterator[Server]:
    _run("initdb", "--username=postgres", "--auth=trust", "--no-sync", "--pgdata=primary", cwd=directory)
    (directory / "primary" / "postgresql.auto.conf").write_text(settings)
    with _running(directory / "primary") as server:
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


@contextmanager
def _running(data: Path) -> Iterator[Server]:
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
