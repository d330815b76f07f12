"""Two homes that share all their memories over a target."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from commonplace.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageUnavailableError,
    SyncError,
)
from commonplace.core.settings import Settings
from commonplace.knowledge import Validity
from commonplace.projects import Projects
from commonplace.services.erasure.erasing import preview, whole_tenant
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.opening import Memories
from commonplace.services.sync.background import sync_in_background
from commonplace.services.sync.carriers.targets import SyncTarget
from commonplace.services.sync.erasing import erase_everywhere
from commonplace.services.sync.home import (
    FOLDER,
    JOINING,
    SyncedHome,
    create_home,
    is_synced,
    join_home,
)
from commonplace.services.sync.state import FILE
from commonplace.services.sync.status import SyncStatus
from commonplace.services.sync.syncing import SyncReport
from support.database_stock import DatabaseStock
from support.git_repositories import clone, repository
from support.service import open_memories

pytestmark = pytest.mark.requirement("SYN-11.1")

PASSPHRASE = "correct horse battery staple"


class Home:
    """A home with four memories."""

    def __init__(self, settings: Settings, memories: Memories) -> None:
        self.settings = settings
        self.memories = memories

    async def sync(self, *, deletes_many: bool = False) -> SyncReport:
        """Sync once."""
        async with SyncedHome.open(self.settings) as home:
            return await home.sync(deletes_many=deletes_many, knowledge=self.memories.knowledge)

    async def status(self) -> SyncStatus:
        """The state of sync, for people."""
        async with SyncedHome.open(self.settings) as home:
            return home.status()

    async def leave(self) -> None:
        """Leave the target."""
        async with SyncedHome.open(self.settings) as home:
            await home.leave()

    @property
    def projects(self) -> Projects:
        """The projects of the home."""
        return Projects(self.settings.home)

    async def learn(self, directory: Path, content: str) -> None:
        """Store a fact for the project of a directory."""
        scope = self.projects.butler_at(directory)
        await self.memories.knowledge.store_fact(
            subject="staging", predicate=content, content=content, scope=scope
        )

    async def scopes(self) -> set[str]:
        """The scopes of the current facts."""
        return {each.scope for each in await self.memories.knowledge.lists.facts(validity=Validity.ACTIVE)}

    async def facts(self) -> list[str]:
        """The texts of the current facts."""
        listed = await self.memories.knowledge.lists.facts(validity=Validity.ACTIVE)
        return sorted(each.content for each in listed)


@pytest.fixture
async def homes(knowledge_databases: DatabaseStock, tmp_path: Path) -> AsyncIterator[list[Home]]:
    """Two homes."""
    async with AsyncExitStack() as stack:
        made: list[Home] = []
        for name in ("laptop", "server"):
            database = await stack.enter_async_context(knowledge_databases.lend())
            settings = Settings(home=tmp_path / name, workspace=tmp_path, postgres_url=database.url)
            made.append(Home(settings, await stack.enter_async_context(open_memories(settings))))
        yield made


@pytest.fixture
def target(tmp_path: Path) -> SyncTarget:
    """A folder."""
    return SyncTarget(address=str(tmp_path / "carried"))


async def shared(homes: list[Home], target: SyncTarget) -> None:
    """Begin a home at the target, and join it."""
    first, *others = homes
    await create_home(first.settings, target, passphrase=PASSPHRASE, name="laptop")
    for other in others:
        await join_home(other.settings, target, passphrase=PASSPHRASE, name="server")


async def test_all_memories_of_both_homes_are_joined(homes: list[Home], target: SyncTarget) -> None:
    """Those that were there before, too."""
    laptop, server = homes
    await laptop.memories.knowledge.store_fact(subject="Anna", predicate="city", content="Munich")
    await server.memories.operational.add(category="timing", observation="Takes 60s", service="jellyfin")
    await shared(homes, target)
    for home in (laptop, server, laptop):
        assert not (await home.sync()).problems
    for home in homes:
        assert await home.facts() == ["Munich"]
        (lesson,) = await home.memories.operational.list_memories()
        assert lesson.observation == "Takes 60s"
    status = await laptop.status()
    assert [each.name for each in status.devices] in (["laptop", "server"], ["server", "laptop"])
    assert (status.is_waiting, status.unwritten, status.last and list(status.last.problems)) == (False, 0, [])


async def test_a_sync_with_nothing_new_writes_nothing(homes: list[Home], target: SyncTarget) -> None:
    """Neither here nor at the target."""
    await homes[0].memories.knowledge.store_fact(subject="Anna", predicate="city", content="Munich")
    await shared(homes, target)
    for home in (*homes, *homes):
        await home.sync()
    folders = [Path(target.address), *(home.settings.home / FOLDER for home in homes)]

    def contents() -> dict[Path, bytes]:
        return {
            path: path.read_bytes()
            for folder in folders
            for path in folder.rglob("*")
            if path.is_file() and not path.name.endswith("-shm")
        }

    before = contents()
    for home in homes:
        assert not (await home.sync()).is_news
    assert contents() == before


async def test_memories_follow_a_merge_with_the_sync_that_brings_it(
    homes: list[Home], target: SyncTarget, tmp_path: Path
) -> None:
    """Also those that were learned meanwhile on the device that did not know of the merge."""
    laptop, server = homes
    projects = Projects(laptop.settings.home)
    api, shop = (projects.at(repository(tmp_path / name)).id for name in ("api", "shop"))
    await shared(homes, target)
    for home in homes:
        await home.sync()
    projects.set_merged(api, shop)
    await laptop.sync()
    knowledge = server.memories.knowledge
    fact = await knowledge.store_fact(subject="Anna", predicate="city", content="Munich", scope=api)
    await server.sync()
    (listed,) = await knowledge.lists.facts(validity=Validity.ACTIVE)
    assert (listed.id, listed.scope) == (fact.id, shop)
    assert Projects(server.settings.home).scope_of(api) == shop


async def test_a_home_belongs_to_one_target(homes: list[Home], target: SyncTarget, tmp_path: Path) -> None:
    """And a target has one home, which its passphrase opens."""
    laptop, server = homes
    with pytest.raises(NotFoundError):
        await join_home(laptop.settings, target, passphrase=PASSPHRASE, name="laptop")
    with pytest.raises(InvalidInputError, match="12 characters"):
        await create_home(laptop.settings, target, passphrase="short", name="laptop")
    await create_home(laptop.settings, target, passphrase=PASSPHRASE, name="laptop")
    other = SyncTarget(address=str(tmp_path / "other"))
    with pytest.raises(ConflictError, match="syncs already"):
        await create_home(laptop.settings, other, passphrase=PASSPHRASE, name="laptop")
    with pytest.raises(ConflictError, match="sync join"):
        await create_home(server.settings, target, passphrase=PASSPHRASE, name="server")
    with pytest.raises(InvalidInputError, match="passphrase"):
        await join_home(server.settings, target, passphrase="another passphrase", name="server")
    assert not is_synced(server.settings.home)
    with pytest.raises(SyncError, match="does not sync"):
        await server.sync()


async def test_a_home_that_left_keeps_its_memories(homes: list[Home], target: SyncTarget) -> None:
    """And can join again."""
    laptop, server = homes
    await laptop.memories.knowledge.store_fact(subject="Anna", predicate="city", content="Munich")
    await shared(homes, target)
    for home in (*homes, *homes):
        await home.sync()
    await server.leave()
    assert not is_synced(server.settings.home)
    assert await server.facts() == ["Munich"]
    await server.memories.knowledge.store_fact(subject="Anna", predicate="job", content="Nurse")
    await join_home(server.settings, target, passphrase=PASSPHRASE, name="server again")
    for home in (server, laptop, server):
        assert not (await home.sync()).problems
    for home in homes:
        assert await home.facts() == ["Munich", "Nurse"]


async def test_a_lost_database_deletes_nothing_elsewhere(homes: list[Home], target: SyncTarget) -> None:
    """The sync asks, because most memories are gone; a person can say that they were deleted."""
    laptop, server = homes
    knowledge = laptop.memories.knowledge
    for number in range(30):
        await knowledge.store_fact(subject=f"Host {number}", predicate="port", content=f"80{number}")
    await shared(homes, target)
    for home in (*homes, *homes):
        await home.sync()
    for fact in await knowledge.lists.facts(limit=50):
        await knowledge.forget("fact", fact.id)
    with pytest.raises(SyncError, match="30 of 30 memories are gone"):
        await laptop.sync()
    await server.sync()
    assert len(await server.facts()) == 30
    assert (await laptop.sync(deletes_many=True)).own_changes == 30
    assert (await server.sync()).memories == 30
    assert await server.facts() == []


def put_away(target: SyncTarget) -> None:
    """Put a file in the place of the folder."""
    carried = Path(target.address)
    carried.rename(carried.with_name("away"))
    carried.write_text("no folder")


def put_back(target: SyncTarget) -> None:
    """Put the folder back."""
    carried = Path(target.address)
    carried.unlink()
    carried.with_name("away").rename(carried)


async def test_a_target_that_cannot_be_reached(
    homes: list[Home], target: SyncTarget, caplog: pytest.LogCaptureFixture
) -> None:
    """New memories wait, and a session in the background goes on."""
    laptop, server = homes
    await shared(homes, target)
    await laptop.sync()
    put_away(target)
    await laptop.memories.knowledge.store_fact(subject="Anna", predicate="city", content="Munich")
    with pytest.raises(StorageUnavailableError):
        await laptop.sync()
    with caplog.at_level(logging.INFO):
        await sync_in_background(laptop.settings, laptop.memories.knowledge)
    assert "not synced" in caplog.text
    failure = (await laptop.status()).failure
    assert failure is not None
    assert "Not a directory" in failure.error
    put_back(target)
    await sync_in_background(laptop.settings, laptop.memories.knowledge)
    assert (await laptop.status()).failure is None
    await server.sync()
    assert await server.facts() == ["Munich"]


async def test_a_lost_device_is_refused(homes: list[Home], target: SyncTarget) -> None:
    """From then on; the others go on, and new ones join with the new passphrase."""
    laptop, server = homes
    await shared(homes, target)
    for home in (*homes, *homes):
        await home.sync()
    async with SyncedHome.open(laptop.settings) as home:
        with pytest.raises(NotFoundError):
            await home.revoke("phone", passphrase="another good passphrase")
        gone = await home.revoke("server", passphrase="another good passphrase")
    assert gone.name == "server"
    await server.memories.knowledge.store_fact(subject="Anna", predicate="city", content="Forged")
    with pytest.raises(SyncError, match="revoked"):
        await server.sync()
    await laptop.sync()
    assert await laptop.facts() == []
    async with SyncedHome.open(server.settings) as home:
        await home.leave(only_here=True)
    with pytest.raises(InvalidInputError, match="passphrase"):
        await join_home(server.settings, target, passphrase=PASSPHRASE, name="server")
    await join_home(server.settings, target, passphrase="another good passphrase", name="server again")
    for home in (server, laptop, server):
        await home.sync()
    assert await laptop.facts() == ["Forged"]


async def test_an_erasure_reaches_every_device(homes: list[Home], target: SyncTarget) -> None:
    """Nothing of the text stays in a home or at the target, forgotten memories included."""
    laptop, server = homes
    text = "Anna keeps the spare key under the third stone"
    fact = await laptop.memories.knowledge.store_fact(subject="Anna", predicate="key", content=text)
    await laptop.memories.operational.add(category="behavior", observation=f"{text}, says the door")
    await shared(homes, target)
    for home in (*homes, *homes):
        await home.sync()
    await server.memories.knowledge.forget("fact", fact.id)
    selection = Selection(by=By.SUBJECT, value="third stone")
    receipt = await erase_everywhere(laptop.settings, selection)
    assert not receipt.remains
    for home in (laptop, server, laptop, server):
        assert not (await home.sync()).problems
    assert not (await preview(server.settings, selection)).parts
    for home in homes:
        (erasure,) = (await home.status()).erasures
        assert (erasure.count, erasure.waiting) == (2, frozenset())
        for path in home.settings.home.rglob("*"):
            if path.is_file() and "postgres" not in path.parts:
                assert b"third stone" not in path.read_bytes(), path


async def test_a_home_that_does_not_sync_is_left_alone(homes: list[Home]) -> None:
    """In the background, nothing is made for it."""
    await sync_in_background(homes[0].settings)
    assert not (homes[0].settings.home / FOLDER).exists()


async def test_others_cannot_read_the_state(homes: list[Home], target: SyncTarget) -> None:
    """It has the key of the home."""
    await shared(homes, target)
    file = homes[0].settings.home / FOLDER / FILE
    assert mode_of(file) == 0o600


def mode_of(file: Path) -> int:
    """The permissions of a file."""
    return file.stat().st_mode & 0o777


async def test_a_join_that_failed_can_be_repeated(homes: list[Home], target: SyncTarget) -> None:
    """A target that went away in the middle, or a kill, leaves no home that neither syncs nor can join."""
    laptop, server = homes
    await create_home(laptop.settings, target, passphrase=PASSPHRASE, name="laptop")
    spoil(target)
    with pytest.raises(StorageUnavailableError):
        await join_home(server.settings, target, passphrase=PASSPHRASE, name="server")
    assert not is_synced(server.settings.home)
    mend(target)
    await join_home(server.settings, target, passphrase=PASSPHRASE, name="server")
    assert not (await server.sync()).problems
    assert not (server.settings.home / JOINING).exists()


def spoil(target: SyncTarget) -> None:
    """Put a file in the place of the folder with introductions."""
    devices = Path(target.address) / "devices"
    devices.rename(devices.with_name("aside"))
    devices.write_text("no folder")


def mend(target: SyncTarget) -> None:
    """Put the folder back."""
    devices = Path(target.address) / "devices"
    devices.unlink()
    devices.with_name("aside").rename(devices)


def test_an_erasure_of_the_default_tenant_is_one_of_the_installation() -> None:
    """So it reaches the other devices; that of another tenant does not."""
    assert whole_tenant("default").is_of_installation
    assert not whole_tenant("other").is_of_installation
    assert Selection(by=By.SUBJECT, value="Ada").is_of_installation


@pytest.fixture
def clones(tmp_path: Path) -> list[Path]:
    """A clone of one repository for each home."""
    origin = repository(tmp_path / "origin")
    return [
        clone(origin, tmp_path / name, remote="https://example.com/shop.git") for name in ("one", "other")
    ]


@pytest.mark.requirement("SYN-10.1")
async def test_a_clone_without_memories_uses_its_project_on_the_other_device(
    homes: list[Home], target: SyncTarget, clones: list[Path]
) -> None:
    """Though its first session began before the sync; what a server of that session still stores moves too."""
    laptop, server = homes
    await shared(homes, target)
    await laptop.learn(clones[0], "The infra team owns it")
    own = server.projects.butler_at(clones[1])
    for home in (laptop, server):
        await home.sync()
    project = laptop.projects.butler_at(clones[0])
    assert server.projects.butler_at(clones[1]) == project != own
    await server.memories.knowledge.store_fact(
        subject="staging", predicate="port", content="It listens on 5433", scope=own
    )
    for home in (server, server, laptop):
        assert not (await home.sync()).problems
    assert await laptop.facts() == await server.facts() == ["It listens on 5433", "The infra team owns it"]
    assert await laptop.scopes() == await server.scopes() == {project}
    assert [each.id for each in laptop.projects.shared() if each.merged_into is None] == [project]


@pytest.mark.requirement("SYN-10.1")
async def test_two_clones_without_memories_agree_on_one_id(
    homes: list[Home], target: SyncTarget, clones: list[Path]
) -> None:
    """Whichever device syncs first; the smaller id stays."""
    laptop, server = homes
    await shared(homes, target)
    ids = [home.projects.butler_at(place) for home, place in zip(homes, clones, strict=True)]
    for home in (laptop, server, laptop, server):
        assert not (await home.sync()).problems
    assert [home.projects.butler_at(place) for home, place in zip(homes, clones, strict=True)] == [
        min(ids)
    ] * 2


@pytest.mark.requirement("SYN-10.1")
async def test_a_clone_with_memories_waits_for_a_person(
    homes: list[Home], target: SyncTarget, clones: list[Path]
) -> None:
    """And one that a person has separated stays so."""
    laptop, server = homes
    await shared(homes, target)
    await laptop.learn(clones[0], "The infra team owns it")
    await server.learn(clones[1], "It listens on 5433")
    for home in (laptop, server, laptop):
        await home.sync()
    own = server.projects.butler_at(clones[1])
    assert own != laptop.projects.butler_at(clones[0])
    for fact in await server.memories.knowledge.lists.facts(validity=Validity.ACTIVE):
        if fact.scope == own:
            await server.memories.knowledge.forget("fact", fact.id)
    await server.sync()
    assert server.projects.butler_at(clones[1]) == own
