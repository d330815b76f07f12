"""A PostgreSQL server for one run of a benchmark."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commonplace.storage.embedded import Membership, join_server, remove_cluster


@contextmanager
def scratch_server(directory: Path | None = None) -> Iterator[Membership]:
    """Set up a server below a directory, or the system's temporary one; remove it at the end."""
    with tempfile.TemporaryDirectory(dir=directory) as home:
        cluster = Path(home) / "postgres"
        membership = join_server(cluster)
        try:
            yield membership
        finally:
            membership.leave()
            remove_cluster(cluster)
