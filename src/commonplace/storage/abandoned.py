"""Clusters that earlier releases made for root outside a home, and that no home links to any more."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.storage.linked import HOME_FILE, SYSTEM_DIRECTORY, linked_from, points_to
from commonplace.storage.postmaster import is_running


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonedCluster:
    """A cluster to which its last known link no longer points."""

    directory: Path
    link: Path


def abandoned_clusters() -> list[AbandonedCluster]:
    """Return the clusters whose last known link no longer points to them, by directory.

    A cluster with a running server is in use, wherever its link is. Other clusters may still be needed: their home may
    have been moved, or may be on a disk that is not mounted.
    """
    return sorted(_abandoned(), key=lambda cluster: cluster.directory)


def _abandoned() -> Iterator[AbandonedCluster]:
    for note in SYSTEM_DIRECTORY.glob(f"*/{HOME_FILE}"):
        directory = note.parent
        with suppress(FileNotFoundError):  # Another process is removing it.
            link = linked_from(directory)
            if not points_to(link, directory) and not is_running(directory):
                yield AbandonedCluster(directory=directory, link=link)
