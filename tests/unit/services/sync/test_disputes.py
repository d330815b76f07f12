"""Devices that revoke each other: a thief who has one of them never wins, and a person decides on each device."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from commonplace.core.errors import SyncError
from commonplace.services.sync import disputes
from commonplace.services.sync.device_files import Departure
from commonplace.services.sync.home_keys import HomeKey, document_name, write_document
from commonplace.services.sync.introductions import introduction_name, write_introduction
from commonplace.services.sync.keys import DeviceKey
from support.sync_carriers import MemoryCarrier
from support.sync_lessons import LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-08.1")

HOME_KEY = bytes(range(32))


@pytest.fixture
def carrier() -> MemoryCarrier:
    """A carrier in memory."""
    return MemoryCarrier()


@pytest.fixture
def devices(tmp_path: Path, carrier: MemoryCarrier) -> Iterator[list[LessonsDevice]]:
    """Three devices of one home; a thief may have the laptop."""
    names = ("laptop", "server", "desktop")
    devices = [LessonsDevice(tmp_path, carrier, name, HOME_KEY) for name in names]
    yield devices
    for device in devices:
        device.state.close()


def departures(device: LessonsDevice) -> dict[str, Departure]:
    """Return the devices that a device knows to be gone, by name."""
    return {each.name: each.departure for each in device.state.devices() if each.departure}


async def revoke_each_other(carrier: MemoryCarrier, one: LessonsDevice, other: LessonsDevice) -> None:
    """Let two devices revoke each other before either learns of it."""
    before = dict(carrier.files)
    await one.syncing.revoke(other.key.device)
    after = dict(carrier.files)
    carrier.files = before
    await other.syncing.revoke(one.key.device)
    carrier.files.update(after)


def forge(
    carrier: MemoryCarrier,
    author: LessonsDevice | DeviceKey,
    *others: LessonsDevice,
    epoch: int,
    home_key: bytes = bytes(32),
    revoked: Collection[str] = (),
) -> None:
    """Write a key document that only some devices get, as a thief could with the key of a device."""
    key = author if isinstance(author, DeviceKey) else author.key
    new = HomeKey(key=home_key, epoch=epoch, author=key.device)
    recipients = {each.key.device: each.key.exchange_public for each in others}
    first = HomeKey(key=HOME_KEY)
    carrier.files[document_name(new)] = write_document(new, [first], recipients, revoked, key)


@pytest.mark.parametrize("place", [0, 1])
async def test_a_third_device_asks_a_person(
    devices: list[LessonsDevice], carrier: MemoryCarrier, place: int
) -> None:
    """It takes and sends nothing, until it revokes the lost one; then it agrees with the other one."""
    *rivals, desktop = devices
    await sync_devices(*devices)
    await revoke_each_other(carrier, *rivals)
    lost, other = rivals[place], rivals[1 - place]
    desktop.learn("Takes 60s")
    before = dict(carrier.files)
    for _ in range(2):
        with pytest.raises(SyncError, match=r"have revoked each other.* sync revoke NAME"):
            await desktop.sync()
    assert carrier.files == before
    assert departures(desktop) == {}

    await desktop.syncing.revoke(lost.key.device)
    await sync_devices(desktop, other)
    assert departures(desktop) == departures(other) == {lost.name: Departure.REVOKED}
    assert desktop.syncing.home_key == other.syncing.home_key
    assert other.text() == "Takes 60s"
    with pytest.raises(SyncError, match="revoked"):
        await lost.sync()


@pytest.mark.parametrize("home_key", [bytes(32), HOME_KEY], ids=["new", "old"])
@pytest.mark.parametrize("epoch", [1, 2, 99])
async def test_a_thief_does_not_win_by_revoking_back(
    devices: list[LessonsDevice], carrier: MemoryCarrier, epoch: int, home_key: bytes
) -> None:
    """Whatever their key and its number are: a device that knows of neither revocation believes neither."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    forge(carrier, laptop, desktop, epoch=epoch, home_key=home_key)
    with pytest.raises(SyncError, match="have revoked each other"):
        await desktop.sync()
    await desktop.syncing.revoke(laptop.key.device)
    await sync_devices(desktop, server)
    assert departures(desktop) == departures(server) == {"laptop": Departure.REVOKED}


