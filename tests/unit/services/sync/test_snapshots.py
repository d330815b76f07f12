"""Snapshots: what stands for the files before it, and who needs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.services.sync.device_files import parse_name
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.sending import LEFT_OVER
from commonplace.services.sync.syncing import FileLimits
from support.sync_carriers import MemoryCarrier, ProtectedCarrier
from support.sync_lessons import LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-06.1")

HOME_KEY = bytes(range(32))
LIMITS = FileLimits(most_changes=4, snapshot_after=8)


class Home:
    """Three devices of one home, and those that join later."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.carrier = folder, MemoryCarrier()
        self.devices: list[LessonsDevice] = []

    def join(self, name: str) -> LessonsDevice:
        """Let a device join."""
        self.devices.append(LessonsDevice(self.folder, self.carrier, name, HOME_KEY, LIMITS))
        return self.devices[-1]

    def numbers(self, device: LessonsDevice) -> list[int]:
        """Return the numbers of a device's files at the carrier."""
        files = filter(None, map(parse_name, sorted(self.carrier.files)))
        return [each.number for each in files if each.device == device.key.device]

    def first_part(self, device: LessonsDevice) -> str:
        """Return the name of the first part of a device's snapshot."""
        return next(name for name in self.carrier.files if device.key.device in name and "snapshot" in name)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home."""
    home = Home(tmp_path)
    yield home
    for device in home.devices:
        device.state.close()


async def busy_year(device: LessonsDevice) -> None:
    """Learn three lessons over and over, forget one of them, and sync each time."""
    for number in range(12):
        device.learn(f"text {number}", "abc"[number % 3])
        await device.sync()
    device.forget("b")
    await device.sync()


async def test_a_snapshot_replaces_the_files_before_it(home: Home) -> None:
    """They are deleted once the carrier has the snapshot."""
    laptop = home.join("laptop")
    await busy_year(laptop)
    start = laptop.state.snapshot_start()
    assert start > 1
    assert home.numbers(laptop) == list(range(start, home.numbers(laptop)[-1] + 1))


async def test_a_new_device_begins_with_the_newest_snapshot(home: Home) -> None:
    """It has what the others have, and a sync with nothing new follows."""
    laptop = home.join("laptop")
    await busy_year(laptop)
    desktop = home.join("desktop")
    assert (await desktop.sync()).problems == []
    assert desktop.lessons.rows == laptop.lessons.rows
    assert not (await desktop.sync()).is_news


async def test_a_device_that_was_away_loses_nothing_and_revives_nothing(home: Home) -> None:
    """Its own edit travels, its old memory of what was forgotten does not, and dropped files are not missed."""
    laptop, server, desktop = home.join("laptop"), home.join("server"), home.join("desktop")
    laptop.learn("old", "b")
    server.learn("Port 8096", "plex")
    await sync_devices(laptop, server, desktop)
    desktop.learn("found while away", "nas")
    desktop.learn("edited while away", "b")
    await busy_year(laptop)
    await busy_year(server)
    assert home.numbers(laptop)[0] > 1
    assert home.numbers(server)[0] > 1
    assert await sync_devices(desktop, laptop, server) == [[], [], []]
    assert desktop.lessons.rows == laptop.lessons.rows == server.lessons.rows
    assert desktop.text("nas") == "found while away"
    assert desktop.text("plex") == "Port 8096"
    assert desktop.text("b") is None
    assert [each["text"] for each in laptop.lessons.others[SyncKind.LESSON, "b"]] == ["edited while away"]


async def test_a_snapshot_stands_for_the_files_of_others_too(home: Home) -> None:
    """The laptop's snapshot has the changes of the server that it had taken, so the server's files are not needed."""
    server, laptop = home.join("server"), home.join("laptop")
    server.learn("Port 8096", "plex")
    await server.sync()
    await busy_year(laptop)
    for name in [name for name in home.carrier.files if name.startswith(server.key.device)]:
        del home.carrier.files[name]
    desktop = home.join("desktop")
    assert (await desktop.sync()).problems == []
    assert desktop.text("plex") == "Port 8096"
    server.learn("Port 32400", "plex")
    await server.sync()
    assert (await desktop.sync()).problems == []
    assert desktop.text("plex") == "Port 32400"


async def test_a_snapshot_of_which_a_part_is_missing_is_not_used(home: Home) -> None:
    """The device says so, and takes it whole when the part is back."""
    laptop = home.join("laptop")
    for number in range(10):
        laptop.learn("first", f"service-{number}")
    await laptop.sync()
    for text in ("second", "third"):
        for number in range(10):
            laptop.learn(text, f"service-{number}")
        await laptop.sync()
    start = laptop.state.snapshot_start()
    names = {parsed.number: name for name in home.carrier.files if (parsed := parse_name(name))}
    body = home.carrier.files.pop(names[start + 2])
    desktop = home.join("desktop")
    assert (await desktop.sync()).problems == [f"laptop: its file {start + 2} is missing"]
    assert desktop.lessons.rows == {}
    home.carrier.files[names[start + 2]] = body
    assert (await desktop.sync()).problems == []
    assert desktop.lessons.rows == laptop.lessons.rows


async def test_an_older_snapshot_serves_while_a_newer_one_is_damaged(home: Home) -> None:
    """The files that the carrier still has are taken up to the damage."""
    laptop = home.join("laptop")
    await busy_year(laptop)
    older = dict(home.carrier.files)
    await busy_year(laptop)
    newer = home.first_part(laptop)
    home.carrier.files = {**older, **home.carrier.files, newer: b"damaged"}
    desktop = home.join("desktop")
    assert len((await desktop.sync()).problems) == 1
    assert set(desktop.lessons.rows) == set(laptop.lessons.rows)


async def test_what_a_carrier_cannot_delete_is_told_once(tmp_path: Path) -> None:
    """Until it can; and again if what was erased is in its history."""
    carrier = ProtectedCarrier()
    laptop = LessonsDevice(tmp_path, carrier, "laptop", HOME_KEY, LIMITS)
    problems: list[str] = []
    for number in range(24):
        laptop.learn(f"text {number}", "abc"[number % 3])
        problems += (await laptop.sync()).problems
    assert problems == [carrier.PROBLEM]
    assert laptop.state.own(LEFT_OVER) == carrier.PROBLEM.encode()
    await laptop.syncing.erase([(SyncKind.LESSON, "a")])
    assert (await laptop.sync()).problems == [carrier.PROBLEM]
    assert (await laptop.sync()).problems == []
    carrier.is_protected = False
    await laptop.syncing.erase([(SyncKind.LESSON, "b")])
    assert (await laptop.sync()).problems == []
    assert laptop.state.own(LEFT_OVER) == b""
    laptop.state.close()
