"""Backups: what was acknowledged is in them, they are of one moment, and a failure leaves nothing behind."""

import asyncio
import gzip
import hashlib
import io
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import (
    DatabaseTooNewError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    StorageUnavailableError,
)
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.hosts.hooks.sessions import SessionRecord, SessionRecords
from commonplace.operational import OperationalMemory
from commonplace.projects import Projects
from commonplace.services.mirrors.forms import MirrorForm
from commonplace.services.mirrors.registry import Choice, Mirror, MirrorRegistry
from commonplace.services.sources.registry import SourceRegistry
from commonplace.services.transfer.importers import ImportSource
from commonplace.storage.backup.archive import MANIFEST, Manifest, digests, pack, unpack, verify
from commonplace.storage.backup.copies import KNOWLEDGE, MEMORIES, SQLITE, servers
from commonplace.storage.backup.last_backup import last_backup_at
from commonplace.storage.backup.restoring import WORKSPACES, restore
from commonplace.storage.backup.taking import DIRECTORY, KEPT, back_up, back_up_before
from commonplace.storage.cluster import APPLICATION_ROLE, SUPERUSER
from commonplace.storage.dumps import run_program
from commonplace.storage.embedded import remove_cluster
from commonplace.storage.migrations.opening import open_database
from commonplace.storage.migrations.runner import migrate_sqlite
from commonplace.storage.postgres_access import connected
from commonplace.workspace import WorkspaceMemory
from support.commands import CommandLine, CommandServer
from support.disks import small_disk
from support.service import open_memories

WRITER = """
import asyncio, sys
from pathlib import Path
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from support.service import open_memories

async def write(home):
    async with open_memories(Settings(home=home, workspace=home)) as memories:
        with request_context(actor="writer"):
            for number in range(100_000):
                await memories.operational.add(category="timing", observation=f"Run {number} took {number} s")
                await memories.knowledge.store_episode(content=f"Run {number} ended", butler="writer")
                print(number, flush=True)

asyncio.run(write(Path(sys.argv[1])))
"""


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from commonplace.core.settings import Settings
from commonplace.storage.backup import restoring

