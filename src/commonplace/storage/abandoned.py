"""Abandoned clusters of root: they lie outside of the home, so deleting the home leaves them behind."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.storage.cluster import HOME_FILE, SYSTEM_DIRECTORY
from commonplace.storage.postmaster import is_running


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedCluster:
    """A cluster to which no link points any more.

    Attributes:
        directory: The directory of the cluster.
        link: The last known path of the link to it.
    """

    directory: Path
    link: Path


def abandoned_clusters(system_directory: Path = SYSTEM_DIRECTORY) -> list[AbandonedCluster]:
    """Return the clusters whose last known link no longer points to them, by directory.

    A cluster with a running server is in use, wherever its link is. A moved home looks abandoned until it is used
    again, and so does a home on a disk that is not mounted.
    """
    return sorted(_abandoned(system_directory), key=lambda cluster: cluster.directory)


def _abandoned(system_directory: Path) -> Iterator[AbandonedCluster]:
    for note in system_directory.glob(f"*/{HOME_FILE}"):
        directory = note.parent
        with suppress(FileNotFoundError):  # another process is removing it
            link = Path(os.fsdecode(note.read_bytes()))
            leads_here = link.is_symlink() and link.readlink() == directory
            if not leads_here and not is_running(directory):
                yield AbandonedCluster(directory=directory, link=link)
