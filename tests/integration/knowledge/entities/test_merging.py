"""Entities merged and unmerged on a real server."""

import asyncio
import random
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.errors import CommonplaceError, ConflictError, InvalidInputError
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.entities.merging import MergeReceipt
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.storage_functions import store_fact
from commonplace.knowledge.store.unit_of_work import unit_of_work
from support.deadlines import DEADLINE_S
from support.entities import add_fact, events, person, rows, snapshot
from support.knowledge import ACTOR
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


async def fact(pool: asyncpg.Pool, fact_id: UUID) -> asyncpg.Record:
    """Return a fact's row."""
    (row,) = await rows(pool, "SELECT * FROM facts WHERE id = $1", fact_id)
    return row


async def read(pool: asyncpg.Pool, entity: Entity) -> Entity:
    """Return an entity as it is now."""
    found = await memory_on(pool).entities.get(entity.id)
    assert found is not None
    return found


@pytest.mark.requirement("KNW-18.1")
async def test_facts_move_to_the_target(knowledge_pool: asyncpg.Pool) -> None:
    """Active ones keep their state; the history moves along, so that nothing hangs on the tombstone."""
    ann, anna = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Anna")
    likes = await add_fact(knowledge_pool, ann, "likes")
    scoped = await add_fact(knowledge_pool, ann, "owns", scope="home")
    gone = await add_fact(knowledge_pool, ann, "likes", validity="retracted")
    await add_fact(knowledge_pool, anna, "owns", scope="work")
    receipt = await memory_on(knowledge_pool).entities.merge(ann.id, str(anna.id))
    assert (receipt.facts_repointed, receipt.facts_superseded, receipt.history_repointed) == (2, 0, 1)
    states = [await fact(knowledge_pool, each) for each in (likes, scoped, gone)]
    assert [row["entity_id"] for row in states] == [anna.id] * 3
    assert [row["validity"] for row in states] == ["active", "active", "retracted"]
    assert await rows(knowledge_pool, "SELECT 1 FROM facts WHERE entity_id = $1", ann.id) == []


@pytest.mark.requirement("KNW-18.2")
@pytest.mark.parametrize(("mine", "theirs", "wins"), [(0.9, 0.4, True), (0.4, 0.4, False), (0.3, 0.4, False)])
async def test_of_two_facts_the_more_confident_stays(
    knowledge_pool: asyncpg.Pool, mine: float, theirs: float, *, wins: bool
) -> None:
    """The other one is superseded, and the link between them says by which."""
    ann, anna = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Anna")
    ours = await add_fact(knowledge_pool, ann, "likes", confidence=mine)
    rival = await add_fact(knowledge_pool, anna, "likes", confidence=theirs)
    receipt = await memory_on(knowledge_pool).entities.merge(ann.id, anna.id)
    assert (receipt.facts_repointed, receipt.facts_superseded) == (int(wins), 1)
    winner, loser = (ours, rival) if wins else (rival, ours)
    (conflict,) = receipt.conflicts
    assert (conflict.predicate, conflict.kept_id, conflict.superseded_id) == ("likes", winner, loser)
    kept, lost = await fact(knowledge_pool, winner), await fact(knowledge_pool, loser)
    assert (kept["validity"], kept["entity_id"], kept["supersedes_id"]) == ("active", anna.id, loser)
    assert (lost["validity"], lost["entity_id"]) == ("superseded", anna.id)
    (link,) = await rows(knowledge_pool, "SELECT * FROM memory_links")
    assert (link["source_id"], link["target_id"], link["relation"]) == (winner, loser, "supersedes")


@pytest.mark.requirement("KNW-18.3", "KNW-18.4")
async def test_names_and_metadata_are_united_and_the_source_is_a_tombstone(
    knowledge_pool: asyncpg.Pool,
) -> None:
    """The target gains names it lacks in any case, and keys it lacks; the source says where it went."""
    ann = await person(knowledge_pool, "Ann", "ANNIE", "A.", "anna", city="Oslo", age=30)
    anna = await person(knowledge_pool, "Anna", "Annie", age=31)
    receipt = await memory_on(knowledge_pool).entities.merge(ann.id, anna.id)
    target, source = await read(knowledge_pool, anna), await read(knowledge_pool, ann)
    assert target.aliases == ("Annie", "Ann", "A.")
    assert receipt.aliases_added == 2
    assert target.metadata == {"age": 31, "city": "Oslo"}
    assert target.canonical_name == "Anna"
    assert source.metadata == {"city": "Oslo", "age": 30, "merged_into": str(anna.id)}
    assert (source.merged_into, source.survivor_id) == (anna.id, anna.id)
    assert source.aliases == ann.aliases
    assert source.updated_at > ann.updated_at


