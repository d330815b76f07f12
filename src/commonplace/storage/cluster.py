"""The directory of the embedded server: its contents, and its creation.

    start.lock, users.lock, server.lock, reaper.lock      see commonplace.storage.embedded
    upgrade/                                              during a change of the major version: see majors.py
    data/                                                 PostgreSQL's own, 0700; postgresql.conf in it may be edited
    data/commonplace.conf, pg_hba.conf, pg_ident.conf     rewritten at every start
    run/                                                  its socket, 0700
    log/                                                  logs of seven days

The cluster is in the home and contains no path of its own, so a copy of a home made while no server runs is complete.

Root's server runs under another account, which cannot enter private directories above the home. It does not need to,
because root starts each program inside the data directory, which PostgreSQL addresses as ``/proc/self/cwd``.
The cluster's directory belongs to root, so that the account cannot replace the locks.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from commonplace.core.atomic_write import draft_of
from commonplace.core.directories import make_directories
from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage.file_locks import FileLock
from commonplace.storage.linked import SYSTEM_DIRECTORY, bring_home, finish_bringing
from commonplace.storage.postgres_binaries import bundled_programs, usable_programs
from commonplace.storage.server_account import ServerAccount, server_account

WORKING_DIRECTORY = Path("/proc/self/cwd")
CONFIGURATION = "commonplace.conf"
SUPERUSER = "postgres"
APPLICATION_ROLE = "commonplace"
DATABASE = "commonplace"
PORT = 5432
"""Only part of the socket's name; the server does not listen on a network."""

INCLUDE = f"include '{CONFIGURATION}'"
OLD_INCLUDE = f"include '../{CONFIGURATION}'"
"""The line in clusters of earlier releases, whose configuration was beside the data."""

SOCKET_NAME = f".s.PGSQL.{PORT}"

MAX_SOCKET_PATH_BYTES = 100
"""Linux allows 107, macOS 103."""

INITDB_TIMEOUT_S = 120
SHARED_MODE = 0o750

LOCALE = ("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8")

TUNING = {
    "max_connections": "100",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "64MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "io_method": "sync",
    "huge_pages": "off",
    # A container's /dev/shm has 64 MB, which a parallel build of an HNSW index overflows.
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # Error details quote column values, which are private memories.
    "log_error_verbosity": "terse",
}
"""Settings for a small machine, written once to ``postgresql.conf``; users may change them there."""

SET_UP_SQL = f"""\
CREATE EXTENSION vector;
CREATE ROLE {APPLICATION_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
CREATE DATABASE {DATABASE} OWNER {APPLICATION_ROLE};
"""
"""Runs in ``template1``, so that every database of the cluster has pgvector, which only a superuser can create."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The embedded server's directory, account and programs."""

    directory: Path
    account: ServerAccount
    programs: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's data directory."""
        return self.directory / "data"

    @property
    def log(self) -> Path:
        """The directory of the server's logs."""
        return self.directory / "log"

    @property
    def run(self) -> Path:
        """The directory of the socket, if its path is short enough."""
        return self.directory / "run"

    @property
    def data_inside(self) -> str:
        """The name of the data directory for a program inside it, even if parent directories are inaccessible."""
        return str(WORKING_DIRECTORY) if self.account.switches and WORKING_DIRECTORY.exists() else "."

    def lock(self, name: str) -> FileLock:
        """Return one of the cluster's locks, not yet taken."""
        return FileLock(self.directory / f"{name}.lock")


def locate_cluster(requested: Path) -> Cluster:
    """Return the cluster of a directory; the directory is created without data if it does not exist.

    Args:
        requested: The directory, for example ``$COMMONPLACE_HOME/postgres``.

    Raises:
        EmbeddedPostgresError: There is no account for the server, PostgreSQL is not installed, or the directory
            cannot be created or belongs to another user.
    """
    try:
        if os.geteuid() == 0:
            return _locate_for_root(requested.absolute())
        account = server_account()
        make_directories(requested)
        return Cluster(directory=requested.resolve(), account=account, programs=bundled_programs())
    except OSError as error:
        raise EmbeddedPostgresError(f"cannot create the database's directory {requested}: {error}") from error


