"""Syncs of three devices over a folder: kills between any two steps, and carriers that drop, forge and repeat."""

import contextlib
import random
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.errors import ConflictError, StorageUnavailableError
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.services.sync.changes import Fields
from commonplace.services.sync.keys import DeviceKey, new_home_key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.state import FILE, Key, SyncState
from commonplace.services.sync.syncing import Syncing

pytestmark = pytest.mark.requirement("SYN-03.1")

NOW = datetime(2026, 11, 29, tzinfo=UTC)
HOME_KEY = new_home_key()
JELLYFIN: Key = (SyncKind.LESSON, "jellyfin")


class Killed(BaseException):
    """The process was killed here."""


class Lessons:
    """Lessons in memory."""

    def __init__(self) -> None:
        self.rows: dict[Key, Fields] = {}

    async def read(self) -> Mapping[Key, Fields]:
        """Return all lessons."""
        return dict(self.rows)

    async def write(
        self, key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        """Write a lesson."""
        if self.rows.get(key) not in (seen, fields):
            raise ConflictError("name", "a lesson as it was seen", key[1])
        if fields is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = fields
        del others
        return fields

    async def erase(self, keys: Collection[Key]) -> None:
        """Delete lessons."""
        for key in keys:
            self.rows.pop(key, None)


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


class Device:
    """A device with lessons, its state on disk, and a folder."""

    def __init__(self, home: Path, folder: Path, name: str) -> None:
        self.home, self.name = home / name, name
        self.carrier = Unreliable(folder)
        self.key = DeviceKey.new()
        self.lessons = Lessons()
        self.syncing.introduce(name)

    @property
    def syncing(self) -> Syncing:
        """A sync of a new process."""
        return Syncing(
            SyncState(self.home / FILE),
            self.carrier,
            self.lessons,
            home_key=HOME_KEY,
            device_key=self.key,
            clock=lambda: NOW,
        )

    def learn(self, text: str, name: str = "jellyfin", *, reinforced: int = 1) -> None:
        """Store a lesson."""
        fields = {"text": text, "confidence": 0.5, "reinforced": reinforced}
        self.lessons.rows[(SyncKind.LESSON, name)] = fields

    def told(self, name: str = "jellyfin") -> Any:  # noqa: ANN401 - a text or None
        """The text of a lesson."""
        return self.lessons.rows.get((SyncKind.LESSON, name), {}).get("text")


@pytest.fixture
def devices(tmp_path: Path) -> list[Device]:
    """Three devices of one home."""
    return [Device(tmp_path, tmp_path / "carried", name) for name in ("laptop", "server", "desktop")]


async def synced(*devices: Device) -> list[list[str]]:
    """Sync devices in turn until all have everything; return the problems of the last round."""
    problems: list[list[str]] = []
    for _ in range(3):
        problems = [list((await device.syncing.run()).problems) for device in devices]
    return problems


async def test_what_one_device_learns_the_others_know(devices: list[Device]) -> None:
    """An edit travels, a deletion too; a sync with nothing new writes nothing."""
    laptop, server, desktop = devices
    laptop.learn("Takes 60s")
    await synced(*devices)
    assert [each.told() for each in devices] == ["Takes 60s"] * 3
    server.learn("Takes 90s")
    await synced(*devices)
    assert [each.told() for each in devices] == ["Takes 90s"] * 3
    before = sorted(path.name for path in laptop.home.parent.joinpath("carried").rglob("*"))
    report = await desktop.syncing.run()
    assert (report.found, report.taken, report.written, report.sent) == (0, 0, 0, 0)
    assert sorted(path.name for path in laptop.home.parent.joinpath("carried").rglob("*")) == before
    del desktop.lessons.rows[JELLYFIN]
    await synced(*devices)
    assert [each.told() for each in devices] == [None] * 3


async def test_reinforcements_of_two_devices_add_up(devices: list[Device]) -> None:
    """Two on one, one on the other, on top of one that both know."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await synced(*devices)
    laptop.learn("Takes 60s", reinforced=3)
    server.learn("Takes 60s", reinforced=2)
    await synced(*devices)
    assert [each.lessons.rows[JELLYFIN]["reinforced"] for each in devices] == [4, 4, 4]


async def test_a_deletion_wins_over_an_edit_that_did_not_know_of_it(devices: list[Device]) -> None:
    """Whoever syncs first."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await synced(*devices)
    server.learn("Takes 90s")
    del laptop.lessons.rows[JELLYFIN]
    await synced(server, laptop, devices[2])
    assert [each.told() for each in devices] == [None] * 3


@pytest.mark.parametrize("seed", range(60))
async def test_kills_lose_nothing_and_do_nothing_twice(devices: list[Device], seed: int) -> None:
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
            case "forget" if device.lessons.rows.pop((SyncKind.LESSON, name), None):
                deleted.add(name)
            case _:
                device.carrier.chance = chance
                with contextlib.suppress(Killed):
                    await device.syncing.run()
                device.carrier.chance = None
    assert await synced(*devices) == [[], [], []]
    first, second, third = (each.lessons.rows for each in devices)
    assert first == second == third
    assert known - deleted <= {name for _, name in first}


async def test_a_carrier_that_drops_forges_and_repeats_is_told(devices: list[Device], tmp_path: Path) -> None:
    """What is whole is taken all the same, and a file that comes late is taken then."""
    laptop, server, desktop = devices
    carried = tmp_path / "carried"
    for text in ("one", "two", "three"):
        laptop.learn(text)
        await laptop.syncing.run()
    await server.syncing.run()
    server.learn("Port 8096", "plex")
    await server.syncing.run()
    first, second, third = sorted((carried / laptop.key.device).iterdir())
    kept = second.read_bytes()
    second.unlink()
    report = await desktop.syncing.run()
    assert (desktop.told(), desktop.told("plex")) == ("one", "Port 8096")
    assert sorted(report.problems) == [
        f"{laptop.key.device}: its file 3 is missing, but another device has seen it",
        "laptop: its file 2 is missing",
    ]
    second.with_name("00000002-0123456789abcdef").write_bytes(first.read_bytes())
    assert "laptop: its file 2 is forged or damaged" in (await desktop.syncing.run()).problems
    second.write_bytes(kept)
    assert not (await desktop.syncing.run()).problems
    assert desktop.told() == "three"
    assert third.exists()


async def test_a_folder_that_cannot_be_written_is_an_error_and_loses_nothing(
    devices: list[Device], tmp_path: Path
) -> None:
    """The next sync sends what this one could not."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    carried = tmp_path / "carried"
    carried.rename(tmp_path / "away")
    carried.write_text("a file where the folder was")
    with pytest.raises(StorageUnavailableError, match="carried"):
        await laptop.syncing.run()
    carried.unlink()
    (tmp_path / "away").rename(carried)
    await synced(laptop, server)
    assert server.told() == "Takes 60s"


async def test_a_memory_that_changes_while_it_is_synced_keeps_its_change(devices: list[Device]) -> None:
    """The change is found by the next sync, and wins or waits like any other."""
    laptop, server, _ = devices
    laptop.learn("Takes 60s")
    await synced(*devices)
    laptop.learn("Takes 90s")
    await laptop.syncing.run()
    write = server.lessons.write

    async def late(
        key: Key, fields: Fields | None, *, seen: Fields | None, others: Sequence[Fields] = ()
    ) -> Fields | None:
        server.learn("Takes 120s")
        server.lessons.write = write
        return await write(key, fields, seen=seen, others=others)

    server.lessons.write = late
    report = await server.syncing.run()
    assert report.problems
    assert server.told() == "Takes 120s"
    await synced(*devices)
    assert len({each.told() for each in devices}) == 1
