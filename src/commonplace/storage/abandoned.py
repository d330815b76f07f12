"""Clusters of root whose home is gone: they lie outside of it, so that who deletes a home leaves them behind."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.storage.cluster import HOME_FILE, SYSTEM_DIRECTORY
from commonplace.storage.postmaster import is_running


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedCluster:
    """A cluster that no link leads to any more.

    Attributes:
        directory: Where it lies.
        link: Where the link to it was last seen.
    """

    directory: Path
    link: Path


def abandoned_clusters(system_directory: Path = SYSTEM_DIRECTORY) -> list[AbandonedCluster]:
    """Return the clusters that the link they were reached by does not lead to any more, by directory.

    One whose server runs is in use, wherever its link is now. A home that was moved looks abandoned until it is used
    again, and so does one on a disk that is not mounted.
    """
    return sorted(_abandoned(system_directory), key=lambda cluster: cluster.directory)


def _abandoned(system_directory: Path) -> Iterator[AbandonedCluster]:
    for note in system_directory.glob(f"*/{HOME_FILE}"):
        directory = note.parent
        with suppress(FileNotFoundError):  # somebody removes it at this moment
            link = Path(os.fsdecode(note.read_bytes()))
            leads_here = link.is_symlink() and link.readlink() == directory
            if not leads_here and not is_running(directory):
                yield AbandonedCluster(directory=directory, link=link)
