"""A home and an installation of release 0.1.0, and the releases after it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from filelock import FileLock

from commonplace.storage.embedded import remove_cluster
from support.heritage import Heritage, make_heritage
from support.homes import UsedHome
from support.releases import OLDEST, Installation, install, next_release, today
from support.run_share import RunShare


@pytest.fixture(scope="session")
def heritage(run_share: RunShare, used_home: UsedHome) -> Heritage:
    """What release 0.1.0 left behind."""
    directory = run_share.directory / f"release-{OLDEST}"
    # A lock of its own: what the release does takes longer than other processes of the run should wait.
    with FileLock(f"{directory}.lock"):
        if not Heritage(directory).export.exists():
            shutil.rmtree(directory, ignore_errors=True)
            make_heritage(directory, used_home)
    for each in (directory / "home" / "postgres", directory):
        run_share.delete_at_end(each)
    return Heritage(directory)


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Today's release, and one that is newer."""
    directory = tmp_path_factory.mktemp("releases")
    return {"today": today(directory / "today"), "next": next_release(directory / "next")}


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a short path, whose database server is stopped at the end."""
    directory = Path(mkdtemp(prefix="commonplace-"))
    yield directory
    remove_cluster(directory / "home" / "postgres")
    shutil.rmtree(directory)


@pytest.fixture
def old(heritage: Heritage, place: Path) -> Installation:
    """An environment with release 0.1.0, which a test may upgrade."""
    return install(place / "environment", heritage.release)


@pytest.fixture
def home(heritage: Heritage, place: Path) -> Path:
    """A home of release 0.1.0."""
    return heritage.lend(place)
