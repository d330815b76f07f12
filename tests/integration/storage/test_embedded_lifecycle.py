"""The embedded server's life, with real processes and kill -9."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import psutil
import pytest

from commonplace.storage import cluster as clusters
from commonplace.storage.cluster import SOCKET_NAME, Cluster, locate_cluster, socket_directory
from commonplace.storage.embedded import EmbeddedPostgres, Membership, join_server
from commonplace.storage.postmaster import is_running
from support.commands import CommandServer
from support.postgres import wait_until

USER = """
import sys
from pathlib import Path
from commonplace.storage.embedded import join_server
membership = join_server(Path(sys.argv[1]))
print((membership.cluster.data / "postmaster.pid").read_text().split()[0], flush=True)
sys.stdin.read()
"""


class Users:
    """Processes that use a cluster until their standard input closes."""

    def __init__(self, python: Path, directory: Path) -> None:
        self.python = python
        self.directory = directory
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> subprocess.Popen[str]:
        """Start a user, without waiting until it has joined."""
        process = subprocess.Popen(
            [self.python, "-c", USER, self.directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def end(self) -> None:
        """Kill those that are left."""
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def users(postgres_directory: Path, command_server: CommandServer) -> Iterator[Users]:
    """User processes of the test's own cluster."""
    users = Users(command_server.python, postgres_directory)
    yield users
    users.end()


def postmaster_pid(process: subprocess.Popen[str]) -> int:
    """Wait until a user has joined; return the pid of the server that it found."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def reapers(cluster: Cluster) -> list[psutil.Process]:
    """Return the live reapers of a cluster."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if "reaper.py" in " ".join(line) and str(cluster.directory) in line:
            found.append(process)
    return found


def wait_stopped(directory: Path) -> Cluster:
    """Wait until server and reaper of a directory are gone."""
    cluster = locate_cluster(directory)
    wait_until(
        lambda: not is_running(cluster.directory) and not reapers(cluster), what="server and reaper gone"
    )
    return cluster


@contextmanager
def joined(directory: Path) -> Iterator[str]:
    """Join a cluster; yield what it answers to ``SELECT 1``."""
    membership = join_server(directory)
    try:
        psql = [membership.cluster.programs / "psql", "-At", membership.url(), "-c", "SELECT 1"]
        yield subprocess.run(psql, check=True, capture_output=True, text=True).stdout.strip()
    finally:
        membership.leave()


def test_the_server_stops_after_its_last_user(users: Users) -> None:
    """It serves as long as one user is left, and neither it nor its reaper outlive that one."""
    first, second = users.start(), users.start()
    pid = postmaster_pid(first)
    assert postmaster_pid(second) == pid
    first.communicate()
    assert psutil.pid_exists(pid)
    with joined(users.directory) as answer:
        assert answer == "1"
    second.communicate()
    cluster = wait_stopped(users.directory)
    assert not (cluster.data / "postmaster.pid").exists()


def test_many_starters_at_once_share_one_server(users: Users) -> None:
    """Six processes that start the same new cluster at the same time end up with one server and one reaper."""
    processes = [users.start() for _ in range(6)]
    assert len({postmaster_pid(process) for process in processes}) == 1
    assert len(reapers(locate_cluster(users.directory))) == 1


def test_killed_users_leave_no_server_behind(users: Users) -> None:
    """Kill -9 of all users stops the server as closing does."""
    processes = [users.start() for _ in range(3)]
    for process in processes:
        postmaster_pid(process)
    users.end()
    wait_stopped(users.directory)


@pytest.mark.parametrize("delay_s", [0.15, 0.3, 0.5])
def test_a_user_killed_at_any_moment_of_its_start_leaves_nothing_behind(users: Users, delay_s: float) -> None:
    """Kill -9 during set-up or start leaves no process, and the next user gets a sound database."""
    users.python = Path(sys.executable)  # which runs initdb itself
    process = users.start()
    killed_at = time.monotonic() + delay_s
    wait_until(lambda: time.monotonic() >= killed_at, what="moment to kill")
    process.kill()
    if users.directory.exists():
        wait_stopped(users.directory)
    with joined(users.directory) as answer:
        assert answer == "1"
    assert not list(locate_cluster(users.directory).directory.glob("draft-*"))


def test_a_killed_reaper_is_replaced_by_the_next_user(users: Users) -> None:
    """Without its reaper the server goes on; the next user brings another one, which stops it in the end."""
    pid = postmaster_pid(users.start())
    cluster = locate_cluster(users.directory)
    (reaper,) = reapers(cluster)
    reaper.kill()
    wait_until(lambda: not reapers(cluster), what="reaper dead")
    assert postmaster_pid(users.start()) == pid
    assert [process.pid for process in reapers(cluster)] != [reaper.pid]
    users.end()
    wait_stopped(users.directory)


