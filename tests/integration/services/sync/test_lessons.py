"""Lessons and digests of devices that sync over a folder."""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from commonplace.apps import AppMemory, Digest
from commonplace.core.clock import ManualClock, format_timestamp
from commonplace.core.settings import Settings
from commonplace.operational import Lesson, OperationalMemory
from commonplace.services.sync.replicas.home import digests_replica, lessons_replica
from support.database_stock import DatabaseStock
from support.streams import chunks, session
from support.sync_devices import SyncedDevice, sync_all

pytestmark = pytest.mark.requirement("SYN-05.1")

SLOW = "Takes 60s to start"


class LessonDevice(SyncedDevice):
    """A device with operational memory."""

    memory: OperationalMemory
    sessions = 0

    async def learn(self, text: str, *, service: str = "jellyfin") -> None:
        """Read a marker of a session of its own, as an agent prints it."""
        self.sessions += 1
        said = session(f"[MEMORY:timing:{service}] {text}", session_id=f"{self.name}-{self.sessions}")
        await self.memory.ingest(chunks(said))

    async def lessons(self) -> list[Lesson]:
        """All lessons, by text."""
        return sorted(await self.memory.list_memories(), key=lambda each: each.observation)

    async def only(self) -> Lesson:
        """The only lesson."""
        (lesson,) = await self.lessons()
        return lesson

    async def state(self) -> list[tuple[str, float, bool]]:
        """Text, confidence and activity of all lessons."""
        return [(each.observation, each.confidence, each.active) for each in await self.lessons()]


class DigestDevice(SyncedDevice):
    """A device with app memory."""

    memory: AppMemory

    async def store(self, conversation: str | None, text: str, clock: ManualClock) -> None:
        """Store a digest of an app."""
        await self.memory.registry.register("cal", name="Calendar")
        document = {
            "memories": [
                {
                    "content": text,
                    "createdAt": format_timestamp(clock()),
                    "updatedAt": format_timestamp(clock()),
                    "userId": None,
                    "sourceConversationId": conversation,
                    "metadata": {"importance": 7.0},
                }
            ]
        }
        receipt = await self.memory.import_document("cal", document)
        assert len(receipt.added) == 1

    async def texts(self) -> list[str]:
        """The texts of all digests."""
        return sorted(each.content for each in (await self.memory.export("cal")).memories)


@pytest.fixture(params=["sqlite", "postgresql"])
async def devices(
    request: pytest.FixtureRequest,
    operational_databases: DatabaseStock,
    clock: ManualClock,
    tmp_path: Path,
) -> AsyncIterator[list[LessonDevice]]:
    """Two devices."""
    async with AsyncExitStack() as stack:
        made: list[LessonDevice] = []
        for name in ("laptop", "server"):
            url = ""
            if request.param == "postgresql":
                url = (await stack.enter_async_context(operational_databases.lend())).url
            settings = Settings(home=tmp_path / name, workspace=tmp_path, database=url)
            memory = await stack.enter_async_context(OperationalMemory.open(settings, clock=clock))
            device = LessonDevice(
                tmp_path / "carried", tmp_path, lessons_replica(memory, settings), name, clock
            )
            device.memory = memory
            stack.callback(device.close)
            made.append(device)
        yield made


@pytest.fixture
async def apps(clock: ManualClock, tmp_path: Path) -> AsyncIterator[list[DigestDevice]]:
    """Two devices."""
    async with AsyncExitStack() as stack:
        made: list[DigestDevice] = []
        for name in ("laptop", "server"):
            settings = Settings(home=tmp_path / name, workspace=tmp_path)
            memory = await stack.enter_async_context(AppMemory.open(settings, clock=clock))
            device = DigestDevice(
                tmp_path / "carried", tmp_path, digests_replica(memory, settings), name, clock
            )
            device.memory = memory
            stack.callback(device.close)
            made.append(device)
        yield made