restoring._restore_sqlite = lambda source, target: os.kill(os.getpid(), signal.SIGKILL)
home, file = map(Path, sys.argv[1:])
asyncio.run(restoring.restore(Settings(home=home, workspace=home), file, replace=True))
"""


async def dumps(settings: Settings) -> dict[str, list[str]]:
    """Return every database of a home as SQL.

    PostgreSQL writes brackets and casts of an expression differently once it has read them back, so they are left out
    of what is not data.
    """
    with closing(sqlite3.connect(settings.database_path)) as connection:
        found = {SQLITE: list(connection.iterdump())}
    async with servers(settings) as databases:
        for name, server in databases.items():
            for part in ("--data-only", "--schema-only"):
                options = ("--restrict-key=same", part)
                text = await asyncio.to_thread(run_program, "pg_dump", server.url, *options)
                text = re.sub(r"[()]|::[a-z ]+(\[\])?", "", text) if part == "--schema-only" else text
                found[f"{name} {part}"] = text.splitlines()
    return found


def backups_in(directory: Path) -> list[str]:
    """Return the names of backups, and of what was left of their making."""
    return sorted(path.name for path in directory.iterdir() if ".tar.gz" in path.name)


async def stored(settings: Settings) -> tuple[int, int]:
    """Return how many memories the writer has in operational memory, and how many in knowledge memory."""
    async with open_memories(settings) as memories:
        knowledge = (await memories.knowledge.stats()).episodes.total
        return len(await memories.operational.list_memories()), knowledge


@pytest.mark.long
async def test_a_backup_is_of_one_moment_and_holds_what_was_acknowledged(
    tmp_path: Path, command_server: CommandServer
) -> None:
    """It is made during writes, and again, incrementally, after kill -9; a round trip gives equal dumps."""
    home = Settings(home=tmp_path / "home", workspace=tmp_path / "home")
    during = Settings(home=tmp_path / "during", workspace=tmp_path / "during")
    after = Settings(home=tmp_path / "after", workspace=tmp_path / "after")
    with subprocess.Popen(
        [command_server.python, "-c", WRITER, home.home],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            acknowledged = int(writer.stdout.readline())
        await back_up(home, tmp_path / "during.tar.gz")
        for _ in range(20):
            acknowledged = int(writer.stdout.readline())
        writer.kill()
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    Projects(home.home).at(tmp_path)
    since = tmp_path / "during.tar.gz"
    receipt = await back_up(home, tmp_path / "after.tar.gz", workspaces=[tmp_path], since=since)
    assert receipt.base == since.name
    assert set(receipt.databases) == {SQLITE, KNOWLEDGE}
    for copy in (during, after):
        restored = await restore(copy, tmp_path / f"{copy.home.name}.tar.gz")
        assert restored.replaced is None
    assert await dumps(after) == await dumps(home)
    assert Projects(after.home).list_projects() == Projects(home.home).list_projects()
    operational, knowledge = await stored(during)
    assert 20 <= knowledge <= operational <= knowledge + 1
    operational, knowledge = await stored(after)
    assert acknowledged + 1 <= knowledge <= operational <= acknowledged + 2
    for settings in (home, during, after):
        remove_cluster(settings.postgres_directory)


@pytest.fixture
async def used(settings: Settings) -> Settings:
    """A home with a memory in SQLite and one in its workspace."""
    async with OperationalMemory.open(settings) as memory:
        await memory.add(category="timing", observation="Takes 60 s to start")
    async with WorkspaceMemory.open(settings) as memory:
        await memory.store("The tests need Redis")
    return settings


async def test_incremental_backups_need_their_bases(used: Settings, tmp_path: Path) -> None:
    """A backup of a backup of a backup; a base that is missing or another one is an error that names it."""
    names = ["one.tar.gz", "two.tar.gz", "three.tar.gz"]
    since = None
    for name in names:
        async with OperationalMemory.open(used) as memory:
            await memory.add(category="timing", observation=f"Takes {name} as an argument")
        receipt = await back_up(used, tmp_path / name, since=since)
        since = tmp_path / name
    one, two, three = (tmp_path / name for name in names)
    assert receipt.base == two.name
    assert three.stat().st_size < one.stat().st_size
    with tarfile.open(one) as archive:  # a complete backup is one that older releases can restore
        assert set(json.load(archive.extractfile(MANIFEST) or io.BytesIO())) == {
            *("made_at", "release", "files", "revisions", "workspaces", "format")
        }
    target = used.model_copy(update={"home": tmp_path / "target"})
    await restore(target, three)
    assert await dumps(target) == await dumps(used)
    moved = one.rename(tmp_path / "moved.tar.gz")
    with pytest.raises(
        StorageError, match=r"two\.tar\.gz is incremental and needs the backup 'one\.tar\.gz'"
    ):
        await restore(target, three, replace=True)
    await back_up(used, one)
    with pytest.raises(
        StorageError, match=r"one\.tar\.gz has the name of its base but is a different backup"
    ):
        await restore(target, three, replace=True)
    moved.replace(one)
    assert await dumps(target) == await dumps(used)
    for wrong, error, reason in [
        (
            tmp_path / "elsewhere" / "one.tar.gz",
            InvalidInputError,
            "a backup in the directory of the new one",
        ),
        (tmp_path / "none.tar.gz", StorageUnavailableError, "no such file"),
        (Path(shutil.copy(used.database_path, tmp_path)), StorageError, "is not a backup"),
    ]:
        with pytest.raises(error, match=reason):
            await back_up(used, tmp_path / "four.tar.gz", since=wrong)
    two.write_bytes(two.read_bytes()[:-100])
    with pytest.raises(StorageError, match="is damaged"):
        verify(three)
    assert backups_in(tmp_path) == sorted(names)


@pytest.mark.parametrize("limit", [1000, 9000])
async def test_a_full_disk_leaves_no_half_backup(used: Settings, tmp_path: Path, limit: int) -> None:
    """The error names the disk's fault, and the directory is as it was."""
    target = tmp_path / "backups" / "b.tar.gz"
    target.parent.mkdir()
    with small_disk(limit), pytest.raises(StorageUnavailableError):
        await back_up(used, target)
    assert list(target.parent.iterdir()) == []
    await back_up(used, target)
    assert [path.name for path in target.parent.iterdir()] == ["b.tar.gz"]
    assert target.stat().st_mode & 0o777 == 0o600