def test_a_newcomer_during_the_stop_gets_a_new_server(postgres_directory: Path) -> None:
    """Whoever joins at the moment at which the last user leaves gets a server that answers, every time."""
    for _ in range(8):
        with joined(postgres_directory) as answer:
            assert answer == "1"
    wait_stopped(postgres_directory)


async def test_a_killed_postmaster_is_started_again_with_its_data(postgres_directory: Path) -> None:
    """After kill -9 of the postmaster, start() recovers what was committed."""
    async with EmbeddedPostgres(postgres_directory) as server:
        connection = await asyncpg.connect(await server.start())
        await connection.execute("CREATE TABLE kept (note text); INSERT INTO kept VALUES ('committed')")
        pid = int((locate_cluster(postgres_directory).data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        connection = await asyncpg.connect(await server.start())
        assert await connection.fetchval("SELECT note FROM kept") == "committed"
        await connection.close()
    await asyncio.to_thread(wait_stopped, postgres_directory)


def test_stale_pid_files_with_a_reused_number_are_no_obstacle(postgres_directory: Path) -> None:
    """Files of before a reboot name what now is another process: the server starts, and that one is left alone."""
    with joined(postgres_directory):
        pass
    cluster = wait_stopped(postgres_directory)
    account = cluster.account
    with subprocess.Popen(["sleep", "60"], user=account.uid if account.switches else None) as innocent:
        try:
            stale = f"{innocent.pid}\n{cluster.data}\n1700000000\n5432\n{socket_directory(cluster)}\n\n1 1\nready\n"
            for path in (cluster.data / "postmaster.pid", socket_directory(cluster) / f"{SOCKET_NAME}.lock"):
                path.write_text(stale)
                path.chmod(0o644)
            with joined(postgres_directory) as answer:
                assert answer == "1"
            wait_stopped(postgres_directory)
            assert innocent.poll() is None
        finally:
            innocent.kill()


def test_a_reaper_of_a_deleted_home_leaves_the_new_server_alone(users: Users) -> None:
    """A home deleted and made anew at the same place keeps its server when the old home's user goes."""
    first = users.start()
    postmaster_pid(first)
    cluster = locate_cluster(users.directory)
    (old_reaper,) = reapers(cluster)
    old = cluster.directory.rename(cluster.directory.with_name(f"{cluster.directory.name}-old"))
    cluster.directory.mkdir()
    cluster.directory.chmod(0o755)
    pid = postmaster_pid(users.start())
    first.communicate()
    wait_until(lambda: not old_reaper.is_running(), what="old reaper gone")
    assert psutil.pid_exists(pid)
    old_server = Cluster(directory=old, account=cluster.account, programs=cluster.programs)
    stop = [old_server.programs / "pg_ctl", "stop", "-m", "immediate", "-D", "data"]
    assert old_server.account.run(stop, directory=old, timeout_s=30).returncode == 0
    shutil.rmtree(old)


def test_a_cancelled_start_holds_no_server(postgres_directory: Path) -> None:
    """A start cut off with its event loop lets go of the server, though its thread finishes the work."""
    users_lock = postgres_directory / "users.lock"

    async def start_and_give_up() -> None:
        starting = asyncio.create_task(EmbeddedPostgres(postgres_directory).start())
        await asyncio.to_thread(wait_until, users_lock.exists, what="start under way")
        starting.cancel()

    asyncio.run(start_and_give_up())
    cluster = wait_stopped(postgres_directory)
    assert (cluster.data / "PG_VERSION").exists()


def test_joining_and_restarting_are_fast(postgres_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing cluster starts sooner than a new one, and a running one is joined sooner than it starts."""
    # No other test has data with this setting to copy: initdb runs.
    monkeypatch.setattr(clusters, "TUNING", clusters.TUNING | {"autovacuum_naptime": "2min"})
    created_s, membership = _joined_within(postgres_directory)
    restarted_s: list[float] = []
    joined_s: list[float] = []
    for _ in range(3):
        membership.leave()
        wait_stopped(postgres_directory)
        took_s, membership = _joined_within(postgres_directory)
        restarted_s.append(took_s)
        took_s, another = _joined_within(postgres_directory)
        joined_s.append(took_s)
        another.leave()
    membership.leave()
    assert min(joined_s) < min(restarted_s) < created_s


def _joined_within(directory: Path) -> tuple[float, Membership]:
    began_s = time.monotonic()
    membership = join_server(directory)
    return time.monotonic() - began_s, membership
