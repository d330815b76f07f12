"""Devices that leave, devices that are revoked, and the new key of the home."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.core.errors import ConflictError, NotFoundError, SyncError, SyncKeyError
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.home_keys import HomeKey, KeyRing, document_name, write_document
from commonplace.services.sync.introductions import introduction_name, read_introduction, write_introduction
from commonplace.services.sync.keys import DeviceKey
from support.sync_carriers import MemoryCarrier
from support.sync_files import packed_texts
from support.sync_lessons import LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-08.1")

HOME_KEY = bytes(range(32))


@pytest.fixture
def carrier() -> MemoryCarrier:
    """A carrier in memory."""
    return MemoryCarrier()


@pytest.fixture
def devices(tmp_path: Path, carrier: MemoryCarrier) -> Iterator[list[LessonsDevice]]:
    """Three devices that have synced."""
    names = ("laptop", "server", "desktop")
    devices = [LessonsDevice(tmp_path, carrier, name, HOME_KEY) for name in names]
    yield devices
    for device in devices:
        device.state.close()


def departures(device: LessonsDevice) -> dict[str, Departure]:
    """Return the devices that a device knows to be gone, by name."""
    return {each.name: each.departure for each in device.state.devices() if each.departure}


def chain(carrier: MemoryCarrier, device: LessonsDevice) -> dict[str, bytes]:
    """Return the files of a device."""
    return {name: body for name, body in carrier.files.items() if name.startswith(device.key.device)}


async def test_a_device_that_leaves_gives_its_last_changes_and_writes_nothing_more(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Its files go once every member has taken them."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    laptop.learn("Takes 60s")
    await laptop.syncing.leave()
    with pytest.raises(SyncError, match="has left"):
        await laptop.sync()
    await server.sync()
    assert chain(carrier, laptop)
    await sync_devices(desktop, server)
    assert (server.text(), desktop.text()) == ("Takes 60s", "Takes 60s")
    assert departures(server) == departures(desktop) == {"laptop": Departure.LEFT}
    assert not chain(carrier, laptop)


async def test_a_device_that_joins_later_has_what_the_one_that_left_knew(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """From the snapshots of the others."""
    laptop, server, desktop = devices
    laptop.learn("Takes 60s")
    await laptop.syncing.leave()
    await sync_devices(server, desktop)
    nas = LessonsDevice(tmp_path, carrier, "nas", HOME_KEY)
    devices.append(nas)
    assert (await nas.sync()).problems == []
    assert nas.text() == "Takes 60s"
    assert departures(nas) == {"laptop": Departure.LEFT}


async def test_a_device_that_leaves_is_refused_even_if_its_key_writes_on(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """By every member that has taken its last file."""
    laptop, server, _ = devices
    await laptop.syncing.leave()
    await server.sync()
    by_server = {name: carrier.files.pop(name) for name in chain(carrier, server)}
    laptop.state._file._connection.execute("UPDATE devices SET departure = NULL")
    laptop.learn("Takes 60s")
    await laptop.sync()
    carrier.files.update(by_server)
    await server.sync()
    assert server.text() is None


async def test_what_a_revoked_device_writes_is_refused_by_all(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Changes that it had sent before, and that the revoking device had taken, stay."""
    laptop, server, desktop = devices
    laptop.learn("Takes 60s")
    await sync_devices(laptop, server)
    await server.syncing.revoke(laptop.key.device)
    key_documents = {
        name: carrier.files.pop(name) for name in list(carrier.files) if name.startswith("keys/")
    }
    laptop.learn("written by a thief")
    await laptop.sync()
    carrier.files.update(key_documents)
    await sync_devices(server, desktop)
    assert (server.text(), desktop.text()) == ("Takes 60s", "Takes 60s")
    assert departures(server) == departures(desktop) == {"laptop": Departure.REVOKED}
    assert not chain(carrier, laptop)
    with pytest.raises(SyncError, match="revoked"):
        await laptop.sync()


