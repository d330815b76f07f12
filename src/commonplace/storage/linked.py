"""Clusters of root's homes from earlier releases, which are outside the home and linked from it.

Today a cluster is inside its home, so that a copy of the home includes the database. A linked cluster is moved into its
home when the home is opened:

- *The cluster names this home.* It is copied into the home, and the original is deleted.
- *It names another home, which also links to it.* This home is a copy. It is refused with an error that says what to
do.
- *It names a home that no longer links to it.* Either that home was moved here, or this home is a copy and the disk of
  the original is not mounted. This cannot be determined, so the cluster is copied and the original stays.
- *A server runs in it.* A cluster that names this home is used in its old place until it is next opened while free.

The copy is complete before the link is replaced, so a process killed in between loses nothing.
"""

import logging
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage.file_locks import FileLock

logger = logging.getLogger(__name__)

SYSTEM_DIRECTORY = Path("/var/lib/commonplace")
"""Copies of PostgreSQL's programs; and the clusters that earlier releases made for root."""

HOME_FILE = "home"
"""The file in a cluster that holds the path of the link to it."""


def bring_home(requested: Path) -> Path:
    """Move the cluster that a link points to into the place of the link, and return its directory.

    The caller makes sure that no other process does the same.

    Raises:
        EmbeddedPostgresError: The cluster is gone, or belongs to another home.
        OSError: The cluster cannot be copied; nothing has changed.
    """
    target = requested.readlink()
    if target.parent != SYSTEM_DIRECTORY or not target.is_dir():
        raise EmbeddedPostgresError(
            f"the database of {requested} was in {target}, which does not exist: restore it there, or remove the "
            "symbolic link and restore a backup (commonplace restore FILE) or start with an empty database"
        )
    owner = linked_from(target)
    if owner != requested and points_to(owner, target):
        raise EmbeddedPostgresError(
            f"{requested} links to the database of another home, {owner.parent}: this home is a copy without its "
            f"own database. Run `commonplace backup FILE` with COMMONPLACE_HOME={owner.parent}, remove the "
            f"symbolic link {requested}, and run `commonplace restore FILE` with COMMONPLACE_HOME={requested.parent}"
        )
    with ExitStack() as stack:
        locks = [
            stack.enter_context(FileLock(target / f"{name}.lock")) for name in ("start", "users", "server")
        ]
        if not all(lock.acquire() for lock in locks):
            if owner == requested:
                return target
            raise EmbeddedPostgresError(
                f"the database of {requested}, {target}, is in use: stop its users first"
            )
        _replace_link(requested, target)
        if owner == requested:
            shutil.rmtree(target)
        else:
            logger.warning("copied the database %s of %s to %s; the original stays", target, owner, requested)
    return requested


def finish_bringing(requested: Path) -> None:
    """Put a copy in place if its process was killed after it had removed the link."""
    if _incoming(requested).exists() and not os.path.lexists(requested):
        _incoming(requested).rename(requested)


def linked_from(cluster: Path) -> Path:
    """Return the last known path of the link to a cluster."""
    return Path(os.fsdecode((cluster / HOME_FILE).read_bytes()))


def points_to(link: Path, cluster: Path) -> bool:
    """Return whether a path is a symbolic link to a cluster."""
    return link.is_symlink() and link.readlink() == cluster


def _replace_link(link: Path, cluster: Path) -> None:
    incoming = _incoming(link)
    if incoming.exists():
        shutil.rmtree(incoming)
    outcome = subprocess.run(  # noqa: S603 - a fixed program, arguments in a list, no shell
        ["/bin/cp", "-a", cluster, incoming], check=False, capture_output=True, text=True
    )
    if outcome.returncode:
        shutil.rmtree(incoming, ignore_errors=True)
        raise OSError(f"cannot copy {cluster}: {outcome.stderr.strip()}")
    (incoming / HOME_FILE).unlink()
    os.sync()
    link.unlink()
    incoming.rename(link)
    os.sync()


def _incoming(link: Path) -> Path:
    return link.with_name(f"{link.name}.incoming")
