"""The file of memories on a real disk."""

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.errors import InvalidInputError, NotFoundError, StorageUnavailableError
from commonplace.workspace.model.memories import NoteDraft, NoteScope
from commonplace.workspace.store.file import MemoryStore

FOREIGN = b'{"id": "m-40", "text": "from elsewhere", "ts": "2026-02-26T12:00:00Z", "stars": 5}\n'


def draft(text: str = "a fact", *, hour: int = 12) -> NoteDraft:
    """Return a memory to store."""
    return NoteDraft(
        text=text, scope=NoteScope.WORKSPACE, tags=("t",), created_at=datetime(2026, 3, 1, hour, tzinfo=UTC)
    )


def shown(store: MemoryStore) -> list[str]:
    """Return the ids that the store shows, oldest first."""
    return [memory.id for memory in store.load().memories]


def planted(workspace: Path, content: bytes) -> Path:
    """Write a memory file as another tool would."""
    directory = workspace / ".aegis" / "memory"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "memories.jsonl"
    path.write_bytes(content)
    return path


@pytest.mark.requirement("WSP-01.1", "WSP-01.2", "WSP-02.3")
def test_the_file_stands_where_specified_for_the_owner_alone(tmp_path: Path) -> None:
    """One JSON object a line with exactly five fields; nothing is made before the first store."""
    store = MemoryStore(tmp_path)
    assert shown(store) == []
    assert list(tmp_path.iterdir()) == []
    assert [store.store(draft()).id, store.store(draft("zwei\nZeilen")).id] == ["m-1", "m-2"]
    path = tmp_path / ".aegis" / "memory" / "memories.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [list(record) for record in records] == [["id", "scope", "text", "tags", "ts"]] * 2
    assert records[0]["ts"] == "2026-03-01T12:00:00Z"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [parent.stat().st_mode & 0o777 for parent in list(path.parents)[:2]] == [0o700, 0o700]


@pytest.mark.requirement("WSP-01.4")
def test_a_store_leaves_earlier_lines_as_they_are(tmp_path: Path) -> None:
    """The same text again is a new memory; the file only grows at its end."""
    store = MemoryStore(tmp_path)
    store.store(draft())
    before = store.path.read_bytes()
    store.store(draft())
    assert store.path.read_bytes().startswith(before)
    assert shown(store) == ["m-1", "m-2"]


@pytest.mark.requirement("WSP-01.2", "R-WSP-1")
@pytest.mark.parametrize(
    "loss",
    [
        (),
        ("memories.lock",),
        ("memories.last-id",),
        ("memories.jsonl",),
        ("memories.jsonl", "memories.last-id"),
    ],
)
def test_an_id_is_never_given_twice(tmp_path: Path, loss: tuple[str, ...]) -> None:
    """Not after the highest was deleted, all were, a file was removed by hand, or the process restarted."""
    store = MemoryStore(tmp_path)
    for number in (1, 2, 3):
        store.store(draft())
        if number != 2:
            store.delete(number)
    store.delete(2)
    for name in loss:
        (store.path.parent / name).unlink()
    assert MemoryStore(tmp_path).store(draft()).id == "m-4"
    assert store.store(draft()).id == "m-5"


@pytest.mark.requirement("WSP-01.2", "R-WSP-1")
def test_removing_the_file_of_a_running_store_brings_no_id_back(tmp_path: Path) -> None:
    """A missing file is an empty memory whose ids go on, for this process and for others."""
    store = MemoryStore(tmp_path)
    store.store(draft())
    store.store(draft())
    store.path.unlink()
    assert shown(store) == []
    assert MemoryStore(tmp_path).store(draft()).id == "m-3"
    assert store.store(draft()).id == "m-4"


@pytest.mark.requirement("WSP-04", "WSP-04.1", "R-WSP-1")
def test_past_the_limit_the_oldest_go(tmp_path: Path) -> None:
    """The receipt names them, the file never holds more than the limit, and ids go on."""
    store = MemoryStore(tmp_path, max_total=3)
    receipts = [store.store(draft(f"fact {turn}")) for turn in range(5)]
    assert [[memory.id for memory in receipt.pruned] for receipt in receipts] == [
        [],
        [],
        [],
        ["m-1"],
        ["m-2"],
    ]
    assert shown(store) == shown(MemoryStore(tmp_path)) == ["m-3", "m-4", "m-5"]
    assert len(store.path.read_bytes().splitlines()) == 3