def _locate_for_root(requested: Path) -> Cluster:
    if not SYSTEM_DIRECTORY.is_dir():
        SYSTEM_DIRECTORY.mkdir(parents=True, exist_ok=True)
        # Set regardless of the umask, because the server's account must reach the programs inside.
        SYSTEM_DIRECTORY.chmod(0o755)
    with FileLock(SYSTEM_DIRECTORY / "install.lock") as lock:
        lock.require(timeout_s=INITDB_TIMEOUT_S)
        account = server_account()
        programs = usable_programs(bundled_programs(), account, copies=SYSTEM_DIRECTORY)
        finish_bringing(requested)
        directory = bring_home(requested) if requested.is_symlink() else requested
        share_with_account(directory, account)
    return Cluster(directory=directory, account=account, programs=programs)


def share_with_account(directory: Path, account: ServerAccount) -> None:
    """Create or check root's directory. The account may enter but not change it, so the locks stay root's.

    Raises:
        EmbeddedPostgresError: The directory belongs to another user.
    """
    make_directories(directory)
    found = directory.stat()
    if found.st_uid != 0:
        raise EmbeddedPostgresError(
            f"{directory} belongs to user id {found.st_uid}: run commonplace as that user, choose another "
            f"COMMONPLACE_HOME, or, if this is a copy for root, run chown root {directory}"
        )
    if (found.st_gid, stat.S_IMODE(found.st_mode)) != (account.gid, SHARED_MODE):
        os.chown(directory, 0, account.gid)
        directory.chmod(SHARED_MODE)


def create_data(cluster: Cluster, server_lock: FileLock) -> None:
    """Create the data directory with role, database and pgvector, or leave nothing behind.

    The data is created in a draft that is renamed at the end; drafts of killed attempts are removed. The caller holds
    ``start.lock`` and ``server_lock``. ``initdb`` inherits the latter, so a process that holds it knows that nobody
    writes to a draft.

    Raises:
        EmbeddedPostgresError: ``initdb`` failed; the message has its output.
    """
    for leftover in cluster.directory.glob("draft-*"):
        shutil.rmtree(leftover)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=cluster.directory))
    try:
        _give(draft, cluster.account)
        _initdb(cluster, draft, server_lock)
        # The draft belongs to the account and its parent directory to root; only the path changes here.
        draft.rename(cluster.data)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _initdb(cluster: Cluster, draft: Path, server_lock: FileLock) -> None:
    options = [
        *("--pgdata", cluster.data_inside, "--username", SUPERUSER, "--auth", "peer", "--encoding", "UTF8"),
        *LOCALE,
        *(f"--set={name}={value}" for name, value in TUNING.items()),
    ]
    outcome = cluster.account.run(
        [cluster.programs / "initdb", *options],
        directory=draft,
        pass_fds=[server_lock.fileno()],
        timeout_s=INITDB_TIMEOUT_S,
    )
    if outcome.returncode != 0:
        raise EmbeddedPostgresError(
            f"cannot create a database in {cluster.directory}: {outcome.stderr.strip()}"
        )
    outcome = cluster.account.run(
        [cluster.programs / "postgres", "--single", "-D", cluster.data_inside, "template1"],
        directory=draft,
        pass_fds=[server_lock.fileno()],
        text=SET_UP_SQL,
        timeout_s=INITDB_TIMEOUT_S,
    )
    # Single-user mode continues after an error and ends with status 0.
    if outcome.returncode != 0 or re.search(r"\b(ERROR|FATAL|PANIC):", outcome.stderr):
        raise EmbeddedPostgresError(f"cannot set up the database in {draft}: {outcome.stderr.strip()}")
    with (draft / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(
            "\n# Settings that commonplace relies on. They override settings above; do not change them.\n"
        )
        settings.write(f"{INCLUDE}\n")


def configure(cluster: Cluster) -> Path:
    """Write the settings that every start relies on, and return the directory of the socket.

    The caller holds ``start.lock``, and no server runs.

    Raises:
        EmbeddedPostgresError: A directory belongs to another user.
    """
    sockets = socket_directory(cluster)
    _take_over(cluster)
    for directory in (cluster.log, sockets):
        _own_directory(directory, cluster.account)
    names = {cluster.account.name, "root"} if cluster.account.switches else {cluster.account.name}
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": '"../run"' if sockets == cluster.run else f'"{sockets}"',
        "unix_socket_permissions": "0700",
        "logging_collector": "on",
        "log_directory": "../log",
        "log_filename": "postgresql-%a.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_truncate_on_rotation": "on",
    }
    quoted = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()}
    _write(cluster, CONFIGURATION, [f"{name} = '{value}'" for name, value in quoted.items()])
    _write(cluster, "pg_hba.conf", ["local all all peer map=owner"])
    _write(cluster, "pg_ident.conf", [f'owner "{name}" all' for name in sorted(names)])
    return sockets