@pytest.mark.requirement("KNW-18.5", "KNW-33")
async def test_a_merge_is_on_record(knowledge_pool: asyncpg.Pool) -> None:
    """One event with the counts of the receipt, and what everything was and became."""
    ann, anna = await person(knowledge_pool, "Ann", "A."), await person(knowledge_pool, "Anna")
    await add_fact(knowledge_pool, ann, "owns")
    await add_fact(knowledge_pool, ann, "likes", confidence=0.5)
    await add_fact(knowledge_pool, anna, "likes")
    receipt = await memory_on(knowledge_pool).entities.merge(ann.id, anna.id)
    (event,) = await events(knowledge_pool, "entity_merge")
    assert (event["id"], event["actor"]) == (receipt.event_id, ACTOR)
    expected = {
        "source_entity_id": str(ann.id),
        "target_entity_id": str(anna.id),
        "facts_repointed": 1,
        "facts_superseded": 1,
        "history_repointed": 0,
        "aliases_added": 2,
    }
    assert expected.items() <= event["payload"].items()
    assert event["payload"]["before"]["target"]["aliases"] == []
    assert event["payload"]["after"]["target"]["aliases"] == ["Ann", "A."]
    assert len(event["payload"]["facts"]) == 3


@pytest.mark.requirement("KNW-18.6")
async def test_what_cannot_be_merged_is_refused(knowledge_pool: asyncpg.Pool) -> None:
    """One with itself, an unknown one, one that was merged away, as source or as target; nothing is written."""
    ann, bob, cid = [await person(knowledge_pool, name) for name in ("Ann", "Bob", "Cid")]
    await memory_on(knowledge_pool).entities.merge(ann.id, bob.id)
    before = await snapshot(knowledge_pool)
    for source, target, reason in (
        (cid.id, cid.id, "another entity than the source"),
        (uuid4(), cid.id, "source_entity_id: expected the id of an entity"),
        (cid.id, uuid4(), "target_entity_id: expected the id of an entity"),
        (ann.id, cid.id, f"was merged into {bob.id}"),
        (cid.id, ann.id, f"was merged into {bob.id}"),
        (ann.id, bob.id, f"was merged into {bob.id}"),
        (bob.id, ann.id, f"was merged into {bob.id}"),
        ("no id", bob.id, "source_entity_id: expected a UUID"),
    ):
        with pytest.raises(ValueError, match=reason):
            await memory_on(knowledge_pool).entities.merge(source, target)
    with pytest.raises(ConflictError, match="was merged into"):
        await memory_on(knowledge_pool).entities.update(ann.id, canonical_name="Back")
    assert await snapshot(knowledge_pool) == before
    assert len(await events(knowledge_pool, "entity_merge")) == 1


