"""Syncs of three devices over a folder: kills between any two steps, and carriers that drop, forge and repeat."""

import contextlib
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.keys import new_home_key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite, Written
from support.sync_lessons import LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-03.1")

HOME_KEY = new_home_key()
JELLYFIN: Key = (SyncKind.LESSON, "jellyfin")


class Killed(BaseException):
    """The process was killed here."""


class Unreliable(FolderCarrier):
    """A folder whose writer may be killed before or after a file is there."""

    chance: random.Random | None = None

    def put(self, name: str, body: bytes) -> None:
        """Write a file, or be killed."""
        if self.chance and self.chance.random() < 0.2:
            raise Killed
        super().put(name, body)
        if self.chance and self.chance.random() < 0.2:
            raise Killed


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[list[LessonsDevice]]:
    """Three devices of one home, with a folder that something carries."""
    names = ("laptop", "server", "desktop")
    devices = [LessonsDevice(tmp_path, Unreliable(tmp_path / "carried"), name, HOME_KEY) for name in names]
    yield devices
    for device in devices:
        device.state.close()


def files_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the bytes of each file below a folder, and when it was last written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


async def test_what_one_device_learns_the_others_know(devices: list[LessonsDevice]) -> None:
    """An edit travels, and so does a deletion."""
    laptop, server, desktop = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    assert [each.text() for each in devices] == ["Takes 60s"] * 3
    server.learn("Takes 90s")
    await sync_devices(*devices)
    assert [each.text() for each in devices] == ["Takes 90s"] * 3
    del desktop.lessons.rows[JELLYFIN]
    await sync_devices(*devices)
    assert [each.text() for each in devices] == [None] * 3


async def test_reinforcements_of_two_devices_add_up(devices: list[LessonsDevice]) -> None:
    """Two on one, one on the other, on top of one that both know."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    laptop.learn("Takes 60s", reinforced=3)
    server.learn("Takes 60s", reinforced=2)
    await sync_devices(*devices)
    assert [each.lessons.rows[JELLYFIN]["reinforced"] for each in devices] == [4, 4, 4]


async def test_a_deletion_wins_over_an_edit_that_did_not_know_of_it(devices: list[LessonsDevice]) -> None:
    """Whoever syncs first."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    server.learn("Takes 90s")
    del laptop.lessons.rows[JELLYFIN]
    await sync_devices(server, laptop, devices[2])
    assert [each.text() for each in devices] == [None] * 3


async def test_a_sync_with_nothing_new_writes_nothing(devices: list[LessonsDevice], tmp_path: Path) -> None:
    """Neither to the carrier nor to the home: the same bytes, written at the same time."""
    laptop, *_ = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    for device in devices:
        device.state.close()
    before = files_of(tmp_path)
    for device in devices:
        device.restart()
        assert not (await device.sync()).is_news
        device.state.close()
    assert files_of(tmp_path) == before


async def test_a_sync_asks_once_for_all_memories_that_did_not_change(devices: list[LessonsDevice]) -> None:
    """No statement for each of them."""
    laptop, *_ = devices
    for number in range(200):
        laptop.learn("Takes 60s", f"service-{number}")
    await laptop.sync()
    statements: list[str] = []
    laptop.state._file._connection.set_trace_callback(statements.append)
    await laptop.sync()
    assert len(statements) < 100


@pytest.mark.requirement("SYN-12.1")
async def test_a_sync_reads_no_memory_if_none_changed(devices: list[LessonsDevice]) -> None:
    """A fingerprint tells; one that changed after all is read, and found."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    for device in (laptop, server):
        read = device.lessons.read
        device.lessons.read = refuse
        assert not (await device.sync()).is_news
        device.lessons.read = read
    server.learn("Takes 90s")
    await sync_devices(*devices)
    assert laptop.text() == "Takes 90s"


async def refuse() -> Mapping[Key, Fields]:
    """Read nothing."""
    raise AssertionError("all memories were read")


@pytest.mark.requirement("SYN-12.1")
async def test_what_changes_while_memories_are_read_is_found_by_the_next_sync(
    devices: list[LessonsDevice],
) -> None:
    """The fingerprint from before is not kept."""
    laptop, server, _ = devices
    read = laptop.lessons.read

    async def changing() -> Mapping[Key, Fields]:
        rows = await read()
        laptop.learn("Takes 90s")
        laptop.lessons.read = read
        return rows

    laptop.learn("Takes 60s")
    laptop.lessons.read = changing
    await laptop.sync()
    await sync_devices(*devices)
    assert server.text() == "Takes 90s"


@pytest.mark.requirement("SYN-12.1")
async def test_the_vector_of_a_text_reaches_who_writes_it(devices: list[LessonsDevice]) -> None:
    """Through a snapshot too; and an erasure takes it out of every file."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await laptop.sync()
    await server.sync()
    assert server.lessons.vectors_seen[JELLYFIN] == {"values": "Takes 60s"}
    await laptop.syncing.erase([JELLYFIN])
    await sync_devices(*devices)
    for device in devices:
        assert all(each.vector is None for each in device.state.heads(JELLYFIN))