async def test_a_backup_replaces_no_file(used: Settings, tmp_path: Path) -> None:
    """Neither an older backup nor anything else."""
    target = tmp_path / "b.tar.gz"
    target.write_text("precious")
    with pytest.raises(InvalidInputError, match="a path where nothing exists"):
        await back_up(used, target)
    assert target.read_text() == "precious"


async def test_a_home_without_memories_has_no_backup(new_settings: Settings, tmp_path: Path) -> None:
    """Nothing is created, neither a backup nor a home."""
    with pytest.raises(NotFoundError):
        await back_up(new_settings, tmp_path / "b.tar.gz")
    assert not new_settings.home.exists()
    assert not (tmp_path / "b.tar.gz").exists()


async def test_memories_are_replaced_only_when_asked_for(used: Settings, tmp_path: Path) -> None:
    """A backup of them is made first, and brings them back."""
    target = tmp_path / "b.tar.gz"
    await back_up(used, target)
    async with OperationalMemory.open(used) as memory:
        await memory.add(category="timing", observation="Takes 90 s to stop")
    newer = await dumps(used)
    with pytest.raises(StorageError, match=r"has databases, .*add --replace"):
        await restore(used, target)
    assert await dumps(used) == newer
    receipt = await restore(used, target, replace=True)
    async with OperationalMemory.open(used) as memory:
        assert [each.observation for each in await memory.list_memories()] == ["Takes 60 s to start"]
    assert receipt.replaced is not None
    await restore(used, receipt.replaced, replace=True)
    assert await dumps(used) == newer


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _change(data: bytes) -> bytes:
    plain = bytearray(gzip.decompress(data))
    position = plain.index(b"SQLite format 3") + 8192
    plain[position] ^= 1
    return gzip.compress(bytes(plain))


@pytest.mark.parametrize("damage", [_cut, _change, lambda _: b"text", lambda _: gzip.compress(b"text")])
async def test_a_damaged_backup_changes_nothing(
    used: Settings, tmp_path: Path, commonplace: CommandLine, damage: Callable[[bytes], bytes]
) -> None:
    """The doctor says so too."""
    target = tmp_path / "b.tar.gz"
    await back_up(used, target)
    before = await dumps(used)
    target.write_bytes(damage(target.read_bytes()))
    with pytest.raises(StorageError, match=r"damaged|not a backup"):
        await restore(used, target, replace=True)
    assert await dumps(used) == before
    assert not (used.home / DIRECTORY).exists()
    done = commonplace("doctor", "--backup", str(target))
    assert (done.status, done.out[:6]) == (1, "FAILED")


@pytest.mark.parametrize("first", [4096, 8192])
async def test_a_damaged_database_is_named_and_can_be_moved_away(
    used: Settings, tmp_path: Path, first: int
) -> None:
    """Neither a backup nor a restore names its own copy of the database. Without the database, the restore works."""
    target, database = tmp_path / "b.tar.gz", used.database_path
    await back_up(used, target)
    data = bytearray(database.read_bytes())
    data[first : first + 4096] = b"\xff" * 4096
    database.write_bytes(data)
    way_out = rf"^{re.escape(str(database))}: .*; move the file away, then restore a backup"
    with pytest.raises(StorageError, match=way_out):
        await back_up(used, tmp_path / "c.tar.gz")
    with pytest.raises(StorageError, match=way_out):
        await restore(used, target, replace=True)
    database.rename(tmp_path / "damaged.db")
    await restore(used, target, replace=True)
    async with OperationalMemory.open(used) as memory:
        assert [each.observation for each in await memory.list_memories()] == ["Takes 60 s to start"]


@pytest.mark.parametrize("name", ["../evil", "/evil", "unlisted"])
def test_a_backup_writes_only_what_its_manifest_lists(tmp_path: Path, name: str) -> None:
    """And never outside of the directory."""
    listed = {} if name == "unlisted" else {name: "0" * 64}
    manifest = {"made_at": "2026-01-01T00:00:00Z", "release": "0", "format": 1, "files": listed}
    file = tmp_path / "b.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for member, data in ((MANIFEST, json.dumps(manifest).encode()), (name, b"evil")):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    target = tmp_path / "there"
    target.mkdir()
    with pytest.raises(StorageError, match="damaged"):
        unpack(file, target)
    assert not list(target.iterdir())
    assert not (tmp_path / "evil").exists()


