"""Data directories of embedded servers: ``initdb`` makes the first of a session, and the others are copies of it.

``initdb`` takes three quarters of a second of a processor, and a copy takes a tenth of one. The home, the settings of
the server and the server itself are the test's own.
"""

import subprocess
from pathlib import Path

from filelock import FileLock

from commonplace.storage import cluster as clusters
from commonplace.storage import file_locks
from commonplace.storage.cluster import Cluster


def copy_data(directory: Path) -> None:
    """Let this process copy the data that it finds in a directory; the first process that needs data puts it there.

    Other programs have data of their own, and ``initdb`` makes data with other options each time.
    """
    initdb, usual = clusters._initdb, (clusters.TUNING, clusters.LOCALE)

    def copy_or_make(cluster: Cluster, draft: Path, server_lock: file_locks.FileLock) -> None:
        if usual != (clusters.TUNING, clusters.LOCALE):
            initdb(cluster, draft, server_lock)
            return
        template = directory / str(cluster.programs).replace("/", "-")
        with FileLock(directory / "lock"):
            if not template.exists():
                initdb(cluster, draft, server_lock)
                _copy(draft, template.with_suffix(".draft"), server_lock)
                template.with_suffix(".draft").rename(template)
                return
        _copy(template, draft, server_lock)

    clusters._initdb = copy_or_make


def _copy(source: Path, target: Path, server_lock: file_locks.FileLock) -> None:
    """Copy a directory with the owners of its files, in a process that holds the lock as ``initdb`` does."""
    target.mkdir(exist_ok=True)
    subprocess.run(["cp", "-Rp", f"{source}/.", target], check=True, pass_fds=[server_lock.fileno()])