@pytest.mark.parametrize("seed", range(20))
async def test_kills_lose_nothing_and_do_nothing_twice(devices: list[LessonsDevice], seed: int) -> None:
    """After random changes, syncs and kills in the middle of a write to the carrier, all devices agree."""
    chance = random.Random(seed)  # noqa: S311 - a test
    known: set[str] = set()
    deleted: set[str] = set()
    for step in range(30):
        device = chance.choice(devices)
        name = chance.choice("abc")
        match chance.choice(("learn", "learn", "forget", "sync", "sync")):
            case "learn":
                device.learn(f"text {step}", name)
                known.add(name)
            case "forget" if device.forget(name):
                deleted.add(name)
            case _:
                assert isinstance(device.carrier, Unreliable)
                device.carrier.chance = chance
                with contextlib.suppress(Killed):
                    await device.sync()
                device.carrier.chance = None
    assert await sync_devices(*devices) == [[], [], []]
    first, second, third = (each.lessons.rows for each in devices)
    assert first == second == third
    assert known - deleted <= {name for _, name in first}


async def test_a_carrier_that_drops_forges_and_repeats_is_told(
    devices: list[LessonsDevice], tmp_path: Path
) -> None:
    """Whole files are taken all the same, and a file that comes late is taken then."""
    laptop, server, desktop = devices
    carried = tmp_path / "carried"
    for text in ("one", "two", "three"):
        laptop.learn(text)
        await laptop.sync()
    await server.sync()
    server.learn("Port 8096", "plex")
    await server.sync()
    first, second, third = sorted((carried / laptop.key.device).iterdir())
    body = second.read_bytes()
    second.unlink()
    report = await desktop.sync()
    assert (desktop.text(), desktop.text("plex")) == ("one", "Port 8096")
    assert sorted(report.problems) == [
        "laptop: its file 2 is missing",
        "laptop: its file 3 is missing, but another device has seen it",
    ]
    second.with_name("00000002-0123456789abcdef").write_bytes(first.read_bytes())
    assert "laptop: its file 2 is forged or damaged" in (await desktop.sync()).problems
    second.write_bytes(body)
    assert (await desktop.sync()).problems == ["laptop: a second file 2 is forged or damaged"]
    assert (await desktop.sync()).problems == []
    assert desktop.text() == "three"
    assert third.exists()


async def test_a_folder_that_cannot_be_written_is_an_error_and_loses_nothing(
    devices: list[LessonsDevice], tmp_path: Path
) -> None:
    """The next sync sends what this one could not."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    carried = tmp_path / "carried"
    carried.rename(tmp_path / "away")
    carried.write_text("a file where the folder was")
    with pytest.raises(StorageUnavailableError, match="carried"):
        await laptop.sync()
    carried.unlink()
    (tmp_path / "away").rename(carried)
    await sync_devices(laptop, server)
    assert server.text() == "Takes 60s"


async def test_a_memory_that_changes_while_it_is_synced_keeps_its_change(
    devices: list[LessonsDevice],
) -> None:
    """The change is found by the next sync, and wins or waits like any other."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    laptop.learn("Takes 90s")
    await laptop.sync()
    write = server.lessons.write

    async def late(page: Sequence[MemoryWrite]) -> Sequence[Written]:
        server.learn("Takes 120s")
        server.lessons.write = write
        return await write(page)

    server.lessons.write = late
    report = await server.sync()
    assert report.problems
    assert server.text() == "Takes 120s"
    await sync_devices(*devices)
    assert len({each.text() for each in devices}) == 1


async def test_a_sync_after_a_kill_says_what_it_still_wrote(devices: list[LessonsDevice]) -> None:
    """The memories that had arrived before the kill count."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await laptop.syncing.run()
    write = server.lessons.write

    async def killed(page: Sequence[MemoryWrite]) -> Sequence[Written]:
        del page
        raise Killed

    server.lessons.write = killed
    with pytest.raises(Killed):
        await server.syncing.run()
    server.lessons.write = write
    report = await server.syncing.run()
    assert (report.other_changes, report.memories) == (0, 1)
