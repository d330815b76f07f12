"""A memory file in Git: two clones that both store memories, and their merges."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.errors import NotFoundError
from commonplace.workspace.model.memories import NoteDraft, NoteScope
from commonplace.workspace.store.file import MemoryStore

_MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clone:
    """A clone of a repository.

    Args:
        directory: The work tree, which exists.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *arguments: str) -> str:
        """Run Git without the settings of this machine, and return its output."""
        options = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def remember(self, *texts: str) -> None:
        """Store memories in the work tree, and commit everything."""
        for text in texts:
            self.store.store(NoteDraft(text=text, scope=NoteScope.WORKSPACE, tags=(), created_at=_MOMENT))
        self.commit()

    def commit(self) -> None:
        """Commit everything."""
        self("add", "--all")
        self("commit", "--quiet", "--message", "memories")

    def pull(self, other: "Clone") -> None:
        """Merge the branch of another clone."""
        self("pull", "--quiet", "--no-rebase", "--no-edit", str(other.directory), "main")

    @property
    def store(self) -> MemoryStore:
        """The memories, as a process that starts now reads them."""
        return MemoryStore(self.directory)

    def shown(self) -> dict[str, str]:
        """Return the texts by id, as a new process shows them."""
        return {memory.id: memory.text for memory in self.store.load().memories}


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Clone, Clone]:
    """Two clones of a repository with the memory m-1."""
    mine, theirs = Clone(tmp_path / "mine"), Clone(tmp_path / "theirs")
    mine.directory.mkdir()
    mine("init", "--quiet", "--initial-branch", "main")
    mine.remember("base")
    mine("clone", "--quiet", ".", str(theirs.directory))
    return mine, theirs


@pytest.fixture
def merged(clones: tuple[Clone, Clone]) -> Clone:
    """A clone that stored a memory, after a merge with a clone that stored two others under the same ids."""
    mine, theirs = clones
    theirs.remember("redis", "kafka")
    mine.remember("nginx")
    mine.pull(theirs)
    return mine


@pytest.mark.requirement("R-WSP-1", "R-WSP-5")
def test_a_merge_keeps_the_memories_of_both_sides(merged: Clone) -> None:
    """The merge has no conflict, every memory has its own id, and a deletion deletes only one memory."""
    assert merged.shown() == {"m-1": "base", "m-2": "nginx", "m-3": "kafka", "m-4": "redis"}
    assert merged("status", "--porcelain") == ""
    merged.store.delete(4)
    assert merged.shown() == {"m-1": "base", "m-2": "nginx", "m-3": "kafka"}
    merged.remember("later")
    assert merged.shown() == {"m-1": "base", "m-2": "nginx", "m-3": "kafka", "m-5": "later"}


@pytest.mark.requirement("R-WSP-1", "R-WSP-5")
def test_ids_of_a_merge_hold_when_the_file_is_next_written(merged: Clone) -> None:
    """A reader shows the ids that a writer will store, even if it had read the file before the merge."""
    reader = merged.store
    assert [memory.id for memory in reader.load().memories] == ["m-1", "m-2", "m-3", "m-4"]
    merged.remember("later")
    expected = {"m-1": "base", "m-2": "nginx", "m-3": "kafka", "m-4": "redis", "m-5": "later"}
    assert merged.shown() == {memory.id: memory.text for memory in reader.load().memories} == expected
    ids = [json.loads(line)["id"] for line in reader.path.read_text().splitlines()]
    assert sorted(ids) == list(expected)
    with pytest.raises(NotFoundError):
        reader.delete(6)


@pytest.mark.requirement("R-WSP-1", "R-WSP-5")
def test_a_second_merge_brings_no_copies(merged: Clone, clones: tuple[Clone, Clone]) -> None:
    """The other side still has its lines under the ids that were taken here."""
    merged.remember("later")
    theirs = clones[1]
    theirs.remember("postgres")
    merged.pull(theirs)
    assert sorted(merged.shown().values()) == ["base", "kafka", "later", "nginx", "postgres", "redis"]


@pytest.mark.requirement("R-WSP-1")
def test_no_id_comes_back_after_a_merge_of_deletions(clones: tuple[Clone, Clone]) -> None:
    """The files with the highest id of both sides merge too, and the larger id counts."""
    mine, theirs = clones
    theirs.remember("redis", "kafka")
    theirs.store.delete(3)
    mine.remember("nginx")
    mine.store.delete(2)
    for each in clones:
        each.commit()
    mine.pull(theirs)
    (mine.store.path.parent / "memories.lock").unlink()
    mine.remember("later")
    assert mine.shown() == {"m-1": "base", "m-2": "redis", "m-4": "later"}