async def test_a_backup_of_a_newer_release_is_refused(used: Settings, tmp_path: Path) -> None:
    """Before anything is replaced."""
    staging, target = tmp_path / "staging", tmp_path / "b.tar.gz"
    staging.mkdir()
    with closing(sqlite3.connect(staging / SQLITE)) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    pack(
        staging,
        Manifest(
            made_at="2026-01-01T00:00:00Z",
            release="9",
            files=digests(staging),
            revisions={SQLITE: ["ops_999"]},
        ),
        target,
    )
    with pytest.raises(DatabaseTooNewError, match="ops_999"):
        await restore(used, target, replace=True)


async def test_an_upgrade_makes_a_backup_first(new_settings: Settings) -> None:
    """Only where there are tables to upgrade; a few of each kind are kept, and each can be restored."""
    await (await open_database(new_settings, "apps")).close()
    assert not (new_settings.home / DIRECTORY).exists()
    await migrate_sqlite(new_settings.database_path, "operational", target="ops_008")
    older = await dumps(new_settings)
    await (await open_database(new_settings, "operational")).close()
    (made,) = (new_settings.home / DIRECTORY).iterdir()
    assert await dumps(new_settings) != older
    await restore(new_settings, made, replace=True)
    assert await dumps(new_settings) == older
    for _ in range(KEPT + 1):
        await back_up_before(new_settings, "upgrade")
    kinds = [path.name[:14] for path in (new_settings.home / DIRECTORY).iterdir()]
    assert (kinds.count("before-upgrade"), kinds.count("before-restore")) == (KEPT, 1)


async def test_workspace_memory_goes_back_to_its_directory(used: Settings, tmp_path: Path) -> None:
    """Unless that has other memories by now, or is gone: then it is in the home."""
    file, target = used.workspace / MEMORIES, tmp_path / "b.tar.gz"
    kept = file.read_bytes()
    receipt = await back_up(used, target, workspaces=[used.workspace, used.workspace])
    assert receipt.workspaces == (str(used.workspace),)
    file.unlink()
    receipt = await restore(used, target, replace=True)
    assert (receipt.workspaces, receipt.elsewhere) == ((file,), ())
    assert file.read_bytes() == kept
    file.write_text("other\n")
    receipt = await restore(used, target, replace=True)
    (elsewhere,) = receipt.elsewhere
    assert (elsewhere.workspace, elsewhere.reason) == (used.workspace, "the directory has other memories")
    assert elsewhere.file.is_relative_to(used.home / WORKSPACES)
    assert (elsewhere.file.read_bytes(), file.read_text()) == (kept, "other\n")


