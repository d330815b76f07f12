"""The directory of the embedded server: its place, its contents, and its creation.

    start.lock, users.lock, server.lock, reaper.lock      see commonplace.storage.embedded
    commonplace.conf, pg_hba.conf, pg_ident.conf          rewritten at every start
    data/                                                 PostgreSQL's own, 0700; postgresql.conf in it may be edited
    run/                                                  its socket, 0700
    log/                                                  logs of seven days
    home                                                  for root: the path of the link to this directory

The mode of an existing directory never changes. For root the directory lies below ``/var/lib/commonplace``, where the
server's account can reach it, and the home has a symbolic link to it.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage.file_locks import FileLock
from commonplace.storage.postgres_binaries import POSTGRES_MAJOR, bundled_programs, usable_programs
from commonplace.storage.server_account import ServerAccount, server_account

SYSTEM_DIRECTORY = Path("/var/lib/commonplace")
HOME_FILE = "home"
SUPERUSER = "postgres"
APPLICATION_ROLE = "commonplace"
DATABASE = "commonplace"
PORT = 5432
"""Only a part of the socket's name; the server listens on no network."""

SOCKET_NAME = f".s.PGSQL.{PORT}"

MAX_SOCKET_PATH_BYTES = 100
"""Linux allows 107, macOS 103."""

INITDB_TIMEOUT_S = 120

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
"""Settings for a small machine, written to ``postgresql.conf`` once; the user may change them there."""

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

    def lock(self, name: str) -> FileLock:
        """Return one of the cluster's locks, not yet taken."""
        return FileLock(self.directory / f"{name}.lock")