async def test_what_one_learns_the_other_knows(devices: list[LessonDevice], clock: ManualClock) -> None:
    """With its confidence and its times; and the history says where it came from."""
    laptop, server = devices
    await laptop.learn(SLOW)
    clock.advance(days=2)
    await sync_all(laptop, server)
    here, there = await laptop.only(), await server.only()
    assert (there.observation, there.service, there.category, there.confidence) == (
        here.observation,
        "jellyfin",
        here.category,
        here.confidence,
    )
    assert (there.created_at, there.updated_at) == (here.created_at, here.updated_at)
    assert {each.actor for each in await server.memory.history(there.id)} == {"sync:laptop"}
    assert await laptop.replica.read() == await server.replica.read()


async def test_two_that_learn_the_same_have_one_lesson(devices: list[LessonDevice]) -> None:
    """Each learned it by itself."""
    for device in devices:
        await device.learn(SLOW)
    await sync_all(*devices)
    for device in devices:
        assert (await device.only()).observation == SLOW


async def test_reinforcements_add_up(devices: list[LessonDevice], clock: ManualClock) -> None:
    """Of both devices, at once."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    clock.advance(hours=1)
    for device in devices:
        await device.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.only()).confidence == pytest.approx(0.9)
    clock.advance(hours=1)
    await server.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.only()).confidence == pytest.approx(1.0)


async def test_an_edit_keeps_the_lesson(devices: list[LessonDevice], clock: ManualClock) -> None:
    """Though the other device reinforced the old text later; both texts are wordings."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    clock.advance(hours=1)
    await laptop.memory.edit([(await laptop.only()).id], observation="Takes 90s to start")
    clock.advance(hours=1)
    await server.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        lesson = await device.only()
        assert (lesson.observation, lesson.confidence) == ("Takes 90s to start", pytest.approx(0.8))
        assert {each.text for each in await device.memory.wordings.list(lesson.id)} == {
            SLOW,
            "Takes 90s to start",
        }


async def test_two_edits_at_once(devices: list[LessonDevice], clock: ManualClock) -> None:
    """The later one holds, and the other one is a wording on both devices."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    for device, text in ((laptop, "Takes 90s to start"), (server, "Takes 2 min to start")):
        clock.advance(hours=1)
        await device.memory.edit([(await device.only()).id], observation=text)
    await sync_all(laptop, server)
    for device in devices:
        lesson = await device.only()
        assert lesson.observation == "Takes 2 min to start"
        wordings = await device.memory.wordings.list(lesson.id)
        assert "Takes 90s to start" in {each.text for each in wordings}


async def test_a_correction_is_marked_everywhere(devices: list[LessonDevice], clock: ManualClock) -> None:
    """The block of the other device says so, too."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    clock.advance(hours=1)
    await laptop.learn("Takes 90s to start (was: Takes 60s to)")
    await sync_all(laptop, server, rounds=4)
    assert await laptop.state() == await server.state()
    blocks = [(await device.memory.context()).text for device in devices]
    assert "contradicted later" in blocks[0]
    assert blocks[0] == blocks[1]


async def test_decay_is_no_change(devices: list[LessonDevice], clock: ManualClock) -> None:
    """Each device charges it by itself, also until a lesson is inactive; nothing travels."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await laptop.learn("Listens on 8096", service="nginx")
    (lesson,) = [each for each in await laptop.lessons() if each.service == "nginx"]
    await laptop.memory.edit([lesson.id], confidence=0.45)
    await sync_all(laptop, server)
    carried = sorted(laptop.folder.rglob("*"))
    for _ in range(4):
        clock.advance(days=25)
        await laptop.memory.upkeep.decay()
        await sync_all(laptop, server)
    await server.memory.upkeep.decay()
    await sync_all(laptop, server)
    assert sorted(laptop.folder.rglob("*")) == carried
    for device in devices:
        assert not any(each.active for each in await device.lessons())


async def test_a_reinforced_lesson_is_fresh_everywhere(
    devices: list[LessonDevice], clock: ManualClock
) -> None:
    """Its decay begins anew on the device that did not see it."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    clock.advance(days=45)
    for device in devices:
        await device.memory.upkeep.decay()
    await server.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.only()).updated_at == clock()
    assert await laptop.state() == await server.state()


async def test_a_deleted_lesson_stays_deleted(devices: list[LessonDevice], clock: ManualClock) -> None:
    """Though the other device reinforced it meanwhile; learned again, it is back."""
    laptop, server = devices
    await laptop.learn(SLOW)
    await sync_all(laptop, server)
    await laptop.memory.delete([(await laptop.only()).id])
    clock.advance(hours=1)
    await server.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        assert await device.lessons() == []
    await server.learn(SLOW)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.only()).observation == SLOW