@pytest.mark.requirement("WSP-04.1")
def test_the_default_limit_is_five_hundred(tmp_path: Path) -> None:
    """The 501st memory lets the first one go; a limit set lower later lets all go that are too many."""
    lines = b"".join(FOREIGN.replace(b"m-40", b"m-%d" % number) for number in range(1, 501))
    planted(tmp_path, lines)
    store = MemoryStore(tmp_path)
    assert [memory.id for memory in store.store(draft()).pruned] == ["m-1"]
    assert len(store.load().memories) == 500
    assert len(MemoryStore(tmp_path, max_total=10).store(draft()).pruned) == 491


@pytest.mark.requirement("WSP-04.1")
def test_the_newcomer_stays_even_where_the_clock_went_back(tmp_path: Path) -> None:
    """What was just stored is never what makes room."""
    store = MemoryStore(tmp_path, max_total=2)
    for hour in (12, 13, 1):
        receipt = store.store(draft(hour=hour))
    assert [memory.id for memory in receipt.pruned] == ["m-1"]
    assert set(shown(store)) == {"m-2", "m-3"}


@pytest.mark.requirement("WSP-06", "WSP-06.1", "R-WSP-5")
def test_a_delete_removes_one_line_and_keeps_all_others_byte_for_byte(tmp_path: Path) -> None:
    """Damage, blank lines and lines of other tools survive; the file is a new one with the old mode."""
    path = planted(tmp_path, b"not json\n\n" + FOREIGN)
    path.chmod(0o640)
    store = MemoryStore(tmp_path)
    assert store.store(draft()).id == "m-41"
    inode = path.stat().st_ino
    receipt = store.delete(41)
    assert [memory.text for memory in receipt.deleted] == ["a fact"]
    assert receipt.id == "m-41"
    assert path.read_bytes() == b"not json\n\n" + FOREIGN
    assert path.stat().st_ino != inode
    assert path.stat().st_mode & 0o777 == 0o640
    assert not list(path.parent.glob("*.tmp"))


@pytest.mark.requirement("WSP-06.2", "R-WSP-6")
def test_an_unknown_id_cannot_be_deleted(tmp_path: Path) -> None:
    """Before anything was stored, once it is gone, and where it never was."""
    store = MemoryStore(tmp_path)
    with pytest.raises(NotFoundError, match='no memory with id "m-1"'):
        store.delete(1)
    assert list(tmp_path.iterdir()) == []
    store.store(draft())
    store.delete(1)
    before = store.path.stat()
    with pytest.raises(NotFoundError):
        store.delete(1)
    assert store.path.stat() == before


@pytest.mark.requirement("WSP-11.2", "R-WSP-5")
def test_a_torn_last_line_is_survived_reported_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It never swallows the next memory; the log tells of it once, not at every read."""
    torn = FOREIGN + b'{"id":"m-41","scope":"wor'
    path = planted(tmp_path, torn)
    store = MemoryStore(tmp_path)
    with caplog.at_level(logging.WARNING, "commonplace"):
        assert shown(store) == ["m-40"]
        assert [problem.line for problem in store.load().problems] == [2]
        assert store.store(draft()).id == "m-42"
        os.utime(path, (1, 1))
        assert shown(store) == ["m-40", "m-42"]
    assert [record.message.count("line 2") for record in caplog.records] == [1]
    assert path.read_bytes().startswith(torn + b"\n{")
    store.delete(42)
    assert path.read_bytes() == torn + b"\n"


@pytest.mark.requirement("WSP-11.2", "R-WSP-5")
def test_a_whole_last_line_without_its_newline_is_a_memory(tmp_path: Path) -> None:
    """Editors leave files so; the memory loads, and the next one stands on its own line."""
    planted(tmp_path, FOREIGN.rstrip())
    store = MemoryStore(tmp_path)
    store.store(draft())
    assert shown(MemoryStore(tmp_path)) == shown(store) == ["m-40", "m-41"]


@pytest.mark.requirement("WSP-11.3", "WSP-06.1")
def test_a_failed_rename_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is told, nothing is left behind, and the next delete works."""
    store = MemoryStore(tmp_path, max_total=2)
    store.store(draft())
    store.store(draft())
    before = store.path.read_bytes()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", refuse)
        for step in (lambda: store.delete(1), lambda: store.store(draft())):
            with pytest.raises(StorageUnavailableError, match=r"cannot write .*: Input/output error"):
                step()
            assert store.path.read_bytes() == before
            assert shown(store) == ["m-1", "m-2"]
    assert not list(store.path.parent.glob("*.tmp"))
    store.delete(1)
    assert shown(store) == ["m-2"]


