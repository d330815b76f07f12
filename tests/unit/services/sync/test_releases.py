"""Two releases in one home: files, kinds and fields that an older release does not know."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.services.sync import changes, device_files, sending
from commonplace.services.sync.changes import Change, Fields
from commonplace.services.sync.device_files import parse_name
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite
from support.sync_carriers import MemoryCarrier
from support.sync_lessons import Lessons, LessonsDevice, sync_devices

pytestmark = pytest.mark.requirement("SYN-03.1")

HOME_KEY = bytes(range(32))
LATER_KIND = "dream"
JELLYFIN: Key = (SyncKind.LESSON, "jellyfin")


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[list[LessonsDevice]]:
    """A laptop that was updated, and a desktop that was not."""
    carrier = MemoryCarrier()
    devices = [LessonsDevice(tmp_path, carrier, name, HOME_KEY) for name in ("laptop", "desktop")]
    yield devices
    for device in devices:
        device.state.close()


async def send_later_kind(laptop: LessonsDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a file with a change whose kind only a later release knows."""
    to_json = Change.to_json

    def write_later_file(*args: Any) -> bytes:  # noqa: ANN401 - those of the function that it wraps
        with monkeypatch.context() as patch:
            later = f'"{LATER_KIND}"'
            patch.setattr(Change, "to_json", lambda each: to_json(each).replace('"lesson"', later))
            return device_files.write_file(*args)

    with monkeypatch.context() as patch:
        patch.setattr(sending, "write_file", write_later_file)
        await laptop.sync()


async def test_a_file_with_a_later_kind_waits_for_an_update(
    devices: list[LessonsDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chain stops there, says what to do, and goes on after the update."""
    laptop, desktop = devices
    laptop.learn("one")
    await laptop.sync()
    laptop.learn("two")
    await send_later_kind(laptop, monkeypatch)
    laptop.learn("three", "plex")
    await laptop.sync()
    report = await desktop.sync()
    assert report.problems == [
        "laptop: its file 2 was written by a later release; update commonplace on this device"
    ]
    assert (desktop.text(), desktop.text("plex")) == ("one", None)
    desktop.learn("from the desktop", "nas")
    await sync_devices(desktop, laptop)
    assert laptop.text("nas") == "from the desktop"
    with monkeypatch.context() as patch:
        patch.setattr(
            changes, "SyncKind", lambda kind: SyncKind.LESSON if kind == LATER_KIND else SyncKind(kind)
        )
        assert (await desktop.sync()).problems == []
    assert (desktop.text(), desktop.text("plex")) == ("two", "three")


async def test_a_file_of_a_later_format_waits_for_an_update(
    devices: list[LessonsDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for a forged one."""
    laptop, desktop = devices
    later = device_files.MAGIC.replace(b"1", b"2")
    laptop.learn("one")
    with monkeypatch.context() as patch:
        patch.setattr(device_files, "MAGIC", later)
        await laptop.sync()
        body = next(body for name, body in laptop.carrier.files.items() if parse_name(name))  # type: ignore[attr-defined]
        assert body.startswith(later)
    assert (await desktop.sync()).problems == [
        "laptop: its file 1 was written by a later release; update commonplace on this device"
    ]
    with monkeypatch.context() as patch:
        patch.setattr(device_files, "MAGIC", later)
        assert (await desktop.sync()).problems == []
    assert desktop.text() == "one"


class OlderLessons(Lessons):
    """Lessons of a release that does not know the field ``mood``."""

    is_killed = False

    async def write_one(self, lesson: MemoryWrite) -> Fields | None:
        """Write a lesson without the field."""
        known = {name: value for name, value in (lesson.fields or {}).items() if name != "mood"}
        result = await super().write_one(replace(lesson, fields=known))
        if self.is_killed:
            raise KeyboardInterrupt
        return result


async def test_fields_of_a_later_release_travel_unharmed(devices: list[LessonsDevice]) -> None:
    """Also through an edit by a device that does not show them."""
    laptop, desktop = devices
    desktop.lessons = OlderLessons()
    laptop.lessons.put(JELLYFIN, {"text": "one", "confidence": 0.5, "mood": "curious"})
    await sync_devices(laptop, desktop, rounds=1)
    assert desktop.lessons.rows[JELLYFIN] == {"text": "one", "confidence": 0.5}
    assert not (await desktop.sync()).is_news
    desktop.lessons.put(JELLYFIN, {"text": "two", "confidence": 0.5})
    await sync_devices(desktop, laptop)
    assert laptop.lessons.rows[JELLYFIN] == {"text": "two", "confidence": 0.5, "mood": "curious"}


async def test_a_write_that_was_killed_is_no_edit_though_a_later_field_is_not_shown(
    devices: list[LessonsDevice],
) -> None:
    """The memory shows what was to be written, but for the field that this release does not know."""
    laptop, desktop = devices
    desktop.lessons = lessons = OlderLessons()
    laptop.lessons.put(JELLYFIN, {"text": "one", "confidence": 0.5, "mood": "curious"})
    await laptop.sync()
    lessons.is_killed = True
    with pytest.raises(KeyboardInterrupt):
        await desktop.sync()
    lessons.is_killed = False
    desktop.restart()
    report = await desktop.sync()
    assert (report.own_changes, report.problems) == (0, [])
    assert desktop.state.pending() == []
