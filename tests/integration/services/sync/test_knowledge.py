"""Facts, rules, entities and links of two devices that sync over a folder."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import UndoRefusedError
from commonplace.core.settings import Settings
from commonplace.core.sources import Source
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import EpisodeDraft, KnowledgeMemory
from commonplace.knowledge.exchange import vectors
from commonplace.knowledge.exchange.writes import RowWrite
from commonplace.knowledge.model.kinds import Fact, Rule, Validity
from commonplace.knowledge.store.database import KnowledgeDatabase
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.replica import MemoryWrite
from commonplace.services.sync.replicas.knowledge import KnowledgeReplica
from commonplace.services.sync.state import SyncState
from support.database_stock import DatabaseStock
from support.knowledge import TENANT
from support.passages import long_text
from support.sync_devices import SyncedDevice, sync_all

pytestmark = pytest.mark.requirement("SYN-09.1")


class Device(SyncedDevice):
    """A device with knowledge memory."""

    memory: KnowledgeMemory

    async def fact(
        self,
        content: str,
        *,
        subject: str = "Jellyfin",
        predicate: str = "port",
        **more: Any,  # noqa: ANN401 - of store_fact
    ) -> UUID:
        """Store a fact and return its id."""
        receipt = await self.memory.store_fact(subject=subject, predicate=predicate, content=content, **more)
        return receipt.id

    async def active(self) -> list[str]:
        """The texts of the active facts."""
        return sorted(each.content for each in await self.memory.lists.facts(validity=Validity.ACTIVE))

    async def held(self) -> list[str]:
        """The texts of the facts that wait for a person."""
        return sorted(each.content for each in await self.memory.lists.facts(validity=Validity.HELD))

    async def read_fact(self, key: UUID) -> Fact:
        """A fact in any state."""
        memory = await self.memory.read("fact", key)
        assert isinstance(memory, Fact)
        return memory

    async def rule(self, key: UUID) -> Rule:
        """A rule in any state."""
        memory = await self.memory.read("rule", key)
        assert isinstance(memory, Rule)
        return memory


@pytest.fixture
async def devices(
    knowledge_databases: DatabaseStock, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[list[Device]]:
    """Two devices, each with a database of its own."""
    async with AsyncExitStack() as stack:
        made: list[Device] = []
        for name in ("laptop", "server"):
            database = await stack.enter_async_context(knowledge_databases.lend())
            memory = KnowledgeMemory(
                KnowledgeDatabase.of(await database.pool()),
                engine,
                tenant_id=TENANT,
                source=Source.PERSON,
                clock=clock,
            )
            settings = Settings(home=tmp_path / name, workspace=tmp_path, postgres_url=database.url)
            device = Device(tmp_path / "carried", tmp_path, KnowledgeReplica(memory, settings), name, clock)
            device.memory = memory
            stack.callback(device.close)
            made.append(device)
        yield made


async def test_what_one_learns_the_other_knows(devices: list[Device], clock: ManualClock) -> None:
    """With its id, its times, its trust and its tags; and a search finds it."""
    laptop, server = devices
    key = await laptop.fact("Jellyfin listens on 8096", tags=["media", "pinned"], importance=8.0)
    rule = (await laptop.memory.store_rule(content="Ask before a restart")).id
    (episode,) = await laptop.memory.store_episodes(
        [EpisodeDraft(content="We moved the server", butler="home")]
    )
    before = await laptop.read_fact(key)
    assert episode.id is not None
    clock.advance(days=1)
    assert await sync_all(laptop, server) == []
    after = await server.read_fact(key)
    assert (after.content, after.created_at, after.tags, after.importance, after.trust) == (
        before.content,
        before.created_at,
        before.tags,
        8.0,
        Source.PERSON,
    )
    assert after.is_current
    assert (await server.rule(rule)).content == "Ask before a restart"
    assert (await server.memory.read("episode", episode.id)).content == "We moved the server"
    (found, *_) = await server.memory.search("Jellyfin listens", types=["fact"])
    assert found.memory.id == key
    assert await laptop.replica.read() == await server.replica.read()


@pytest.mark.requirement("SYN-12.1")
async def test_vectors_travel(devices: list[Device], monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of the same model embeds no text that arrives, and searches as if it had."""
    laptop, server = devices
    key = await laptop.fact("Jellyfin listens on 8096")
    rule = (await laptop.memory.store_rule(content="Ask before a restart")).id
    await laptop.sync()
    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingEngine, "embed_batch_async", refuse)
        await server.sync()
    (first, *_) = await server.memory.search("Jellyfin listens", types=["fact"], mode="semantic")
    assert first.memory.id == key
    (first, *_) = await server.memory.search("Ask before a restart", types=["rule"], mode="semantic")
    assert first.memory.id == rule


