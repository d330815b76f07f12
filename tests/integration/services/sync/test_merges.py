"""Merges of projects on several devices that sync over a folder: the memories of all of them follow."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from support.database_stock import DatabaseStock
from support.git_repositories import clone, git, repository
from support.sync_devices import sync_all
from support.sync_projects import FACT, ProjectDevice, project_devices

pytestmark = pytest.mark.requirement("SYN-14.1")

OTHER_FACT = "The cache listens on 6379."


@pytest.fixture
async def devices(
    knowledge_databases: DatabaseStock, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[list[ProjectDevice]]:
    """Three devices, each with a home and a database of its own."""
    names = ("laptop", "desktop", "server")
    async with project_devices(knowledge_databases, engine, clock, tmp_path, names) as devices:
        yield devices


@pytest.fixture
def clones(tmp_path: Path) -> list[Path]:
    """A clone of one bare repository for each device."""
    repository(tmp_path / "first")
    git(tmp_path, "clone", "--bare", "first", "api.git")
    return [
        clone(tmp_path / "api.git", tmp_path / name / "api") for name in ("laptops", "desktops", "servers")
    ]


def butlers(devices: list[ProjectDevice], clones: list[Path]) -> set[str]:
    """Return the butlers of the sessions of all clones."""
    return {each.projects.butler_at(place) for each, place in zip(devices, clones, strict=True)}


async def butlers_of(devices: list[ProjectDevice], *episodes: UUID | None) -> set[str]:
    """Return the butlers of some episodes on all devices."""
    read = [await each.memories.knowledge.read("episode", str(key)) for each in devices for key in episodes]
    return {each.butler for each in read}


async def assert_same(*devices: ProjectDevice) -> None:
    """Fail unless the devices have the same memories and projects."""
    first, *others = [await each.replica.read() for each in devices]
    assert all(each == first for each in others)


async def test_a_merge_holds_on_every_device(
    devices: list[ProjectDevice], clones: list[Path], tmp_path: Path
) -> None:
    """A device that was away and still used the project brings its memories, and its sessions use the other project."""
    laptop, desktop, server = devices
    api = laptop.projects.at(clones[0]).id
    shop = laptop.projects.at(repository(tmp_path / "shop")).id
    assert await sync_all(*devices) == []
    assert butlers(devices, clones) == {api}

    memories = laptop.memories.knowledge, server.memories.knowledge
    early = await memories[0].store_episode(content="The laptop was moved.", butler=api)
    await laptop.merge(api, shop)
    late = await server.learn(clones[2])
    session = await memories[1].store_episode(content="The server was moved.", butler=api)
    assert await sync_all(laptop, desktop) == []
    assert desktop.projects.butler_at(clones[1]) == shop
    assert await sync_all(server, *devices) == []
    assert butlers(devices, clones) == {shop}
    assert {await each.scope(late) for each in devices} == {shop}
    assert await butlers_of(devices, early.id, session.id) == {shop}
    assert FACT in await desktop.briefing(clones[1])
    await assert_same(*devices)

    await desktop.unmerge(api, shop)
    assert await sync_all(*devices) == []
    assert butlers(devices, clones) == {api}
    assert {await each.scope(late) for each in devices} == {api}
    assert await butlers_of(devices, early.id, session.id) == {api}
    await assert_same(*devices)


async def test_two_devices_that_merge_in_opposite_directions_end_with_one_project(
    devices: list[ProjectDevice], clones: list[Path]
) -> None:
    """It is the same one on every device, and has the memories of both; one command separates them again."""
    laptop, desktop, server = devices
    facts = [await laptop.learn(clones[0]), await desktop.learn(clones[1], OTHER_FACT, subject="cache")]
    api, other = (each.projects.at(place).id for each, place in ((laptop, clones[0]), (desktop, clones[1])))
    assert await sync_all(*devices) == []
    await laptop.merge(api, other)
    await desktop.merge(other, api)
    assert await sync_all(*devices, rounds=4) == []
    owner, merged = sorted((api, other))
    assert {each.projects.scope_of(key) for each in devices for key in (api, other)} == {owner}
    assert {await each.scope(fact) for each in devices for fact in facts} == {owner}
    assert server.projects.butler_at(clones[2]) == owner
    await assert_same(*devices)

    await server.unmerge(merged, owner)
    assert await sync_all(*devices, rounds=4) == []
    assert {(each.projects.scope_of(api), each.projects.scope_of(other)) for each in devices} == {
        (api, other)
    }
    await assert_same(*devices)


async def test_the_later_of_two_merges_of_one_project_holds(
    devices: list[ProjectDevice], clones: list[Path], clock: ManualClock, tmp_path: Path
) -> None:
    """Its memories leave the other project again."""
    laptop, desktop, _ = devices
    fact = await laptop.learn(clones[0])
    api = laptop.projects.at(clones[0]).id
    shop, web = (laptop.projects.at(repository(tmp_path / name)).id for name in ("shop", "web"))
    assert await sync_all(*devices) == []
    await laptop.merge(api, shop)
    await laptop.sync()
    clock.advance(minutes=1)
    await desktop.merge(api, web)
    assert await sync_all(*devices, rounds=4) == []
    assert {each.projects.scope_of(api) for each in devices} == {web}
    assert {await each.scope(fact) for each in devices} == {web}
    await assert_same(*devices)


async def test_two_facts_of_one_key_in_merged_projects(
    devices: list[ProjectDevice], clones: list[Path], clock: ManualClock, tmp_path: Path
) -> None:
    """One of them holds on every device, though one device learned its fact after the merge."""
    laptop, desktop, server = devices
    api = laptop.projects.at(clones[0]).id
    shop = laptop.projects.at(repository(tmp_path / "shop")).id
    old = await laptop.learn(tmp_path / "shop")
    assert await sync_all(*devices) == []
    await laptop.merge(api, shop)
    clock.advance(minutes=1)
    new = await server.learn(clones[2], "The database listens on 5434.")
    assert await sync_all(desktop, laptop, server, rounds=4) == []
    for each in devices:
        facts = [await each.memories.knowledge.read("fact", key) for key in (old, new)]
        assert [fact.scope for fact in facts] == [shop, shop]
        assert [fact.validity for fact in facts] == ["superseded", "active"]
    await assert_same(*devices)


async def test_a_project_of_another_device_can_be_merged(
    devices: list[ProjectDevice], clones: list[Path]
) -> None:
    """Its sessions use the memory of the other project once their device has synced."""
    laptop, desktop, _ = devices
    await desktop.learn(clones[1])
    there = desktop.projects.at(clones[1]).id
    here = laptop.projects.at(clones[0]).id
    assert await sync_all(*devices) == []
    await laptop.merge(there, here)
    assert await sync_all(*devices) == []
    assert desktop.projects.butler_at(clones[1]) == here
    assert FACT in await laptop.briefing(clones[0])
    await assert_same(*devices)


async def test_nothing_new_is_nothing_after_a_merge(devices: list[ProjectDevice], clones: list[Path]) -> None:
    """A merge is done once, and then no device finds a change."""
    laptop, desktop, _ = devices
    there, here = desktop.projects.at(clones[1]).id, laptop.projects.at(clones[0]).id
    await sync_all(*devices)
    await laptop.merge(there, here)
    await sync_all(*devices)
    files = sorted(laptop.folder.rglob("*"))
    assert await sync_all(*devices) == []
    assert sorted(laptop.folder.rglob("*")) == files
