"""Faults that a simulated year has shown: files that a target loses, acts after a kill, and wrong clocks."""

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.services.sync.device_files import parse_name
from commonplace.services.sync.erasures import Key
from commonplace.services.sync.introductions import introduction_name
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.syncing import FileLimits
from support.sync_year_devices import World, YearDevice
from support.sync_year_steps import KILL, Killed

pytestmark = pytest.mark.requirement("SYN-03.1")

HOME_KEY = bytes(range(32))
EPISODE: Key = (SyncKind.EPISODE, "0001")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A carrier and a clock."""
    return World(tmp_path, random.Random(0), FileLimits())  # noqa: S311 - a test


@pytest.fixture
def devices(world: World) -> Iterator[list[YearDevice]]:
    """Two devices of one home that have met."""
    devices = [YearDevice(world, name, HOME_KEY) for name in ("laptop", "server")]
    yield devices
    for device in devices:
        device.state.close()


def lesson(world: World, text: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - values of fields
    """Return the fields of a lesson that was just learned."""
    at = world.now.isoformat(timespec="microseconds")
    return {"text": text, "reinforced": 1, "created_at": at, "reinforced_at": at, **more}


def episode(world: World, days: int) -> dict[str, Any]:
    """Return the fields of an episode that expires."""
    ends = world.now + timedelta(days=days)
    return {"text": "We moved the server", "expires_at": ends.isoformat(timespec="microseconds")}


async def exchange(*devices: YearDevice) -> list[str]:
    """Sync until all have everything; return the problems of the last round."""
    problems: list[str] = []
    for _ in range(3):
        problems = [problem for device in devices for problem in (await device.sync()).problems]
    return problems


async def sync_killed_at(device: YearDevice, step: str, *, skip: int = 0) -> None:
    """Sync, and be killed when a step comes for the first time after some others of its name."""
    steps = device.world.steps
    reached = 0

    def kill(name: str) -> None:
        nonlocal reached
        reached += name == step
        if name == step and reached > skip:
            steps.arm(KILL, passed=set())
            steps.step(name)

    device.memories.step = kill
    with pytest.raises(Killed):
        await device.sync()
    device.memories.step = steps.step


async def test_a_file_that_the_target_loses_is_told_and_sent_again(
    world: World, devices: list[YearDevice]
) -> None:
    """By its device, with a snapshot: the others need not wait for a thousand changes."""
    laptop, server = devices
    for number in range(3):
        laptop.person.put((SyncKind.LESSON, str(number)), lesson(world, f"text {number}"))
        await laptop.sync()
    second = next(name for name in world.carrier.files if (file := parse_name(name)) and file.number == 2)
    del world.carrier.files[second]
    assert "laptop: its file 2 is missing" in (await server.sync()).problems
    assert (await laptop.sync()).problems == [
        "the target has lost files of this device (2); a snapshot replaces them"
    ]
    assert await exchange(server, laptop) == []
    assert server.memories.rows == laptop.memories.rows


async def test_an_introduction_that_the_target_loses_is_told_and_put_again(
    world: World, devices: list[YearDevice]
) -> None:
    """A device that joins meanwhile hears of it from another one, and has everything afterwards."""
    laptop, server = devices
    laptop.person.put((SyncKind.LESSON, "a"), lesson(world, "first"))
    await exchange(laptop, server)
    server.person.put((SyncKind.LESSON, "b"), lesson(world, "second"))
    await server.sync()
    del world.carrier.files[introduction_name(laptop.key.device)]
    desktop = YearDevice(world, "desktop", HOME_KEY)
    devices.append(desktop)
    problem = f"{laptop.key.device}: its introduction is missing, but another device has its files"
    assert problem in (await desktop.sync()).problems
    assert (await laptop.sync()).problems == [
        "the target has lost the introduction of this device, which is there again"
    ]
    assert await exchange(desktop, laptop, server) == []
    assert desktop.memories.rows == laptop.memories.rows


async def test_a_forged_file_is_told_though_the_good_one_is_there(
    world: World, devices: list[YearDevice]
) -> None:
    """The good one is taken."""
    laptop, server = devices
    laptop.person.put((SyncKind.LESSON, "a"), lesson(world, "first"))
    await laptop.sync()
    (file,) = filter(None, map(parse_name, world.carrier.files))
    world.carrier.changed[str(file._replace(digest="0" * 16))] = b"forged"
    assert (await server.sync()).problems == ["laptop: a second file 1 is forged or damaged"]
    assert server.memories.rows == laptop.memories.rows


async def test_what_a_person_forgets_after_a_kill_stays_forgotten(
    world: World, devices: list[YearDevice]
) -> None:
    """Though the sync had written it only just before."""
    laptop, server = devices
    for name in ("a", "b"):
        laptop.person.put((SyncKind.LESSON, name), lesson(world, name))
    await laptop.sync()
    await sync_killed_at(server, "memories.write, before", skip=1)
    server.person.forget((SyncKind.LESSON, "a"))
    assert await exchange(server, laptop) == []
    assert [sorted(name for _, name in each.memories.rows) for each in devices] == [["b"], ["b"]]


async def test_an_edit_after_a_kill_counts_nothing_twice(world: World, devices: list[YearDevice]) -> None:
    """It is one of the memory that the sync had written, not of an older one."""
    laptop, server = devices
    key: Key = (SyncKind.LESSON, "a")
    laptop.person.put(key, lesson(world, "Takes 60s"))
    await laptop.sync()
    await sync_killed_at(server, "memories.write, after")
    server.person.put(key, {**server.memories.rows[key], "text": "Takes 90s"})
    assert await exchange(server, laptop) == []
    for device in devices:
        assert (device.memories.rows[key]["text"], device.memories.rows[key]["reinforced"]) == (
            "Takes 90s",
            1,
        )


async def test_a_wrong_clock_takes_no_episode_from_others(world: World, devices: list[YearDevice]) -> None:
    """It is hidden where the clock is wrong, and back when the clock is right."""
    laptop, server = devices
    laptop.person.put(EPISODE, episode(world, days=30))
    await exchange(laptop, server)
    server.clock_error = timedelta(days=365)
    await exchange(server, laptop)
    assert laptop.memories.shown(EPISODE)
    assert server.memories.shown(EPISODE) is None
    server.clock_error = timedelta()
    await exchange(server, laptop)
    assert server.memories.shown(EPISODE) == laptop.memories.shown(EPISODE)
    assert not (await server.sync()).is_news


async def test_an_episode_that_was_forgotten_while_a_clock_was_wrong_stays_forgotten(
    world: World, devices: list[YearDevice]
) -> None:
    """Also on the device that did not show it then."""
    laptop, server = devices
    laptop.person.put(EPISODE, episode(world, days=30))
    await exchange(laptop, server)
    server.clock_error = timedelta(days=365)
    await exchange(server, laptop)
    laptop.person.forget(EPISODE)
    await exchange(laptop, server)
    server.clock_error = timedelta()
    await exchange(server, laptop)
    assert [each.memories.shown(EPISODE) for each in devices] == [None, None]


@pytest.mark.requirement("SYN-01.1")
async def test_a_new_name_of_an_entity_holds_though_another_device_adds_an_alias_later(
    world: World, devices: list[YearDevice]
) -> None:
    """The later change has not seen the new name, and says nothing against it."""
    laptop, server = devices
    key: Key = (SyncKind.ENTITY, "0001")
    anna = {
        "canonical_name": "Anna",
        "entity_type": "person",
        "aliases": [],
        "metadata": {},
        "merged_into": None,
    }
    laptop.person.put(key, anna)
    await exchange(laptop, server)
    laptop.person.put(key, {**anna, "canonical_name": "Anna Kern"})
    world.now += timedelta(hours=1)
    server.person.put(key, {**anna, "aliases": ["Annie"]})
    await exchange(server, laptop)
    for device in devices:
        row = device.memories.rows[key]
        assert (row["canonical_name"], row["aliases"]) == ("Anna Kern", ["Annie"])