def locate_cluster(requested: Path) -> Cluster:
    """Return the cluster of a directory, which is created if it does not exist, without data in it.

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
        requested.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Cluster(directory=requested.resolve(), account=account, programs=bundled_programs())
    except OSError as error:
        raise EmbeddedPostgresError(f"cannot create the database's directory {requested}: {error}") from error


def _locate_for_root(requested: Path) -> Cluster:
    if not SYSTEM_DIRECTORY.is_dir():
        SYSTEM_DIRECTORY.mkdir(parents=True, exist_ok=True)
        # Set regardless of the umask, because the server's account must reach the directories below.
        SYSTEM_DIRECTORY.chmod(0o755)
    with FileLock(SYSTEM_DIRECTORY / "install.lock") as lock:
        if not lock.wait(deadline=time.monotonic() + INITDB_TIMEOUT_S):
            raise EmbeddedPostgresError(f"another process holds {SYSTEM_DIRECTORY / 'install.lock'}")
        account = server_account()
        programs = usable_programs(bundled_programs(), account, copies=SYSTEM_DIRECTORY)
        directory = _linked_directory(requested) or _link_new_directory(requested, account)
        _note_home(directory, requested)
    return Cluster(directory=directory, account=account, programs=programs)


def _linked_directory(requested: Path) -> Path | None:
    if not requested.is_symlink():
        if requested.exists():
            raise EmbeddedPostgresError(
                f"{requested} already exists: root keeps the database in {SYSTEM_DIRECTORY} and puts a link to it "
                f"there. Run commonplace as its owner (user id {requested.stat().st_uid}), or "
                "choose another COMMONPLACE_HOME"
            )
        return None
    target = requested.readlink()
    if target.parent != SYSTEM_DIRECTORY or not target.is_dir():
        raise EmbeddedPostgresError(
            f"the database of {requested} was in {target}, which is gone: restore it (in a container, keep "
            f"{SYSTEM_DIRECTORY} on a volume), or remove the symbolic link to start with an empty database"
        )
    return target


def _link_new_directory(requested: Path, account: ServerAccount) -> Path:
    """Create a new directory: a home that was deleted and created again does not get its old memories back."""
    requested.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256(os.fsencode(requested)).hexdigest()[:12]
    directory = Path(tempfile.mkdtemp(prefix=f"{digest}-", dir=SYSTEM_DIRECTORY))
    # The account may read the directory but not change it: locks and rules of access stay root's.
    os.chown(directory, 0, account.gid)
    directory.chmod(0o750)
    requested.symlink_to(directory)
    return directory


def _note_home(directory: Path, requested: Path) -> None:
    """Write the path of the link to a directory, again if its home was moved."""
    path, wanted = directory / HOME_FILE, os.fsencode(requested)
    if not path.exists() or path.read_bytes() != wanted:
        draft = directory / f"{HOME_FILE}.draft"
        draft.write_bytes(wanted)
        draft.replace(path)


def create_data(cluster: Cluster, server_lock: FileLock) -> None:
    """Create the data directory with role, database and pgvector, or leave none behind.

    Everything happens in a draft that is renamed at the end; drafts of killed attempts are removed. The caller holds
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
        # The draft belongs to the account, its parent directory to root: only the path changes here.
        draft.rename(cluster.data)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _initdb(cluster: Cluster, draft: Path, server_lock: FileLock) -> None:
    options = [
        *("--pgdata", draft, "--username", SUPERUSER, "--auth", "peer", "--encoding", "UTF8"),
        *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
        *(f"--set={name}={value}" for name, value in TUNING.items()),
    ]
    outcome = cluster.account.run(
        [cluster.programs / "initdb", *options],
        directory=cluster.directory,
        pass_fds=[server_lock.fileno()],
        timeout_s=INITDB_TIMEOUT_S,
    )
    if outcome.returncode != 0:
        raise EmbeddedPostgresError(
            f"cannot create a database in {cluster.directory}: {outcome.stderr.strip()}"
        )
    outcome = cluster.account.run(
        [cluster.programs / "postgres", "--single", "-D", draft, "template1"],
        directory=cluster.directory,
        pass_fds=[server_lock.fileno()],
        text=SET_UP_SQL,
        timeout_s=INITDB_TIMEOUT_S,
    )
    # Single-user mode continues after an error, and ends with status 0.
    if outcome.returncode != 0 or re.search(r"\b(ERROR|FATAL|PANIC):", outcome.stderr):
        raise EmbeddedPostgresError(f"cannot set up the database in {draft}: {outcome.stderr.strip()}")
    with (draft / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("\n# Settings that commonplace relies on. Change none of them here: they win.\n")
        settings.write("include '../commonplace.conf'\n")


def configure(cluster: Cluster) -> Path:
    """Write the settings that every start relies on, and return the directory of the socket.

    The caller holds ``start.lock``, and no server runs.

    Raises:
        EmbeddedPostgresError: The data is of another major version, or a directory belongs to another user.
    """
    found = (cluster.data / "PG_VERSION").read_text(encoding="ascii").strip()
    if found != POSTGRES_MAJOR:
        raise EmbeddedPostgresError(
            f"{cluster.data} was made by PostgreSQL {found}, but this release includes {POSTGRES_MAJOR}: move the "
            "data with the pg_dump of the release that made it, or set another COMMONPLACE_HOME"
        )
    sockets = _socket_directory(cluster)
    for directory in (cluster.log, sockets):
        _own_directory(directory, cluster.account)
    names = {cluster.account.name, "root"} if cluster.account.switches else {cluster.account.name}
    settings = {
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
        "hba_file": str(cluster.directory / "pg_hba.conf"),
        "ident_file": str(cluster.directory / "pg_ident.conf"),
        "logging_collector": "on",
        "log_directory": str(cluster.log),
        "log_filename": "postgresql-%a.log",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_truncate_on_rotation": "on",
    }
    quoted = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()}
    _write(cluster, "commonplace.conf", [f"{name} = '{value}'" for name, value in quoted.items()])
    _write(cluster, "pg_hba.conf", ["local all all peer map=owner"])
    _write(cluster, "pg_ident.conf", [f'owner "{name}" all' for name in sorted(names)])
    return sockets


def _write(cluster: Cluster, name: str, lines: list[str]) -> None:
    path = cluster.directory / name
    draft = cluster.directory / f"{name}.draft"
    draft.write_text("\n".join(["# Written by commonplace at every start.", *lines, ""]), encoding="utf-8")
    draft.chmod(0o640)
    if cluster.account.switches:
        os.chown(draft, 0, cluster.account.gid)
    draft.replace(path)


def _socket_directory(cluster: Cluster) -> Path:
    """Return ``run/`` of the cluster, or a short path if that is too long for a socket or has unusual characters."""
    own = cluster.directory / "run"
    digest = hashlib.sha256(os.fsencode(cluster.directory)).hexdigest()[:12]
    short = f"commonplace-{cluster.account.uid}-{digest}"
    parents = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108 - see _own_directory
    for path in (own, *(Path(parent, short) for parent in parents if Path(parent).is_absolute())):
        socket = path / SOCKET_NAME
        if len(os.fsencode(socket)) <= MAX_SOCKET_PATH_BYTES and re.fullmatch(r"[\w/.+@ -]+", str(path)):
            return path
    raise EmbeddedPostgresError(f"no path is short enough for a socket: {own}")


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
        os.chown(path, account.uid, account.gid)
