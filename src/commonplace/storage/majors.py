"""Upgrades of the embedded server's data to the major version of this release, by dump and load.

PostgreSQL cannot open data of another major version. The programs of the earlier version are in the wheel or in Debian
packages. They start the old server, whose database is dumped and loaded into a second cluster in ``upgrade/``. The rows
of both are compared before the directories are exchanged, and only then is the old data deleted. A failure or a kill
leaves the old data, and the next start begins again.
"""

import hashlib
import logging
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from commonplace.core.directories import make_directories
from commonplace.core.errors import EmbeddedPostgresError, StorageError
from commonplace.storage.cluster import (
    APPLICATION_ROLE,
    SUPERUSER,
    SYSTEM_DIRECTORY,
    Cluster,
    configure,
    create_data,
    share_with_account,
    socket_url,
)
from commonplace.storage.dumps import load, run_program
from commonplace.storage.file_locks import FileLock
from commonplace.storage.postgres_binaries import (
    POSTGRES_MAJOR,
    bundled_programs,
    earlier_programs,
    usable_programs,
)
from commonplace.storage.postmaster import start_postmaster, stop_postmaster

logger = logging.getLogger(__name__)

PLACE = "upgrade"
START_TIMEOUT_S = 300.0
"""Time limit of the old server's start, which may include recovery."""


def upgrade_major(cluster: Cluster, server_lock: FileLock) -> None:
    """Upgrade the data of a cluster if an earlier major version made it.

    The caller holds ``start.lock`` and ``server_lock``, and no server runs.

    Raises:
        EmbeddedPostgresError: The data cannot be upgraded; it is unchanged.
    """
    found = (cluster.data / "PG_VERSION").read_text(encoding="ascii").strip()
    if found == POSTGRES_MAJOR:
        return
    if found.isdecimal() and int(found) > int(POSTGRES_MAJOR):
        raise EmbeddedPostgresError(
            f"{cluster.data} was made by PostgreSQL {found}, but this release includes {POSTGRES_MAJOR}: install the "
            "release that made the data, or move the directory away and go back with a backup from before its "
            "upgrade: commonplace restore --replace FILE"
        )
    programs = earlier_programs(found)
    if programs is None:
        raise EmbeddedPostgresError(
            f"{cluster.data} was made by PostgreSQL {found}, but this release includes {POSTGRES_MAJOR}, and there are "
            f"no programs of {found} to upgrade it: run `apt-get install postgresql-{found}-pgvector` and try again, "
            "or make a backup with the release that made the data, and restore it with this release into another "
            "COMMONPLACE_HOME"
        )
    logger.warning("upgrading %s from PostgreSQL %s to %s", cluster.data, found, POSTGRES_MAJOR)
    if cluster.account.switches:
        programs = usable_programs(programs, cluster.account, copies=SYSTEM_DIRECTORY)
    place = cluster.directory / PLACE
    new = replace(cluster, directory=place)
    try:
        _remove_killed(new)
        if cluster.account.switches:
            share_with_account(place, cluster.account)
        else:
            make_directories(place)
        with new.lock("server") as new_lock:
            new_lock.require(timeout_s=START_TIMEOUT_S)
            _load_beside(replace(cluster, programs=programs), server_lock, new, new_lock)
    except (StorageError, OSError) as error:
        shutil.rmtree(place, ignore_errors=True)
        raise EmbeddedPostgresError(
            f"{cluster.data} cannot be upgraded from PostgreSQL {found} to {POSTGRES_MAJOR} and is unchanged: {error}"
        ) from error
    os.sync()
    cluster.data.rename(place / "old")
    finish_upgrade(cluster)


def finish_upgrade(cluster: Cluster) -> None:
    """Put upgraded data in place and delete the old data, even after a kill. The caller holds ``server.lock``."""
    place = cluster.directory / PLACE
    if (place / "old").exists():
        if not cluster.data.exists():
            (place / "data").rename(cluster.data)
            os.sync()
        shutil.rmtree(place)


def _remove_killed(new: Cluster) -> None:
    """Remove the leftovers of a killed upgrade after the end of its server."""
    if new.directory.exists():
        with new.lock("server") as lock:
            if not lock.acquire():
                if (new.data / "postmaster.pid").exists():
                    stop_postmaster(new)
                lock.require(timeout_s=START_TIMEOUT_S)
        shutil.rmtree(new.directory)


def _load_beside(old: Cluster, old_lock: FileLock, new: Cluster, new_lock: FileLock) -> None:
    """Create a cluster with the contents of another one. Each server inherits its lock."""
    dump = new.directory / "knowledge.dump"
    with _running(old, old_lock) as url:
        run_program("pg_dump", url, "--format=custom", "--compress=none", "--no-sync", f"--file={dump}")
        expected = _fingerprint(url)
    create_data(new, new_lock)
    with _running(new, new_lock) as url:
        load(url, dump, f"--role={APPLICATION_ROLE}")
        if _fingerprint(url) != expected:
            raise StorageError("the loaded rows differ from the rows of the old server")


@contextmanager
def _running(cluster: Cluster, server_lock: FileLock) -> Generator[str]:
    """Start the server of a cluster for the block, and yield the superuser's URL of its database."""
    sockets = configure(cluster)
    start_postmaster(cluster, sockets, server_lock, timeout_s=START_TIMEOUT_S)
    try:
        yield socket_url(sockets, role=SUPERUSER)
    finally:
        stop_postmaster(cluster)


def _fingerprint(url: str) -> tuple[int, int]:
    """Return the number of lines of all rows and sequence values, and the sum of their hashes, independent of order."""
    count, total = 0, 0
    with subprocess.Popen(  # noqa: S603 - PostgreSQL's own program
        [bundled_programs() / "pg_dump", "--data-only", "--restrict-key=same", "--dbname", url],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Warnings; an error has a status.
        env={"PATH": os.defpath, "LC_ALL": "C"},
    ) as dump:
        for line in dump.stdout or ():
            if not line.startswith(b"--"):
                count += 1
                total += int.from_bytes(hashlib.sha256(line).digest()[:16])
    if dump.returncode:
        raise StorageError(f"pg_dump failed with status {dump.returncode}")
    return count, total
