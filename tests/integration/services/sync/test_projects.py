"""Projects of two devices that sync over a folder: a clone has the memories of the project on the other device."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError
from commonplace.embedding import EmbeddingEngine
from commonplace.projects.identity import NAMELESS
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite
from support.commands import CommandLine, CommandServer, Done
from support.database_stock import DatabaseStock
from support.git_repositories import clone, git, repository
from support.sync_devices import sync_all
from support.sync_projects import FACT, ProjectDevice, project_devices

pytestmark = pytest.mark.requirement("SYN-10.1")

OTHER_FACT = "The cache listens on 6379."


@pytest.fixture
async def devices(
    knowledge_databases: DatabaseStock, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[list[ProjectDevice]]:
    """Two devices, each with a home and a database of its own."""
    names = ("laptop", "desktop")
    async with project_devices(knowledge_databases, engine, clock, tmp_path, names) as devices:
        yield devices


@pytest.fixture
def clones(tmp_path: Path) -> list[Path]:
    """Two clones of one bare repository, with another parent directory and another name."""
    repository(tmp_path / "first")
    git(tmp_path, "clone", "--bare", "first", "api.git")
    places = (tmp_path / "laptop-files/api", tmp_path / "desktop-files/src/backend")
    return [clone(tmp_path / "api.git", place) for place in places]


async def test_a_clone_has_the_memories_of_the_project_on_the_other_device(
    devices: list[ProjectDevice], clones: list[Path]
) -> None:
    """It gets the id and the name, and its sessions see the facts; what they add reaches the first device."""
    laptop, desktop = devices
    fact = await laptop.learn(clones[0])
    assert await sync_all(*devices) == []
    assert FACT in await desktop.briefing(clones[1])
    scope = laptop.projects.butler_at(clones[0])
    assert desktop.projects.butler_at(clones[1]) == await desktop.scope(fact) == scope
    assert desktop.projects.at(clones[1]).name == "api"
    await desktop.learn(clones[1], OTHER_FACT, subject="cache")
    assert await sync_all(*devices) == []
    assert OTHER_FACT in await laptop.briefing(clones[0])
    assert await laptop.replica.read() == await desktop.replica.read()


async def test_nothing_new_is_nothing(devices: list[ProjectDevice], clones: list[Path]) -> None:
    """The clone shows the same project, so neither device finds a change."""
    laptop, desktop = devices
    laptop.projects.at(clones[0])
    await sync_all(*devices)
    desktop.projects.at(clones[1])
    await sync_all(*devices)
    files = sorted(laptop.folder.rglob("*"))
    assert await sync_all(*devices) == []
    assert sorted(laptop.folder.rglob("*")) == files


async def test_a_rename_travels_and_the_latest_name_holds(
    devices: list[ProjectDevice], clones: list[Path], clock: ManualClock
) -> None:
    """Before and after the clone; two renames at once end with the later one."""
    laptop, desktop = devices
    key = laptop.projects.at(clones[0]).id
    await sync_all(*devices)
    laptop.projects.rename(key, "Billing")
    await sync_all(*devices)
    assert desktop.projects.elsewhere()[0].name == "Billing"
    assert desktop.projects.at(clones[1]).name == "Billing"
    desktop.projects.rename(key, "Payments")
    await sync_all(*devices)
    assert laptop.projects.get(key).name == "Payments"
    laptop.projects.rename(key, "Early")
    await laptop.sync()
    clock.advance(minutes=1)
    desktop.projects.rename(key, "Late")
    assert await sync_all(*devices) == []
    assert [each.names() for each in devices] == [{key: "Late"}] * 2


async def test_two_ids_of_one_repository_wait_for_a_person(
    devices: list[ProjectDevice], clones: list[Path], command_server: CommandServer
) -> None:
    """Each device names the other project; a merge by command shares its memory everywhere, and can be undone."""
    laptop, desktop = devices
    old = await laptop.learn(clones[0])
    new = await desktop.learn(clones[1], OTHER_FACT, subject="cache")
    one, other = (each.projects.at(place) for each, place in zip(devices, clones, strict=True))
    assert await sync_all(*devices) == []
    assert (laptop.projects.at(clones[0]).looks_like, desktop.projects.at(clones[1]).looks_like) == (
        (other.id,),
        (one.id,),
    )
    assert (await desktop.scope(old), await desktop.scope(new)) == (one.id, other.id)
    assert FACT not in await desktop.briefing(clones[1])

    def commonplace(*arguments: str) -> Done:
        command = CommandLine(clones[1], desktop.settings.home, command_server)
        return command("project", *arguments, COMMONPLACE_POSTGRES_URL=desktop.settings.postgres_url or "")

    (line,) = (each for each in commonplace("list").out.splitlines() if "on another device" in each)
    assert one.id in line
    listed = commonplace("list", "--json").json
    assert [each["id"] for each in listed["projects"]] == [other.id]
    assert [each["id"] for each in listed["elsewhere"]] == [one.id]
    shown = commonplace("show").out
    assert "looks like api on another device" in shown
    assert f"commonplace project merge {other.id} {one.id}" in shown

    merged = commonplace("merge", other.id, one.id)
    assert (merged.status, merged.err) == (0, "")
    assert f"uses the memory of {one.id}" in commonplace("show").out
    assert await sync_all(*devices) == []
    assert await laptop.scope(new) == one.id
    assert laptop.names() == desktop.names() == {one.id: "api", other.id: "backend"}
    assert laptop.projects.at(clones[0]).looks_like == ()
    assert laptop.projects.scope_of(other.id) == one.id
    assert OTHER_FACT in await laptop.briefing(clones[0])

    undone = commonplace("unmerge", other.id)
    assert (undone.status, undone.err) == (0, "")
    assert await sync_all(*devices) == []
    assert await laptop.scope(new) == other.id
    assert laptop.names() == desktop.names() == {one.id: "api", other.id: "backend"}


async def test_a_project_that_is_off_on_one_device_stays_on_the_other(
    devices: list[ProjectDevice], clones: list[Path]
) -> None:
    """A device that only knows of it forgets it, until it is on again."""
    laptop, desktop = devices
    key = laptop.projects.at(clones[0]).id
    other = laptop.projects.at(repository(clones[0].parent / "other")).id
    await sync_all(*devices)
    desktop.projects.at(clones[1])
    for name in ("api", "other"):
        laptop.projects.switch(clones[0].parent / name, is_off=True)
    assert await sync_all(*devices) == []
    assert (laptop.names(), set(desktop.names())) == ({}, {key})
    for name in ("api", "other"):
        laptop.projects.switch(clones[0].parent / name, is_off=False)
    assert await sync_all(*devices) == []
    assert laptop.names() == desktop.names()
    assert set(laptop.names()) == {key, other}


async def test_what_changes_during_a_sync_is_not_overwritten(
    devices: list[ProjectDevice], clones: list[Path]
) -> None:
    """A write of something that was not seen is refused."""
    laptop, _ = devices
    key = (SyncKind.PROJECT, laptop.projects.at(clones[0]).id)
    seen = (await laptop.replica.read())[key]
    laptop.projects.rename(key[1], "Billing")
    for fields in ({**seen, "name": "Shop"}, None):
        (result,) = await laptop.replica.write([MemoryWrite(key=key, fields=fields, seen=seen)])
        assert isinstance(result, ConflictError)
    assert laptop.projects.get(key[1]).name == "Billing"


async def test_an_erasure_removes_the_names(devices: list[ProjectDevice], clones: list[Path]) -> None:
    """Of projects only; their ids stay."""
    laptop, desktop = devices
    key = laptop.projects.at(clones[0]).id
    await sync_all(*devices)
    await desktop.replica.erase([(SyncKind.PROJECT, key)])
    assert desktop.projects.elsewhere() == []
    await laptop.replica.erase([(SyncKind.PROJECT, key)])
    assert laptop.names() == {key: NAMELESS}