async def test_a_thief_with_the_old_key_reads_nothing_that_is_written_after(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Neither files nor the new key."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    await sync_devices(server, desktop)
    server.learn("a secret of later")
    await sync_devices(server, desktop)
    old, new = KeyRing.of(HOME_KEY, []), server.syncing._members.ring()
    assert desktop.text() == "a secret of later"
    assert any("a secret of later" in each for each in packed_texts(carrier.files, new))
    assert packed_texts(carrier.files, old) == []
    assert not any(
        new.current.key in body or new.current.key.hex().encode() in body for body in carrier.files.values()
    )


async def test_a_thief_with_the_old_key_cannot_join(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """An introduction that is sealed with the old key is refused."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    await sync_devices(server, desktop)
    thief = DeviceKey.new()
    old = KeyRing.of(HOME_KEY, []).current
    carrier.files[introduction_name(thief.device)] = write_introduction("nas", old, thief)
    assert (await desktop.sync()).problems == [
        "nas joined with a key of the home that is no longer valid; it must join again"
    ]
    assert departures(desktop)["nas"] is Departure.REVOKED


async def test_a_revoked_device_cannot_revoke_the_others(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Its key document is refused by all who learned of the revocation first."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    before = dict(carrier.files)
    await server.syncing.revoke(laptop.key.device)
    await desktop.sync()
    after = dict(carrier.files)
    carrier.files = before
    await laptop.syncing.revoke(server.key.device)
    carrier.files.update(after)
    key = server.syncing.home_key
    await sync_devices(server, desktop)
    assert departures(server) == departures(desktop) == {"laptop": Departure.REVOKED}
    assert server.syncing.home_key == desktop.syncing.home_key == key


async def test_a_device_that_joins_after_a_revocation_reads_what_was_sealed_before(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """It has only the new key, from the passphrase, and opens the earlier ones with it."""
    laptop, server, desktop = devices
    desktop.learn("Takes 60s")
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    nas = LessonsDevice(tmp_path, carrier, "nas", server.syncing.home_key)
    devices.append(nas)
    assert (await nas.sync()).problems == []
    assert nas.text() == "Takes 60s"
    nas.learn("Takes 90s")
    assert await sync_devices(nas, server, desktop) == [[], [], []]
    assert desktop.text() == "Takes 90s"


async def test_a_device_cannot_join_before_the_document_of_its_key_has_arrived(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """It could not read the introductions of the others."""
    laptop, server, _ = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    for name in [name for name in carrier.files if name.startswith("keys/")]:
        del carrier.files[name]
    with pytest.raises(SyncKeyError, match="has not arrived yet"):
        LessonsDevice(tmp_path, carrier, "nas", server.syncing.home_key)


async def test_a_thief_cannot_pass_the_old_key_off_as_a_new_one(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """A document in the name of a member needs its signature, and a new device needs the newest key."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    await sync_devices(server, desktop)
    thief = DeviceKey.new()
    own = HomeKey(key=bytes(32), epoch=50, author=thief.device)
    old = HomeKey(key=HOME_KEY, epoch=99, author=thief.device)
    body = write_document(old, [own], {desktop.key.device: desktop.key.exchange_public}, [], thief)
    carrier.files[introduction_name(thief.device)] = write_introduction("nas", own, thief)
    carrier.files[document_name(old)] = body
    carrier.files[document_name(replace(old, author=server.key.device))] = body
    await sync_devices(desktop, server)
    assert desktop.syncing.home_key == server.syncing.home_key != HOME_KEY
    assert "nas" not in {each.name for each in desktop.state.devices()}


async def test_a_key_is_renewed_once_more(devices: list[LessonsDevice]) -> None:
    """A second revocation of the same device makes a third key, which the others get."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    keys = [server.syncing.home_key]
    for _ in range(2):
        await server.syncing.revoke(laptop.key.device)
        keys.append(server.syncing.home_key)
    await desktop.sync()
    assert len(set(keys)) == 3
    assert desktop.syncing.home_key == keys[-1]


async def test_two_devices_that_revoke_at_once_are_told_to_revoke_again(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """Each of two new keys is known to a device that the other one has revoked."""
    laptop, server, desktop = devices
    nas = LessonsDevice(tmp_path, carrier, "nas", HOME_KEY)
    devices.append(nas)
    await sync_devices(*devices)
    before = dict(carrier.files)
    await server.syncing.revoke(laptop.key.device)
    after = dict(carrier.files)
    carrier.files = before
    await desktop.syncing.revoke(nas.key.device)
    carrier.files.update(after)
    [problem] = (await server.sync()).problems
    assert problem.endswith("was revoked, but has the newest key of the home: revoke it once more")
    await server.syncing.revoke(laptop.key.device)
    assert await sync_devices(server, desktop) == [[], []]
    assert departures(server) == departures(desktop) == dict.fromkeys(("laptop", "nas"), Departure.REVOKED)


async def test_nobody_can_put_another_exchange_key_into_an_introduction(devices: list[LessonsDevice]) -> None:
    """The device signs it: with the home's key alone, a thief cannot get new keys sealed to himself."""
    laptop, *_ = devices
    ring = KeyRing.of(HOME_KEY, [])
    thief = DeviceKey.new()
    body = write_introduction("laptop", ring.current, thief)
    with pytest.raises(SyncError, match="forged or damaged"):
        read_introduction(laptop.key.device, body, ring)


async def test_a_device_revokes_only_another_one_that_it_knows(devices: list[LessonsDevice]) -> None:
    """Anything else is refused before anything is written."""
    laptop, *_ = devices
    with pytest.raises(ConflictError, match="let it leave"):
        await laptop.syncing.revoke(laptop.key.device)
    with pytest.raises(NotFoundError):
        await laptop.syncing.revoke("0123456789abcdef")


@pytest.mark.parametrize("is_taken", [True, False])
async def test_a_home_that_was_restored_from_a_copy_stops(
    devices: list[LessonsDevice], *, is_taken: bool
) -> None:
    """It would use numbers of files twice. Another device, or the carrier itself, shows that it has sent more."""
    laptop, server, _ = devices
    await laptop.sync()
    laptop.state.close()
    copy = laptop.path.read_bytes()
    laptop.restart()
    laptop.learn("Takes 60s")
    await laptop.sync()
    if is_taken:
        await server.sync()
        server.learn("Port 8096", "plex")
        await server.sync()
    laptop.state.close()
    laptop.path.write_bytes(copy)
    laptop.restart()
    with pytest.raises(SyncError, match="restored from a copy"):
        await laptop.sync()