def _take_over(cluster: Cluster) -> None:
    """Adapt a cluster from an earlier release or copied from another machine.

    On another machine the account has other ids. Links are not followed.
    """
    for directory in (cluster.data, cluster.log, cluster.run):
        if (
            cluster.account.switches
            and directory.exists()
            and directory.lstat().st_uid != cluster.account.uid
        ):
            _give(directory, cluster.account)
            for parent, directories, files in os.walk(directory):
                for name in (*directories, *files):
                    _give(Path(parent, name), cluster.account)
    settings = (cluster.data / "postgresql.conf").read_text(encoding="utf-8")
    if OLD_INCLUDE in settings:
        _write(cluster, "postgresql.conf", settings.replace(OLD_INCLUDE, INCLUDE).splitlines(), written=False)
        for name in (CONFIGURATION, "pg_hba.conf", "pg_ident.conf"):
            (cluster.directory / name).unlink(missing_ok=True)


def _write(cluster: Cluster, name: str, lines: list[str], *, written: bool = True) -> None:
    """Write a file in the data directory; links are not followed, because the account owns the directory."""
    head = ["# Written by commonplace at every start."] if written else []
    with draft_of(cluster.data / name) as file:
        file.write("\n".join([*head, *lines, ""]).encode())
        if cluster.account.switches:
            os.fchown(file.fileno(), cluster.account.uid, cluster.account.gid)


def socket_directory(cluster: Cluster) -> Path:
    """Return ``run/`` of the cluster, or a short path if its path is too long for a socket or has unusual characters.

    Raises:
        EmbeddedPostgresError: No path is short enough.
    """
    own = cluster.run
    digest = hashlib.sha256(os.fsencode(cluster.directory)).hexdigest()[:12]
    short = f"commonplace-{cluster.account.uid}-{digest}"
    parents = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108 - see _own_directory
    for path in (own, *(Path(parent, short) for parent in parents if Path(parent).is_absolute())):
        socket = path / SOCKET_NAME
        if len(os.fsencode(socket)) <= MAX_SOCKET_PATH_BYTES and re.fullmatch(r"[\w/.+@ -]+", str(path)):
            return path
    raise EmbeddedPostgresError(f"no path is short enough for a socket: {own}")


def socket_url(sockets: Path, *, role: str, database: str = DATABASE) -> str:
    """Return the URL of a database behind the socket in a directory, for asyncpg and for libpq."""
    place = urlencode({"host": str(sockets), "port": PORT}, quote_via=quote, safe="/")
    return f"postgresql://{quote(role)}@/{quote(database)}?{place}"


def _own_directory(path: Path, account: ServerAccount) -> None:
    """Create a directory that only the account can enter, or check the existing one."""
    try:
        path.mkdir(mode=0o700)
        _give(path, account)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
            raise EmbeddedPostgresError(
                f"{path} must be a directory that belongs to {account.name!r} with mode 0700: remove it"
            ) from None


def _give(path: Path, account: ServerAccount) -> None:
    if account.switches:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