async def refuse(self: EmbeddingEngine, texts: Sequence[str | None]) -> None:
    """Embed nothing."""
    raise AssertionError(f"{self.model_name} was asked for {texts}")


@pytest.mark.requirement("SYN-12.1")
async def test_vectors_of_another_model_are_computed_again(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vector means nothing to another model."""
    laptop, server = devices
    key = await laptop.fact("Jellyfin listens on 8096")
    await laptop.sync()
    with monkeypatch.context() as patch:
        patch.setattr(vectors, "unpacked_vector", lambda *_, **__: None)
        await server.sync()
    (first, *_) = await server.memory.search("Jellyfin listens", types=["fact"], mode="semantic")
    assert first.memory.id == key


@pytest.mark.requirement("SYN-12.1")
async def test_passages_of_a_long_text_are_computed_again(devices: list[Device]) -> None:
    """They are in the text, so its vector alone would not do."""
    laptop, server = devices
    key = await laptop.fact(long_text(), subject="Office", predicate="diary")
    await sync_all(laptop, server)
    counts = [await passages_of(device, key) for device in devices]
    assert counts[0] == counts[1] > 1


async def passages_of(device: Device, key: UUID) -> int:
    """The number of passages of a fact."""
    async with device.memory.session.reading() as sql:
        return await sql.connection.fetchval("SELECT count(*) FROM fact_passages WHERE memory_id = $1", key)


async def test_a_page_is_written_without_the_rows_that_cannot_be(devices: list[Device]) -> None:
    """A row that the database refuses, because its id is another tenant's, keeps no other one from being written."""
    laptop, server = devices
    keys = [await laptop.fact(f"Port {number}", subject=f"Service {number}") for number in range(5)]
    stranger = server.memory.acting_for(tenant_id="stranger", actor="stranger")
    rows = await laptop.memory.exchange.read()
    page = [RowWrite(kind=kind, name=name, fields=fields, seen=None) for (kind, name), fields in rows.items()]
    taken = next(each for each in page if each.name == str(keys[2]))
    assert await stranger.exchange.write([taken]) == [taken.fields]
    await sync_all(laptop, server)
    assert await server.active() == ["Port 0", "Port 1", "Port 3", "Port 4"]


async def test_nothing_new_is_nothing(devices: list[Device]) -> None:
    """Neither device finds changes that it only took."""
    laptop, server = devices
    await laptop.fact("8096", subject="Jellyfin")
    await laptop.memory.entities.create(canonical_name="Anna", entity_type="person")
    await laptop.fact("Munich", subject="Anna", predicate="city")
    await sync_all(laptop, server)
    carried = sorted(path.name for path in laptop.folder.rglob("*"))
    await sync_all(laptop, server)
    assert sorted(path.name for path in laptop.folder.rglob("*")) == carried


async def test_an_edit_replaces_the_text_everywhere(devices: list[Device]) -> None:
    """The old text leads to the new one, and its history is there."""
    laptop, server = devices
    old = await laptop.fact("8096")
    await sync_all(laptop, server)
    new = (await server.memory.edit("fact", old, "8920")).id
    await sync_all(laptop, server)
    for device in devices:
        assert await device.active() == ["8920"]
        assert (await device.read_fact(old)).validity is Validity.SUPERSEDED
        assert (await device.read_fact(new)).supersedes_id == old


async def test_two_values_at_once_are_both_kept(devices: list[Device], clock: ManualClock) -> None:
    """The later evidence holds on both devices, and the other one waits for a person."""
    laptop, server = devices
    await laptop.fact("8096")
    clock.advance(minutes=5)
    await server.fact("8920")
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == (["8920"], ["8096"])
    (waiting,) = await laptop.memory.lists.facts(validity=Validity.HELD)
    await laptop.memory.confirm("fact", waiting.id)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == (["8096"], [])


async def test_two_edits_at_once(devices: list[Device], clock: ManualClock) -> None:
    """As two values at once."""
    laptop, server = devices
    old = await laptop.fact("8096")
    await sync_all(laptop, server)
    clock.advance(hours=1)
    await laptop.memory.edit("fact", old, "8920")
    clock.advance(hours=1)
    await server.memory.edit("fact", old, "8921")
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == (["8921"], ["8920"])


async def test_a_more_trusted_value_holds(devices: list[Device], clock: ManualClock) -> None:
    """However late an agent says another one."""
    laptop, server = devices
    await laptop.fact("8096")
    clock.advance(hours=1)
    await server.fact("9999", source="web")
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == (["8096"], ["9999"])


async def test_a_forgotten_fact_stays_forgotten(devices: list[Device], clock: ManualClock) -> None:
    """Though the other device confirmed and pinned it meanwhile; an undo revives it everywhere."""
    laptop, server = devices
    key = await laptop.fact("8096")
    await sync_all(laptop, server)
    await laptop.memory.forget("fact", key)
    clock.advance(hours=1)
    await server.memory.confirm("fact", key)
    await server.memory.pin("fact", key)
    await sync_all(laptop, server)
    for device in devices:
        assert await device.active() == []
    await server.memory.restore("fact", key)
    await sync_all(laptop, server)
    for device in devices:
        assert await device.active() == ["8096"]


async def test_what_is_forgotten_after_a_kill_stays_forgotten(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page was written and not noted; facts of it that nobody touched stay."""
    laptop, server = devices
    keys = [await laptop.fact(f"Port {number}", subject=f"Service {number}") for number in range(3)]
    await laptop.sync()
    with monkeypatch.context() as patch:
        patch.setattr(SyncState, "written", killed)
        with pytest.raises(KeyboardInterrupt):
            await server.sync()
    assert await server.active() == ["Port 0", "Port 1", "Port 2"]
    await server.memory.forget("fact", keys[1])
    assert await sync_all(server, laptop) == []
    for device in devices:
        assert await device.active() == ["Port 0", "Port 2"]


async def test_what_was_forgotten_before_a_kill_comes_back_from_the_others(
    devices: list[Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old copy of a home may join, in which a fact is still forgotten that a person has brought back since."""
    laptop, server = devices
    key = await laptop.fact("Port 1")
    ((kind, name),) = rows = await laptop.memory.exchange.read()
    await server.memory.exchange.write([RowWrite(kind=kind, name=name, fields=rows[kind, name], seen=None)])
    await server.memory.forget("fact", key)
    await laptop.sync()
    with monkeypatch.context() as patch:
        patch.setattr(KnowledgeReplica, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            await server.sync()
    await server.fact("Port 2", subject="Plex")
    assert await sync_all(server, laptop) == []
    for device in devices:
        assert await device.active() == ["Port 1", "Port 2"]


def killed(self: object, memories: object) -> None:
    """Die before something is written or noted."""
    del self, memories
    raise KeyboardInterrupt


async def test_an_edit_of_a_forgotten_fact_waits(devices: list[Device], clock: ManualClock) -> None:
    """Neither lost nor back by itself."""
    laptop, server = devices
    key = await laptop.fact("8096")
    await sync_all(laptop, server)
    await laptop.memory.forget("fact", key)
    clock.advance(hours=1)
    await server.memory.edit("fact", key, "8920")
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == ([], ["8920"])
    (waiting,) = await laptop.memory.lists.facts(validity=Validity.HELD)
    await laptop.memory.confirm("fact", waiting.id)
    await sync_all(laptop, server)
    await server.memory.pin("fact", waiting.id)
    await sync_all(laptop, server)
    for device in devices:
        assert (await device.active(), await device.held()) == (["8920"], [])


async def test_an_edit_of_a_forgotten_rule_is_forgotten(devices: list[Device], clock: ManualClock) -> None:
    """Its new text can be restored."""
    laptop, server = devices
    key = (await laptop.memory.store_rule(content="Ask before a restart")).id
    await sync_all(laptop, server)
    await laptop.memory.forget("rule", key)
    clock.advance(hours=1)
    new = (await server.memory.edit("rule", key, "Ask before each restart")).id
    await sync_all(laptop, server)
    for device in devices:
        assert not (await device.rule(new)).is_current


async def test_decay_is_no_change(devices: list[Device], clock: ManualClock) -> None:
    """A fact that expired on one device is still there on the other one, which confirms it; then it is back."""
    laptop, server = devices
    key = await laptop.fact("8096", permanence="volatile")
    rule = (await laptop.memory.store_rule(content="Ask before a restart")).id
    await sync_all(laptop, server)
    clock.advance(days=400)
    await laptop.memory.upkeep.sweep()
    assert (await laptop.read_fact(key)).validity is Validity.EXPIRED
    assert not (await laptop.rule(rule)).is_current
    await sync_all(laptop, server)
    assert await server.active() == ["8096"]
    await server.memory.confirm("fact", key)
    await server.memory.confirm("rule", rule)
    await sync_all(laptop, server)
    for device in devices:
        assert await device.active() == ["8096"]
        assert (await device.rule(rule)).is_current


async def test_an_episode_that_was_forgotten_while_a_clock_was_wrong_stays_forgotten(
    devices: list[Device], clock: ManualClock
) -> None:
    """The server had hidden it, because it had expired by its clock."""
    laptop, server = devices
    (episode,) = await laptop.memory.store_episodes(
        [EpisodeDraft(content="We moved the server", butler="home")]
    )
    await sync_all(laptop, server)
    assert episode.id is not None
    await laptop.memory.forget("episode", episode.id)
    await laptop.sync()
    clock.advance(days=400)
    await server.sync()
    clock.advance(days=-400)
    assert await sync_all(server, laptop) == []
    for device in devices:
        assert str(episode.id) not in {name for _, name in await device.replica.read()}


async def test_a_wrong_clock_forgets_no_episode(devices: list[Device], clock: ManualClock) -> None:
    """It is hidden by the clock of each device, and shown again when that is right."""
    laptop, server = devices
    (episode,) = await laptop.memory.store_episodes(
        [EpisodeDraft(content="We moved the server", butler="home")]
    )
    await sync_all(laptop, server)
    clock.advance(days=400)
    await server.sync()
    clock.advance(days=-400)
    for device in devices:
        assert await device.sync() == []
        assert str(episode.id) in {name for _, name in await device.replica.read()}


async def test_applications_add_up(devices: list[Device], clock: ManualClock) -> None:
    """Of both devices; and harm that only both together did inverts the rule."""
    laptop, server = devices
    key = (await laptop.memory.store_rule(content="Restart it at once")).id
    await laptop.memory.mark_helpful(key)
    await sync_all(laptop, server)
    for device in devices:
        clock.advance(minutes=1)
        await device.memory.mark_harmful(key, reason="It lost data")
        clock.advance(minutes=1)
        await device.memory.mark_harmful(key, reason="It lost data")
    await sync_all(laptop, server)
    for device in devices:
        rule = await device.rule(key)
        assert (rule.applied_count, rule.success_count, rule.harmful_count) == (5, 1, 4)
        await device.memory.upkeep.invert_harmful_rules()
    await sync_all(laptop, server)
    texts = {(await device.rule(key)).content for device in devices}
    assert len(texts) == 1
    assert texts.pop().startswith("ANTI-PATTERN")


async def test_two_entities_of_one_name_become_one(devices: list[Device], clock: ManualClock) -> None:
    """The older one; facts about the other one are about it then."""
    laptop, server = devices
    older = (
        await laptop.memory.entities.create(canonical_name="Anna", entity_type="person", aliases=["Annie"])
    ).id
    clock.advance(minutes=1)
    younger = (
        await server.memory.entities.create(canonical_name="Anna", entity_type="person", aliases=["Ann"])
    ).id
    await laptop.fact("Munich", subject="Anna", predicate="city", entity_id=older)
    await server.fact("Nurse", subject="Anna", predicate="job", entity_id=younger)
    await sync_all(laptop, server)
    for device in devices:
        (entity,) = await device.memory.lists.entities()
        assert entity.id == older
        assert sorted(entity.aliases) == ["Ann", "Annie"]
        facts = await device.memory.lists.facts(validity=Validity.ACTIVE)
        assert {(each.content, each.entity_id) for each in facts} == {("Munich", older), ("Nurse", older)}
    assert await laptop.replica.read() == await server.replica.read()


async def test_a_merge_travels(devices: list[Device]) -> None:
    """With its names and its facts."""
    laptop, server = devices
    one = (await laptop.memory.entities.create(canonical_name="Anna Kern", entity_type="person")).id
    other = (await laptop.memory.entities.create(canonical_name="A. Kern", entity_type="person")).id
    await laptop.fact("Munich", subject="A. Kern", predicate="city", entity_id=other)
    await sync_all(laptop, server)
    await server.memory.entities.merge(other, one)
    await sync_all(laptop, server)
    for device in devices:
        (entity,) = await device.memory.lists.entities()
        assert (entity.id, entity.aliases) == (one, ("A. Kern",))
        (fact,) = await device.memory.lists.facts(validity=Validity.ACTIVE)
        assert fact.entity_id == one


async def test_the_audit_trail_names_the_device(devices: list[Device]) -> None:
    """From which a change came."""
    laptop, server = devices
    key = await laptop.fact("8096")
    await sync_all(laptop, server)
    page = await server.memory.events.list(memory_id=key)
    assert {each.actor for each in page} == {"sync:laptop"}


async def test_where_a_memory_came_from_is_known_everywhere(
    devices: list[Device], clock: ManualClock
) -> None:
    """Also after the episode has expired and one device has deleted it: that is no change of the memory."""
    laptop, server = devices
    episode = await laptop.memory.store_episode(content="Jellyfin was moved to 8096.", butler="home")
    fact = await laptop.fact("8096", source_episode_id=episode.id)
    rule = (await laptop.memory.store_rule(content="Ask first", source_episode_id=episode.id)).id
    assert await sync_all(laptop, server) == []
    assert (await server.read_fact(fact)).source_episode_id == episode.id
    assert (await server.rule(rule)).source_episode_id == episode.id

    clock.advance(days=8)
    assert (await laptop.memory.upkeep.cleanup()).expired_deleted == 1
    assert (await laptop.read_fact(fact)).source_episode_id is None
    assert await sync_all(laptop, server) == []
    assert (await server.read_fact(fact)).source_episode_id == episode.id
    await server.memory.confirm("fact", fact)
    assert await sync_all(laptop, server) == []
    rows = [await each.replica.read() for each in devices]
    assert rows[0] == rows[1]
    for key in ((SyncKind.FACT, str(fact)), (SyncKind.RULE, str(rule))):
        assert rows[0][key]["source_episode_id"] == str(episode.id)


async def test_a_memory_names_its_source_once_that_arrives(devices: list[Device]) -> None:
    """Until then only its id is known."""
    laptop, server = devices
    episode = await laptop.memory.store_episode(content="Jellyfin was moved to 8096.", butler="home")
    fact = await laptop.fact("8096", source_episode_id=episode.id)
    rule = (await laptop.memory.store_rule(content="Ask first", source_episode_id=episode.id)).id
    rows = await laptop.replica.read()
    for key in ((SyncKind.FACT, str(fact)), (SyncKind.RULE, str(rule))):
        assert await server.replica.write([MemoryWrite(key=key, fields=rows[key], seen=None)]) == [rows[key]]
    assert (await server.read_fact(fact)).source_episode_id is None
    arrived = (SyncKind.EPISODE, str(episode.id))
    await server.replica.write([MemoryWrite(key=arrived, fields=rows[arrived], seen=None)])
    assert await server.replica.read() == rows
    assert (await server.read_fact(fact)).source_episode_id == episode.id
    assert (await server.rule(rule)).source_episode_id == episode.id
    assert (await server.read_fact(fact)).metadata == {}


async def test_an_erasure_deletes_the_row_everywhere(devices: list[Device]) -> None:
    """And the history with it."""
    laptop, server = devices
    key = await laptop.fact("The safe opens with the number that nobody writes down")
    await sync_all(laptop, server)
    await server.replica.erase([(next(k for k in await server.replica.read() if k[1] == str(key)))])
    assert str(key) not in {name for _, name in await server.replica.read()}


@pytest.mark.parametrize("seed", range(12))
async def test_devices_with_the_same_changes_have_the_same_memory(
    devices: list[Device], clock: ManualClock, seed: int
) -> None:
    """After a random history of stores, edits, confirmations, pins, deletions, undos and syncs."""
    chance = random.Random(seed)  # noqa: S311 - a history that can be repeated
    for _ in range(25):
        clock.advance(minutes=1)
        await act(chance, chance.choice(devices))
    await sync_all(*devices, rounds=4)
    first, second = [await device.replica.read() for device in devices]
    assert first == second
    assert await devices[0].active() == await devices[1].active()
    assert await devices[0].held() == await devices[1].held()


async def act(chance: random.Random, device: Device) -> None:
    """Do one thing on a device, if what it needs is there."""
    facts = sorted(await device.memory.lists.facts(validity=Validity.ACTIVE), key=lambda each: each.content)
    gone = sorted(await device.memory.lists.facts(validity=Validity.RETRACTED), key=lambda each: each.content)
    fact = chance.choice(facts).id if facts else None
    match chance.choice(("store", "store", "edit", "confirm", "pin", "forget", "undo", "sync", "sync")):
        case "store":
            await device.fact(f"Port {chance.randint(1, 99)}", subject=chance.choice(("Jellyfin", "Nginx")))
        case "edit" if fact:
            await device.memory.edit("fact", fact, f"Edited port {chance.randint(1, 99)}")
        case "confirm" if fact:
            await device.memory.confirm("fact", fact)
        case "pin" if fact:
            await device.memory.pin("fact", fact, pinned=chance.random() < 0.5)
        case "forget" if fact:
            await device.memory.forget("fact", fact)
        case "undo" if gone:
            with suppress(UndoRefusedError):
                await device.memory.restore("fact", chance.choice(gone).id)
        case "sync":
            await device.sync()