async def test_a_thief_does_not_win_by_a_key_that_everybody_gets(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Their document seals a key to the device that it revokes, so that it seems to oppose nobody."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    for epoch in (1, 2):
        forge(carrier, laptop, server, desktop, epoch=epoch, revoked=[server.key.device])
        with pytest.raises(SyncError, match="have revoked each other"):
            await desktop.sync()


async def test_a_thief_does_not_win_with_another_device(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """That joined with the key of the lost one, and that the revoking device has not met."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    thief = DeviceKey.new()
    own_key = HomeKey(key=HOME_KEY)
    carrier.files[introduction_name(thief.device)] = write_introduction("nas", own_key, thief)
    forge(carrier, thief, laptop, desktop, epoch=1)
    with pytest.raises(SyncError, match=r"(nas|server) and (nas|server) have revoked each other"):
        await desktop.sync()
    await desktop.syncing.revoke(thief.device)
    await sync_devices(desktop, server)
    assert set(departures(desktop)) == set(departures(server)) == {"laptop", "nas"}


async def test_a_person_revokes_a_thief_who_was_first(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """On a device that has not learned of it yet; the others ask a person."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    forge(carrier, laptop, desktop, epoch=1)
    await server.syncing.revoke(laptop.key.device)
    assert departures(server) == {"laptop": Departure.REVOKED}
    with pytest.raises(SyncError, match="have revoked each other"):
        await desktop.sync()


async def test_a_device_that_knew_first_goes_on_and_is_told_once(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """The status keeps it, as long as the document is there."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    await server.syncing.revoke(laptop.key.device)
    await sync_devices(desktop, server)
    forge(carrier, laptop, desktop, epoch=7)
    key = server.syncing.home_key
    [problem] = (await server.sync()).problems
    assert problem.startswith("laptop, which was revoked, has revoked this device too.")
    assert "if laptop is lost, there is nothing to do" in problem
    [problem] = (await desktop.sync()).problems
    assert problem.startswith("laptop, which was revoked, has revoked server too.")
    server.learn("Takes 60s")
    assert await sync_devices(server, desktop) == [[], []]
    assert desktop.text() == "Takes 60s"
    assert server.syncing.home_key == desktop.syncing.home_key == key
    assert disputes.notes(desktop.state) == [problem]
    for name in [name for name in carrier.files if name.startswith("keys/00000007")]:
        del carrier.files[name]
    await desktop.sync()
    assert disputes.notes(desktop.state) == []


async def test_two_devices_that_revoke_each_other_say_which_command_mends_it(
    devices: list[LessonsDevice], carrier: MemoryCarrier
) -> None:
    """Each goes on by itself, for each may be the one that is not lost."""
    laptop, server, _ = devices
    await sync_devices(*devices)
    await revoke_each_other(carrier, laptop, server)
    for device, other in ((laptop, server), (server, laptop)):
        [problem] = [each for each in (await device.sync()).problems if "leave --here" in each]
        assert problem.startswith(f"{other.name}, which was revoked, has revoked this device too")
        assert "`commonplace sync join` here, with the passphrase that you chose on" in problem


async def test_a_new_device_believes_who_gave_it_the_key(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """The passphrase opens the key of the one that is not lost, and a document of the thief changes nothing."""
    laptop, server, desktop = devices
    desktop.learn("Takes 60s")
    await sync_devices(*devices)
    forge(carrier, laptop, desktop, epoch=1)
    await server.syncing.revoke(laptop.key.device)
    with pytest.raises(SyncError, match="have revoked each other"):
        await desktop.sync()
    await desktop.syncing.revoke(laptop.key.device)
    await sync_devices(desktop, server)
    for giver in (server, desktop):
        nas = LessonsDevice(tmp_path, carrier, f"nas of {giver.name}", giver.syncing.home_key)
        devices.append(nas)
        await nas.sync()
        assert nas.text() == "Takes 60s"
        assert departures(nas) == {"laptop": Departure.REVOKED}


async def test_a_thief_cannot_change_the_document_of_an_earlier_key(
    devices: list[LessonsDevice], carrier: MemoryCarrier, tmp_path: Path
) -> None:
    """That the lost device made when it was not lost: a new device believes the newest one."""
    laptop, server, desktop = devices
    await sync_devices(*devices)
    old = LessonsDevice(tmp_path, carrier, "old", HOME_KEY)
    devices.append(old)
    await sync_devices(*devices)
    await laptop.syncing.revoke(old.key.device)
    await sync_devices(laptop, server, desktop)
    key = laptop.syncing.home_key
    await server.syncing.revoke(laptop.key.device)
    await sync_devices(server, desktop)
    forge(carrier, laptop, desktop, epoch=1, home_key=key)
    nas = LessonsDevice(tmp_path, carrier, "nas", server.syncing.home_key)
    devices.append(nas)
    await sync_devices(nas, server, desktop)
    server.learn("Takes 60s")
    await sync_devices(server, nas)
    assert nas.text() == "Takes 60s"
    assert departures(nas) == dict.fromkeys(("laptop", "old"), Departure.REVOKED)