async def test_databases_with_a_url(
    used: Settings, knowledge_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """A role that sees all tenants makes the backup, and a plain role restores it to an empty database."""
    target = tmp_path / "b.tar.gz"
    plain = used.model_copy(update={"postgres_url": knowledge_url})
    async with open_memories(plain) as memories:
        await memories.knowledge.store_episode(content="The disk is full", butler="b")
    with pytest.raises(StorageError, match="superuser or a role with BYPASSRLS"):
        await back_up(plain, target)
    assert not target.exists()
    seeing = plain.model_copy(update={"postgres_url": as_superuser(knowledge_url)})
    await back_up(seeing, target)
    with pytest.raises(InvalidInputError, match="without tables of commonplace"):
        await restore(plain, target, replace=True)
    empty = used.model_copy(update={"postgres_url": postgres_url, "home": tmp_path / "empty"})
    await restore(empty, target)
    assert await dumps(seeing) == await dumps(
        empty.model_copy(update={"postgres_url": as_superuser(postgres_url)})
    )


def as_superuser(url: str) -> str:
    """Return the URL of the same database for a role that sees all tenants."""
    return url.replace(f"{APPLICATION_ROLE}@", f"{SUPERUSER}@")


def test_the_commands(commonplace: CommandLine, tmp_path: Path) -> None:
    """They say what a backup holds, and name one in a directory by the time."""
    assert commonplace("workspace", "store", "The tests need Redis").status == 0
    done = commonplace("backup", str(tmp_path), "--json")
    assert done.status == 0, done.err
    file = Path(done.json["file"])
    assert file.parent == tmp_path
    assert verify(file).workspaces == {"workspaces/1.jsonl": str(commonplace.directory)}
    checked = commonplace("doctor", "--backup", str(file))
    assert checked.status == 0
    assert "all readable" in checked.out
    assert "0 files of the home, the memories of" in checked.out
    refused = commonplace("restore", str(file))
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "--replace" in refused.err
    done = commonplace("restore", str(file), "--replace")
    assert done.status == 0, done.err
    assert "backup of the replaced memories" in done.out
    workspace = commonplace.directory
    (workspace / MEMORIES).write_text("")
    record = SessionRecord(
        session_id=str(uuid4()), transcript=tmp_path / "t", butler="b", size=1, read=("m",)
    )
    SessionRecords(commonplace.home).put(record)
    done = commonplace("restore", str(file), "--replace")
    assert (
        f"the memories of {workspace} were not restored there: the directory has other memories" in done.out
    )
    (copy,) = re.findall(r"to use them: (.*)", done.out)
    subprocess.run(["sh", "-c", copy], check=True)
    assert "Redis" in (workspace / MEMORIES).read_text()
    assert SessionRecords(commonplace.home).get(record.session_id) == replace(record, size=0, read=())


def test_a_backup_with_another_name_goes_into_a_directory(commonplace: CommandLine, tmp_path: Path) -> None:
    """With or without a slash; a file is never replaced; ``x.zip`` is no directory."""
    assert commonplace("workspace", "store", "The tests need Redis").status == 0
    for given, directory in (("nodir/", "nodir"), ("other", "other"), ("a/named.tgz", "a")):
        done = commonplace("backup", f"{tmp_path}/{given}", "--json", "--parents")
        assert done.status == 0, done.err
        verify(Path(done.json["file"]))
        assert Path(done.json["file"]).parent == tmp_path / directory
    (tmp_path / "file").touch()
    for name in ("file", "x.zip", "x.tar", "x.tar.XZ"):
        refused = commonplace("backup", str(tmp_path / name))
        assert refused.status == 1
        assert "a directory, or a name that ends in .tar.gz or .tgz" in refused.err
        assert not (tmp_path / name).is_dir()
    (tmp_path / "x.zip").mkdir()
    assert commonplace("backup", str(tmp_path / "x.zip")).status == 0


def test_a_backup_into_a_missing_directory_is_refused(commonplace: CommandLine, tmp_path: Path) -> None:
    """A disk that is not mounted would not get it. The home remembers the last backup that was made."""
    assert commonplace("workspace", "store", "The tests need Redis").status == 0
    for given in ("mnt/backups", "mnt/backups/one.tar.gz"):
        refused = commonplace("backup", str(tmp_path / given))
        assert refused.status == 1
        assert "to create it, add --parents" in refused.err
    assert not (tmp_path / "mnt").exists()
    assert last_backup_at(commonplace.home) is None
    done = commonplace("backup", str(tmp_path / "mnt" / "backups"), "--parents", "--json")
    assert done.status == 0, done.err
    assert last_backup_at(commonplace.home) == parse_timestamp(done.json["made_at"])


@pytest.mark.parametrize("part", ["workspaces", "revisions"])
def test_a_manifest_names_only_files_of_the_backup(tmp_path: Path, part: str) -> None:
    """Otherwise any file of the machine could be copied to a workspace."""
    file = tmp_path / "b.tar.gz"
    write_manifest(file, {"made_at": "", "release": "0", "format": 1, part: {"/etc/hostname": "x"}})
    with pytest.raises(StorageError, match="does not list the file '/etc/hostname'"):
        verify(file)


def test_a_manifest_is_an_object(tmp_path: Path) -> None:
    """A list is refused as damaged."""
    file = tmp_path / "b.tar.gz"
    write_manifest(file, [])
    with pytest.raises(StorageError, match="must be a JSON object"):
        verify(file)


def test_damaged_compression_is_reported(tmp_path: Path) -> None:
    """Whichever byte changes, there is no other error than a storage error; padding may change unnoticed."""
    file = tmp_path / "b.tar.gz"
    files = {str(number): hashlib.sha256(b"%d" % number).hexdigest() for number in range(1000)}
    write_manifest(file, {"made_at": "", "release": "0", "format": 1, "files": files})
    data = file.read_bytes()
    for position in range(len(data) // 2, len(data), 500):
        file.write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
        with suppress(StorageError):
            verify(file)


def write_manifest(file: Path, manifest: object) -> None:
    """Write a backup that holds nothing but a manifest."""
    data = json.dumps(manifest).encode()
    with tarfile.open(file, "w:gz") as archive:
        info = tarfile.TarInfo(MANIFEST)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


async def test_a_backup_in_the_home_leaves_out_itself_and_earlier_ones(used: Settings) -> None:
    """It would grow with each backup otherwise; the files of the home stay in it."""
    (used.home / "note.txt").write_text("kept")
    await back_up(used, used.home / "first.tar.gz")
    await back_up(used, used.home / "second.tar.gz")
    assert set(verify(used.home / "second.tar.gz").files) == {SQLITE, "home/note.txt"}


async def test_the_backup_before_a_restore_leaves_out_the_unpacked_one(
    used: Settings, tmp_path: Path
) -> None:
    """It is staged beside the backups, which no backup holds."""
    await back_up(used, tmp_path / "b.tar.gz")
    receipt = await restore(used, tmp_path / "b.tar.gz", replace=True)
    assert receipt.replaced is not None
    assert set(verify(receipt.replaced).files) == {SQLITE}


@pytest.mark.parametrize("part", [".aegis", ".aegis/memory"])
async def test_a_restore_follows_no_link_of_a_workspace(used: Settings, tmp_path: Path, part: str) -> None:
    """The memories go to the home instead."""
    target, outside = tmp_path / "b.tar.gz", tmp_path / "outside"
    await back_up(used, target, workspaces=[used.workspace])
    (used.workspace / ".aegis").rename(tmp_path / "moved")
    outside.mkdir()
    (used.workspace / part).parent.mkdir(exist_ok=True)
    (used.workspace / part).symlink_to(outside)
    receipt = await restore(used, target, replace=True)
    assert len(receipt.elsewhere) == 1
    assert list(outside.iterdir()) == []


async def test_a_workspace_whose_lock_cannot_be_opened_is_copied(used: Settings, tmp_path: Path) -> None:
    """It does not stop the backup of everything else."""
    lock = (used.workspace / MEMORIES).with_name("memories.lock")
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    receipt = await back_up(used, tmp_path / "b.tar.gz", workspaces=[used.workspace])
    assert receipt.workspaces == (str(used.workspace),)


async def test_a_directory_in_the_way_of_a_file_stops_a_restore(used: Settings, tmp_path: Path) -> None:
    """Before anything is replaced."""
    (used.home / "note.txt").write_text("kept")
    await back_up(used, tmp_path / "b.tar.gz")
    (used.home / "note.txt").unlink()
    (used.home / "note.txt").mkdir()
    async with OperationalMemory.open(used) as memory:
        await memory.add(category="timing", observation="Takes 90 s to stop")
    before = await dumps(used)
    with pytest.raises(StorageError, match=r"note\.txt blocks a file or directory"):
        await restore(used, tmp_path / "b.tar.gz", replace=True)
    assert await dumps(used) == before
    assert not (used.home / DIRECTORY).exists()


@pytest.mark.long
async def test_a_restore_that_fails_or_is_killed_leaves_the_old_home(
    settings: Settings, tmp_path: Path, command_server: CommandServer
) -> None:
    """Its last part is broken, or it is killed between two parts; the next restore removes what is left of it."""
    target, broken = tmp_path / "b.tar.gz", tmp_path / "broken.tar.gz"
    states: list[dict[str, list[str]]] = []
    for moment in ("old", "new"):
        async with open_memories(settings) as memories:
            with request_context(actor="writer"):
                await memories.operational.add(category="timing", observation=f"The {moment} run takes 60 s")
                await memories.knowledge.store_episode(content=f"The {moment} run ended", butler="writer")
        states.append(await dumps(settings))
        await back_up(settings, tmp_path / f"{moment}.tar.gz")
    (tmp_path / "old.tar.gz").rename(target)
    old, new = states

    staging = tmp_path / "staging"
    staging.mkdir()
    manifest = unpack(target, staging)
    with closing(sqlite3.connect(staging / SQLITE)) as connection:
        connection.executescript("PRAGMA page_size = 8192; VACUUM")  # a file in use cannot change its pages
    pack(staging, replace(manifest, files=digests(staging)), broken)
    with pytest.raises(StorageError, match=r"earlier state is .*before-restore-.*\.tar\.gz"):
        await restore(settings, broken, replace=True)
    assert await dumps(settings) == new

    killed = subprocess.run([command_server.python, "-c", KILLED, settings.home, target], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert await dumps(settings) == new
    await restore(settings, target, replace=True)
    assert await dumps(settings) == old
    assert {path.name[:15] for path in (settings.home / DIRECTORY).iterdir()} == {"before-restore-"}


async def test_a_restore_brings_the_records_of_the_home_back(used: Settings, tmp_path: Path) -> None:
    """Sessions that began after the backup are returned, because their episodes are gone; newer lists go."""
    records = SessionRecords(used.home)
    old, new = (
        SessionRecord(session_id=str(uuid4()), transcript=tmp_path / "t", butler="b", size=size, read=("m",))
        for size in (5, 7)
    )
    records.put(old)
    await back_up(used, tmp_path / "b.tar.gz")
    records.put(replace(old, ended=True, size=9, read=("m", "n")))
    records.put(new)
    Projects(used.home).at(tmp_path)
    SourceRegistry(used.home).add(tmp_path, ImportSource.INSTRUCTIONS, "shop")
    MirrorRegistry(used.home).put(
        Mirror(form=MirrorForm.OBSIDIAN, path=tmp_path, scope="shop", choice=Choice.ALL, tenant_id="default")
    )
    receipt = await restore(used, tmp_path / "b.tar.gz", replace=True)
    assert [path.stem for path in receipt.newer] == [new.session_id]
    assert records.get(old.session_id) == old
    assert Projects(used.home).list_projects() == []
    assert SourceRegistry(used.home).list() == []
    assert MirrorRegistry(used.home).list() == []


def test_a_program_that_does_not_end_is_stopped() -> None:
    """Its time is limited."""
    with pytest.raises(StorageError, match="did not end within 0 s"):
        run_program("pg_dump", None, "--version", timeout_s=0)


@pytest.mark.requirement("HRD-08.1")
async def test_a_dump_with_statements_of_its_own_runs_as_the_application(
    used: Settings, tmp_path: Path
) -> None:
    """Whoever makes a backup decides what SQL its dump has; the SQL cannot become a superuser."""
    comment, intruder = "A" * 200, "'; RESET ROLE; CREATE ROLE intruder SUPERUSER; --"
    async with open_memories(used) as memories:
        await memories.knowledge.store_episode(content="Something.", butler="b")
    async with servers(used) as databases, connected(databases[KNOWLEDGE].url) as connection:
        await connection.execute(f"COMMENT ON TABLE episodes IS '{comment}'")
    await back_up(used, tmp_path / "made.tar.gz")
    (tmp_path / "parts").mkdir()
    manifest = unpack(tmp_path / "made.tar.gz", tmp_path / "parts")
    dump = tmp_path / "parts" / KNOWLEDGE
    content = dump.read_bytes()
    assert comment.encode() in content
    dump.write_bytes(content.replace(comment.encode(), intruder.ljust(len(comment)).encode()))
    pack(
        tmp_path / "parts", replace(manifest, files=digests(tmp_path / "parts")), tmp_path / "hostile.tar.gz"
    )
    with pytest.raises(StorageError, match="permission denied"):
        await restore(used, tmp_path / "hostile.tar.gz", replace=True)
    async with servers(used) as databases, connected(databases[KNOWLEDGE].url) as connection:
        assert not await connection.fetchval("SELECT count(*) FROM pg_roles WHERE rolname = 'intruder'")
