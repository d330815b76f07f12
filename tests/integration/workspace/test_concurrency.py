"""Many writers in one workspace."""

import fcntl
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.errors import StorageUnavailableError
from commonplace.workspace.model.memories import NoteDraft, NoteScope
from commonplace.workspace.store.file import MemoryStore
from support.deadlines import DEADLINE_S

PROGRAM = Path(__file__).with_name("workspace_processes.py")


def draft(text: str) -> NoteDraft:
    """Return a memory to store."""
    return NoteDraft(
        text=text, scope=NoteScope.WORKSPACE, tags=(), created_at=datetime(2026, 3, 1, tzinfo=UTC)
    )


@pytest.mark.requirement("WSP-11.1", "WSP-02.3", "R-WSP-1")
def test_eight_processes_lose_nothing(tmp_path: Path) -> None:
    """Four hundred stores at once: every id is given once, and every memory is there."""
    command = [sys.executable, str(PROGRAM), "store", str(tmp_path), "50"]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    ids = [line for writer in writers for line in writer.communicate(timeout=DEADLINE_S)[0].split()]
    assert [writer.returncode for writer in writers] == [0] * 8
    contents = MemoryStore(tmp_path).load()
    assert sorted(ids) == sorted(memory.id for memory in contents.memories)
    assert len(set(ids)) == 400
    assert len({memory.text for memory in contents.memories}) == 400
    assert contents.problems == ()


@pytest.mark.requirement("WSP-11.1")
def test_threads_with_one_store_or_two_lose_nothing(tmp_path: Path) -> None:
    """Stores and deletes from eight threads over two stores of one workspace."""
    stores = [MemoryStore(tmp_path), MemoryStore(tmp_path)]

    def store_and_delete(worker: int) -> tuple[set[str], set[str]]:
        store = stores[worker % 2]
        numbers = [store.store(draft(f"fact {turn} of {worker}")).memory.number for turn in range(20)]
        for number in numbers[::4]:
            stores[(worker + 1) % 2].delete(number)
        return {f"m-{number}" for number in numbers}, {f"m-{number}" for number in numbers[::4]}

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(store_and_delete, range(8)))
    stored, deleted = (set[str]().union(*sets) for sets in zip(*done, strict=True))
    assert len(stored) == 160
    for store in (*stores, MemoryStore(tmp_path)):
        assert {memory.id for memory in store.load().memories} == stored - deleted


@pytest.mark.requirement("WSP-11.1")
def test_a_forked_process_excludes_its_parent(tmp_path: Path) -> None:
    """A fork copies the open lock file, which must not let both in at once."""
    result = subprocess.run(
        [sys.executable, str(PROGRAM), "fork", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    outcome = json.loads(result.stdout)
    assert ["locked by another process" in reason for reason in outcome["refused"]] == [True]
    assert outcome["after"] == "m-2"


@pytest.mark.requirement("WSP-11.1", "WSP-02.3")
def test_a_lock_held_too_long_is_an_error(tmp_path: Path) -> None:
    """The wait is bounded; the error names the lock, and nothing was written."""
    store = MemoryStore(tmp_path, lock_timeout_s=0.05)
    store.store(draft("first"))
    with (tmp_path / ".aegis" / "memory" / "memories.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StorageUnavailableError, match=r"memories\.lock has been locked"):
            store.store(draft("second"))
        assert [memory.text for memory in store.load().memories] == ["first"]
    assert store.store(draft("second")).id == "m-2"


@pytest.mark.requirement("WSP-11.1")
def test_a_removed_lock_file_is_made_again(tmp_path: Path) -> None:
    """Whoever tidies up lock files does not stop the memory, nor bring ids back."""
    store = MemoryStore(tmp_path)
    store.store(draft("first"))
    (tmp_path / ".aegis" / "memory" / "memories.lock").unlink()
    assert store.store(draft("second")).id == "m-2"
    assert MemoryStore(tmp_path).store(draft("third")).id == "m-3"