@pytest.mark.requirement("KNW-18.6", "KNW-29.2")
async def test_entities_of_another_tenant_are_not_found(knowledge_pool: asyncpg.Pool) -> None:
    """Neither side of a merge, nor of an unmerge, may be another tenant's."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")
    await memory_on(knowledge_pool).entities.merge(ann.id, bob.id)
    with request_context(tenant_id="tenant-b", actor="other"):
        mine = await person(knowledge_pool, "Ann")
        for source, target in ((mine.id, bob.id), (bob.id, mine.id)):
            with pytest.raises(InvalidInputError, match="the id of an entity"):
                await memory_on(knowledge_pool).entities.merge(source, target)
        with pytest.raises(InvalidInputError, match="the id of an entity"):
            await memory_on(knowledge_pool).entities.unmerge(ann.id)


@pytest.mark.requirement("KNW-18.7")
async def test_a_merge_locks_both_rows_in_the_order_of_their_ids(knowledge_pool: asyncpg.Pool) -> None:
    """While another holds the higher id, the merge has the lower one and waits."""
    low, high = sorted(
        [await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")], key=lambda each: each.id
    )
    async with unit_of_work(knowledge_pool) as sql:
        await sql.connection.fetch("SELECT 1 FROM entities WHERE id = $1 FOR UPDATE", high.id)
        merge = asyncio.create_task(memory_on(knowledge_pool).entities.merge(high.id, low.id))
        async with asyncio.timeout(DEADLINE_S):
            while await rows(
                knowledge_pool, "SELECT 1 FROM entities WHERE id = $1 FOR UPDATE SKIP LOCKED", low.id
            ):
                pass
        assert not merge.done()
    assert (await merge).target_entity_id == low.id


@pytest.mark.requirement("KNW-18.6", "KNW-18.7")
async def test_opposite_merges_end_in_one_merge_and_one_error(knowledge_pool: asyncpg.Pool) -> None:
    """A into B and B into A at once, ten times: no deadlock, one tombstone, one clear refusal."""
    for number in range(10):
        one, other = [await person(knowledge_pool, f"{name} {number}") for name in ("Ann", "Bob")]
        results = await asyncio.gather(
            memory_on(knowledge_pool).entities.merge(one.id, other.id),
            memory_on(knowledge_pool).entities.merge(other.id, one.id),
            return_exceptions=True,
        )
        assert sum(isinstance(result, MergeReceipt) for result in results) == 1
        (refusal,) = [result for result in results if isinstance(result, InvalidInputError)]
        assert "was merged into" in str(refusal)


@pytest.mark.requirement("KNW-18.1", "KNW-18.7")
async def test_facts_stored_during_a_merge_are_not_lost(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """Each is moved along or refused, none hangs on the tombstone, and nothing deadlocks."""
    ann, anna = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Anna")

    async def store(number: int, entity: Entity) -> UUID:
        return await store_fact(
            knowledge_pool,
            engine,
            subject="Ann",
            predicate=f"likes {number % 3}",
            content=f"thing {number}",
            entity_id=entity.id,
        )

    results = await asyncio.gather(
        *(store(number, ann) for number in range(9)),
        memory_on(knowledge_pool).entities.merge(ann.id, anna.id),
        *(store(number, anna) for number in range(9)),
        return_exceptions=True,
    )
    assert all(isinstance(result, UUID | MergeReceipt | InvalidInputError) for result in results)
    stored = [result for result in results if isinstance(result, UUID)]
    kept = await rows(knowledge_pool, "SELECT id, entity_id, predicate, validity FROM facts")
    assert {row["id"] for row in kept} == set(stored)
    assert {row["entity_id"] for row in kept} == {anna.id}
    active = [row["predicate"] for row in kept if row["validity"] == "active"]
    assert sorted(active) == ["likes 0", "likes 1", "likes 2"]


async def test_chains_tell_where_an_entity_went(knowledge_pool: asyncpg.Pool) -> None:
    """A into B into C: each names its own target, and the survivor at the end; they are undone from the end."""
    ann, bob, cid = [await person(knowledge_pool, name) for name in ("Ann", "Bob", "Cid")]
    likes = await add_fact(knowledge_pool, ann, "likes")
    await memory_on(knowledge_pool).entities.merge(ann.id, bob.id)
    await memory_on(knowledge_pool).entities.merge(bob.id, cid.id)
    first = await read(knowledge_pool, ann)
    assert (first.merged_into, first.survivor_id) == (bob.id, cid.id)
    assert (await fact(knowledge_pool, likes))["entity_id"] == cid.id
    with pytest.raises(ConflictError, match=f"The target {bob.id} was itself merged"):
        await memory_on(knowledge_pool).entities.unmerge(ann.id)
    await memory_on(knowledge_pool).entities.unmerge(bob.id)
    await memory_on(knowledge_pool).entities.unmerge(ann.id)
    assert [await read(knowledge_pool, each) for each in (ann, bob, cid)] == [ann, bob, cid]
    assert (await fact(knowledge_pool, likes))["entity_id"] == ann.id


@pytest.mark.parametrize("seed", range(6))
async def test_a_merge_and_its_undoing_leave_every_row_as_it_was(
    knowledge_pool: asyncpg.Pool, seed: int
) -> None:
    """All columns of entities, facts and links, whatever the names, metadata and facts; and again."""
    chance = random.Random(seed)  # noqa: S311 - examples, not secrets
    names = ["Ann", "Bob", "ANN", "Jo\N{COMBINING ACUTE ACCENT}", "%_"]
    pair: list[Entity] = []
    for name in ("First", "Second"):
        aliases = chance.sample(names, chance.randint(0, 4))
        metadata = {key: chance.choice([1, "x", [None], {"a": 1.5}]) for key in chance.sample("abcd", 2)}
        pair.append(await person(knowledge_pool, name, *aliases, **metadata))
    for entity in pair:
        for predicate in "uvwxyz":
            confidence = chance.choice([0.3, 0.6, 0.9])
            old = await add_fact(knowledge_pool, entity, predicate, validity="superseded")
            if chance.random() < 0.8:
                supersedes = chance.choice([None, old])
                await add_fact(
                    knowledge_pool, entity, predicate, confidence=confidence, supersedes=supersedes
                )
    before = await snapshot(knowledge_pool)
    for source, target in (pair, reversed(pair)):
        merged = await memory_on(knowledge_pool).entities.merge(source.id, target.id)
        assert await snapshot(knowledge_pool) != before
        undone = await memory_on(knowledge_pool).entities.unmerge(source.id)
        assert await snapshot(knowledge_pool) == before
        assert undone.kept == ()
        assert undone.aliases_removed == merged.aliases_added
        assert (undone.source_entity_id, undone.target_entity_id) == (source.id, target.id)


@pytest.mark.requirement("KNW-33")
async def test_an_unmerge_is_on_record(knowledge_pool: asyncpg.Pool) -> None:
    """One event that names the merge's."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")
    merged = await memory_on(knowledge_pool).entities.merge(ann.id, bob.id)
    undone = await memory_on(knowledge_pool).entities.unmerge(str(ann.id))
    (event,) = await events(knowledge_pool, "entity_unmerge")
    assert (event["id"], event["actor"]) == (undone.event_id, ACTOR)
    assert event["payload"]["merge_event_id"] == str(merged.event_id)
    assert event["payload"]["before"]["source"]["metadata"] == {"merged_into": str(bob.id)}
    assert event["payload"]["after"]["source"]["metadata"] == {}


