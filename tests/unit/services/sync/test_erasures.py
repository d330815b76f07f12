"""Erasures: the text of a memory leaves every file and every database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from support.sync_carriers import MemoryCarrier
from support.sync_files import packed_texts
from support.sync_lessons import LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-07.1")

HOME_KEY = bytes(range(32))
JELLYFIN: Key = (SyncKind.LESSON, "jellyfin")
SECRET = "the hidden port is 8096"


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[list[LessonsDevice]]:
    """Three devices of one home."""
    carrier = MemoryCarrier()
    names = ("laptop", "server", "desktop")
    devices = [LessonsDevice(tmp_path, carrier, name, HOME_KEY) for name in names]
    yield devices
    for device in devices:
        device.state.close()


def places_of(text: str, *devices: LessonsDevice) -> list[str]:
    """Return where a text is: in files at the carrier, in the bytes of states, in memories."""
    carrier = devices[0].carrier
    assert isinstance(carrier, MemoryCarrier)
    ring = devices[0].syncing._members.ring()
    files = [
        name for name, body in carrier.files.items() if text in "".join(packed_texts({name: body}, ring))
    ]
    states = [
        path.name
        for each in devices
        for path in each.path.parent.iterdir()
        if text.encode() in path.read_bytes()
    ]
    memories = [each.name for each in devices if text in str(vars(each.lessons))]
    return files + states + memories


async def test_an_erasure_leaves_no_text_in_any_file(devices: list[LessonsDevice]) -> None:
    """Neither the text nor an earlier one, on no device and not at the carrier."""
    laptop, server, desktop = devices
    laptop.learn(SECRET)
    laptop.learn("Takes 60s", "plex")
    await sync_devices(*devices)
    server.learn(f"{SECRET}, really")
    await sync_devices(*devices)
    assert places_of(SECRET, *devices)
    await desktop.syncing.erase([JELLYFIN])
    await sync_devices(*devices)
    assert places_of(SECRET, *devices) == []
    assert [each.text("plex") for each in devices] == ["Takes 60s"] * 3
    assert [each.text() for each in devices] == [None] * 3


async def test_the_device_of_an_erasure_is_clean_before_it_syncs(devices: list[LessonsDevice]) -> None:
    """Its state and its memories; a file that was not sent yet is not sent any more."""
    laptop, *_ = devices
    laptop.learn(SECRET)
    carrier = laptop.carrier
    assert isinstance(carrier, MemoryCarrier)
    carrier.step = unreachable
    with pytest.raises(StorageUnavailableError):
        await laptop.sync()
    carrier.step = lambda: None
    assert laptop.state.outbox()
    await laptop.syncing.erase([JELLYFIN])
    assert places_of(SECRET, laptop) == []
    assert laptop.state.outbox() == []


def unreachable() -> None:
    """Raise the error of a carrier that cannot be written."""
    raise StorageUnavailableError("the carrier cannot be written")


async def test_an_edit_that_did_not_know_of_the_erasure_is_erased_too(devices: list[LessonsDevice]) -> None:
    """Also if it was already sent, and arrives before the erasure or after it."""
    laptop, server, desktop = devices
    laptop.learn("Takes 60s")
    await sync_devices(*devices)
    server.learn(SECRET)
    await server.sync()
    await laptop.syncing.erase([JELLYFIN])
    await desktop.sync()
    assert desktop.text() == SECRET
    await sync_devices(laptop, desktop, server)
    assert places_of(SECRET, *devices) == []
    assert [each.text() for each in devices] == [None] * 3


async def test_a_memory_of_the_same_name_can_be_learned_again(devices: list[LessonsDevice]) -> None:
    """It has seen the erasure, even on a device that gets it before the erasure."""
    laptop, server, desktop = devices
    laptop.learn(SECRET)
    await sync_devices(*devices)
    await laptop.syncing.erase([JELLYFIN])
    await sync_devices(laptop, server, rounds=1)
    server.learn("Takes 60s")
    await sync_devices(server, desktop, laptop)
    assert [each.text() for each in devices] == ["Takes 60s"] * 3
    assert places_of(SECRET, *devices) == []


async def test_a_new_memory_that_arrives_before_the_erasure_survives_it(devices: list[LessonsDevice]) -> None:
    """The earlier texts go, the new one is written again."""
    laptop, server, desktop = devices
    laptop.learn(SECRET)
    await sync_devices(*devices)
    carrier = laptop.carrier
    assert isinstance(carrier, MemoryCarrier)
    await laptop.syncing.erase([JELLYFIN])
    await laptop.sync()
    await server.sync()
    server.learn("Takes 60s")
    await server.sync()
    by_laptop = {name: carrier.files.pop(name) for name in list(carrier.files) if laptop.key.device in name}
    by_laptop.update({name: carrier.files.pop(name) for name in list(carrier.files) if "devices" in name})
    await desktop.sync()
    carrier.files.update(by_laptop)
    await sync_devices(desktop, laptop, server)
    assert desktop.text() == "Takes 60s"
    assert places_of(SECRET, *devices) == []


async def test_an_erasure_says_which_devices_have_done_it(devices: list[LessonsDevice]) -> None:
    """Until all have; a device that is away is waited for."""
    laptop, server, desktop = devices
    laptop.learn(SECRET)
    await sync_devices(*devices)
    name = await laptop.syncing.erase([JELLYFIN])
    await sync_devices(laptop, server, rounds=2)
    [status] = laptop.state.erasures()
    assert (status.name, status.count, status.at) == (name, 1, "2026-11-29T00:00:00Z")
    assert status.done == {laptop.key.device, server.key.device}
    assert status.waiting == {desktop.key.device}
    await sync_devices(desktop, laptop, server)
    assert [each.waiting for device in devices for each in device.state.erasures()] == [frozenset()] * 3


async def test_a_memory_that_cannot_be_erased_now_is_erased_by_the_next_sync(
    devices: list[LessonsDevice],
) -> None:
    """Before anything else, so it is not found as a new memory."""
    laptop, server, _ = devices
    laptop.learn(SECRET)
    await sync_devices(*devices)
    await laptop.syncing.erase([JELLYFIN])
    await laptop.sync()
    erase = server.lessons.erase

    async def locked(keys: object) -> None:
        del keys
        raise StorageUnavailableError("the memory is locked")

    server.lessons.erase = locked
    with pytest.raises(StorageUnavailableError):
        await server.sync()
    server.lessons.erase = erase
    report = await server.sync()
    assert report.own_changes == 0
    await sync_devices(*devices)
    assert places_of(SECRET, *devices) == []