@pytest.mark.parametrize("seed", range(12))
async def test_devices_with_the_same_changes_have_the_same_lessons(
    devices: list[LessonDevice], clock: ManualClock, seed: int
) -> None:
    """After a random history."""
    chance = random.Random(seed)  # noqa: S311 - a history that can be repeated
    for _ in range(25):
        clock.advance(hours=chance.randint(1, 400))
        await act(chance, chance.choice(devices))
    for device in devices:
        await device.memory.upkeep.decay()
    await sync_all(*devices, rounds=5)
    first, second = [await device.replica.read() for device in devices]
    assert first == second
    assert await active(devices[0]) == await active(devices[1])


async def active(device: LessonDevice) -> list[tuple[str, float]]:
    """Text and confidence of the lessons that an agent may see."""
    return [(text, confidence) for text, confidence, is_active in await device.state() if is_active]


async def act(chance: random.Random, device: LessonDevice) -> None:
    """Do one thing on a device, if what it needs is there."""
    lessons = await device.lessons()
    text = f"Takes {chance.randint(1, 3)}0s to start"
    lesson = chance.choice(lessons).id if lessons else None
    match chance.choice(("learn", "learn", "learn", "edit", "trust", "delete", "decay", "sync", "sync")):
        case "learn":
            await device.learn(text, service=chance.choice(("jellyfin", "nginx")))
        case "edit" if lesson:
            await device.memory.edit([lesson], observation=f"Edited: takes {chance.randint(1, 99)}s")
        case "trust" if lesson:
            await device.memory.edit([lesson], confidence=chance.choice((0.2, 0.45, 0.7, 1.0)))
        case "delete" if lesson:
            await device.memory.delete([lesson])
        case "decay":
            await device.memory.upkeep.decay()
        case "sync":
            await device.sync()


async def of_text(device: DigestDevice, text: str) -> Digest:
    """The digest with a text."""
    (digest,) = [each for each in (await device.memory.export("cal")).memories if each.content == text]
    return digest


async def test_digests_travel(apps: list[DigestDevice], clock: ManualClock) -> None:
    """With their app; the latest text holds, and a deleted one is gone."""
    laptop, server = apps
    await laptop.store("c-1", "Likes short meetings.", clock)
    await laptop.store(None, "Works from Munich.", clock)
    await sync_all(laptop, server)
    assert await server.texts() == ["Likes short meetings.", "Works from Munich."]
    assert (await server.memory.registry.get("cal")).name == "Calendar"
    assert await laptop.replica.read() == await server.replica.read()
    await server.memory.edit(
        (await of_text(server, "Likes short meetings.")).id, "Likes meetings of 15 minutes."
    )
    await sync_all(laptop, server)
    assert await laptop.texts() == ["Likes meetings of 15 minutes.", "Works from Munich."]
    await laptop.memory.delete((await of_text(laptop, "Likes meetings of 15 minutes.")).id)
    await sync_all(laptop, server)
    assert await server.texts() == ["Works from Munich."]


async def test_one_conversation_has_one_digest(apps: list[DigestDevice], clock: ManualClock) -> None:
    """Though both devices digested it."""
    laptop, server = apps
    await laptop.store("c-1", "Likes short meetings.", clock)
    clock.advance(minutes=1)
    await server.store("c-1", "Likes meetings of 15 minutes.", clock)
    await sync_all(laptop, server)
    for device in apps:
        assert await device.texts() == ["Likes meetings of 15 minutes."]
        digest = await of_text(device, "Likes meetings of 15 minutes.")
        texts = {each.before for each in await device.memory.history(digest.id)}
        assert "Likes short meetings." in texts


async def test_ten_and_ten_digests_are_twenty(apps: list[DigestDevice], clock: ManualClock) -> None:
    """None is refused; the next compaction makes room."""
    for place, device in enumerate(apps):
        for number in range(10):
            clock.advance(minutes=1)
            await device.store(f"c-{place}-{number}", f"Fact {number} of device {place}.", clock)
    await sync_all(*apps)
    for device in apps:
        assert len(await device.texts()) == 20