async def test_what_came_after_the_merge_stays(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine) -> None:
    """New facts, aliases and changed metadata are the target's; the receipt names what could not be taken back."""
    ann = await person(knowledge_pool, "Ann", city="Oslo", age=30)
    anna = await person(knowledge_pool, "Anna", "A.")
    likes = await add_fact(knowledge_pool, ann, "likes")
    await memory_on(knowledge_pool).entities.merge(ann.id, anna.id)
    new = await store_fact(
        knowledge_pool, engine, subject="Anna", predicate="owns", content="a cat", entity_id=anna.id
    )
    await memory_on(knowledge_pool).entities.update(
        anna.id, aliases=["A.", "Ann", "Anka"], metadata={"city": "Bergen"}
    )
    undone = await memory_on(knowledge_pool).entities.unmerge(ann.id)
    target = await read(knowledge_pool, anna)
    assert target.aliases == ("A.", "Anka")
    assert target.metadata == {"city": "Bergen"}
    assert target.updated_at > anna.updated_at
    assert undone.kept == ('metadata "city" of the target',)
    assert await read(knowledge_pool, ann) == ann
    assert (await fact(knowledge_pool, likes))["entity_id"] == ann.id
    assert (await fact(knowledge_pool, new))["entity_id"] == anna.id


async def test_a_newer_fact_in_the_way_stops_the_undoing(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine
) -> None:
    """The target's fact cannot come back beside one stored since: nothing is done, and the error names both."""
    ann, anna = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Anna")
    await add_fact(knowledge_pool, ann, "likes", confidence=0.9)
    lost = await add_fact(knowledge_pool, anna, "likes", confidence=0.5)
    await memory_on(knowledge_pool).entities.merge(ann.id, anna.id)
    newer = await store_fact(
        knowledge_pool, engine, subject="Anna", predicate="likes", content="tea", entity_id=anna.id
    )
    before = await snapshot(knowledge_pool)
    with pytest.raises(InvalidInputError, match='both be active for "likes"') as refused:
        await memory_on(knowledge_pool).entities.unmerge(ann.id)
    assert str(lost) in str(refused.value)
    assert str(newer) in str(refused.value)
    assert await snapshot(knowledge_pool) == before
    assert await events(knowledge_pool, "entity_unmerge") == []


async def test_what_was_not_merged_cannot_be_unmerged(knowledge_pool: asyncpg.Pool) -> None:
    """Neither an unknown entity, nor a living one, nor one whose merge left no full record."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")
    with pytest.raises(InvalidInputError, match="the id of an entity"):
        await memory_on(knowledge_pool).entities.unmerge(uuid4())
    with pytest.raises(ConflictError, match="was not merged, so there is nothing"):
        await memory_on(knowledge_pool).entities.unmerge(ann.id)
    await rows(
        knowledge_pool,
        "UPDATE entities SET metadata = $1 WHERE id = $2",
        {"merged_into": str(bob.id)},
        ann.id,
    )
    with pytest.raises(ConflictError, match="no record of the state before it"):
        await memory_on(knowledge_pool).entities.unmerge(ann.id)
    await rows(
        knowledge_pool,
        "UPDATE entities SET metadata = $1 WHERE id = $2",
        {"merged_into": str(uuid4())},
        ann.id,
    )
    with pytest.raises(ConflictError, match="no longer exists"):
        await memory_on(knowledge_pool).entities.unmerge(ann.id)


async def test_two_unmerges_at_once_end_in_one(knowledge_pool: asyncpg.Pool) -> None:
    """The second gets a clear error, and nothing is taken back twice."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")
    await memory_on(knowledge_pool).entities.merge(ann.id, bob.id)
    results = await asyncio.gather(
        *(memory_on(knowledge_pool).entities.unmerge(ann.id) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(result, CommonplaceError) for result in results) == 3
    assert len(await events(knowledge_pool, "entity_unmerge")) == 1
    assert [await read(knowledge_pool, each) for each in (ann, bob)] == [ann, bob]