@pytest.mark.requirement("WSP-02.3")
def test_a_failed_sync_takes_the_line_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not on the disk is not in the file either, and is not acknowledged."""
    store = MemoryStore(tmp_path)
    store.store(draft())
    before = store.path.read_bytes()

    def refuse(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", refuse)
        with pytest.raises(StorageUnavailableError):
            store.store(draft("lost"))
    assert store.path.read_bytes() == before
    assert shown(store) == ["m-1"]


@pytest.mark.requirement("WSP-11.2")
def test_a_leftover_of_a_crash_is_cleaned_up(tmp_path: Path) -> None:
    """The first store of a process removes an unfinished temporary file; a link in its place is not followed."""
    planted(tmp_path, FOREIGN)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    leftover = tmp_path / ".aegis" / "memory" / "memories.jsonl.tmp"
    leftover.write_bytes(b"half")
    MemoryStore(tmp_path).store(draft())
    assert not leftover.exists()
    leftover.symlink_to(victim)
    MemoryStore(tmp_path).delete(40)
    assert victim.read_text() == "precious"
    assert not leftover.is_symlink()


@pytest.mark.requirement("WSP-07.1", "R-WSP-5")
def test_the_file_is_read_again_whenever_it_changed(tmp_path: Path) -> None:
    """Grown, replaced by one of the same size and an older time, or gone; unchanged, it is not read again."""
    path = planted(tmp_path, FOREIGN)
    store = MemoryStore(tmp_path)
    first = store.load()
    assert store.load() is first
    path.write_bytes(FOREIGN + FOREIGN.replace(b"m-40", b"m-41"))
    assert shown(store) == ["m-40", "m-41"]
    planted(tmp_path, FOREIGN + FOREIGN.replace(b"m-40", b"m-44"))
    os.utime(path, (1_000_000, 1_000_000))
    assert shown(store) == ["m-40", "m-44"]
    path.unlink()
    assert shown(store) == []


@pytest.mark.requirement("WSP-11")
@pytest.mark.parametrize("linked", [".aegis", ".aegis/memory", ".aegis/memory/memories.jsonl"])
def test_links_out_of_the_workspace_are_refused(tmp_path: Path, linked: str) -> None:
    """Whichever part is a link, nothing outside is read or written."""
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    target = planted(outside, FOREIGN)
    link = workspace / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / linked)
    before = sorted(outside.rglob("*"))
    store = MemoryStore(workspace)
    for step in (store.load, lambda: store.store(draft()), lambda: store.delete(40)):
        with pytest.raises(StorageUnavailableError, match=r"symbolic link|link out of the workspace"):
            step()
    assert sorted(outside.rglob("*")) == before
    assert target.read_bytes() == FOREIGN


@pytest.mark.requirement("WSP-11")
def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    """What is no regular file is refused at once."""
    path = planted(tmp_path, b"")
    path.unlink()
    os.mkfifo(path)
    store = MemoryStore(tmp_path)
    for step in (store.load, lambda: store.store(draft())):
        with pytest.raises(StorageUnavailableError, match=r"not a regular file|No such device"):
            step()


@pytest.mark.requirement("WSP-07.1")
def test_a_workspace_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no lock file can be made, as on a read-only mount, memories are read without; writes are refused."""
    planted(tmp_path, FOREIGN)
    really_open = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(30, "Read-only file system")
        return really_open(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    store = MemoryStore(tmp_path)
    assert shown(store) == ["m-40"]
    with pytest.raises(StorageUnavailableError, match="Read-only file system"):
        store.store(draft())
    with pytest.raises(StorageUnavailableError, match="Read-only file system"):
        store.delete(40)
    assert shown(store) == ["m-40"]


@pytest.mark.requirement("WSP-01.2")
def test_used_up_ids_are_told(tmp_path: Path) -> None:
    """A file that shows the largest id leaves no next one."""
    planted(tmp_path, FOREIGN.replace(b"m-40", b"m-999999999999999"))
    with pytest.raises(StorageUnavailableError, match="used up its ids"):
        MemoryStore(tmp_path).store(draft())


@pytest.mark.requirement("WSP-01")
def test_a_workspace_must_be_a_directory(tmp_path: Path) -> None:
    """A path that is not there is refused when the store is made."""
    with pytest.raises(InvalidInputError, match="workspace: expected an existing directory"):
        MemoryStore(tmp_path / "missing")
