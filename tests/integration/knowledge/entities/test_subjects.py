"""Entities that grow from facts: subjects that name an entity, new entities, and relations between entities."""

from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import Validity
from support.consolidation import Spawner, answer, fact

pytestmark = pytest.mark.usefixtures("tenant")


async def active(memory: KnowledgeMemory) -> set[str]:
    """Return the texts of the active facts."""
    return {each.content for each in await memory.lists.facts(validity=Validity.ACTIVE)}


async def relations(memory: KnowledgeMemory, entity: Any, **options: Any) -> list[tuple[str, str, str]]:  # noqa: ANN401
    """Return the relations of an entity as source, predicate and target."""
    found = await memory.entities.relations(entity, **options)
    return sorted((each.source_name, each.predicate, each.target_name) for each in found)


@pytest.mark.requirement("LIF-02.1")
async def test_a_subject_names_its_entity(knowledge: KnowledgeMemory) -> None:
    """By its canonical name in any case of letters, then by an alias; a shared name names no entity."""
    anna = await knowledge.entities.create(
        canonical_name="Anna Smith", entity_type="person", aliases=["Annie"]
    )
    kims = [
        (await knowledge.entities.create(canonical_name="Kim", entity_type=kind)).id
        for kind in ("person", "other")
    ]
    by_name = await knowledge.store_fact(subject="anna  smith", predicate="desk", content="By the window")
    by_alias = await knowledge.store_fact(subject="Annie", predicate="desk", content="By the door")
    shared = await knowledge.store_fact(subject="Kim", predicate="desk", content="In the hall")
    given = await knowledge.store_fact(
        subject="Kim", predicate="desk", content="In the attic", entity_id=kims[0]
    )
    assert (by_name.entity_id, by_alias.entity_id, shared.entity_id) == (anna.id, anna.id, None)
    assert by_alias.superseded_id == by_name.id
    assert (given.entity_id, given.superseded_id) == (kims[0], None)


async def test_an_older_fact_without_an_entity_is_superseded(knowledge: KnowledgeMemory) -> None:
    """The fact is linked first, with an event; a second one that cannot be linked is superseded as well."""
    old = await knowledge.store_fact(subject="Anna", predicate="desk", content="By the window")
    other = await knowledge.store_fact(subject="Anna", predicate="cup", content="Blue")
    anna = await knowledge.entities.create(canonical_name="Anna", entity_type="person")
    new = await knowledge.store_fact(subject="Anna", predicate="desk", content="By the door")
    assert (new.entity_id, new.superseded_id) == (anna.id, old.id)
    assert await active(knowledge) == {"By the door", "Blue"}
    assert (await knowledge.read("fact", other.id)).entity_id is None
    (event,) = await knowledge.events.list(event_type=EventType.FACT_LINKED)
    assert event.payload["memory_id"] == str(old.id)
    assert event.payload["after"] == {"entity_id": str(anna.id)}
    await knowledge.store_fact(subject="Annie", predicate="cup", content="Red", entity_id=anna.id)
    key: dict[str, Any] = {"subject": "Anna", "predicate": "cup"}
    await knowledge.store_fact(**key, content="Pink", source="web")
    assert "Blue" in await active(knowledge)
    await knowledge.store_fact(**key, content="Green")
    assert await active(knowledge) == {"By the door", "Green"}


@pytest.mark.requirement("LIF-02.1")
async def test_a_fact_of_a_plain_type_makes_its_entity(knowledge: KnowledgeMemory) -> None:
    """All active facts of the subject are linked; whoever creates the entity later takes it over once."""
    before = await knowledge.store_fact(subject="Anna", predicate="desk", content="By the window")
    assert await knowledge.lists.entities() == []
    stored = await knowledge.store_fact(subject="Anna", predicate="works at", content="Anna works at Acme")
    (anna,) = await knowledge.lists.entities()
    assert (anna.canonical_name, anna.entity_type, anna.facts) == ("Anna", "person", 2)
    assert stored.entity_id == anna.id == (await knowledge.read("fact", before.id)).entity_id
    taken = await knowledge.entities.create(canonical_name="Anna", entity_type="person", aliases=["Annie"])
    assert (taken.id, taken.aliases, taken.metadata) == (anna.id, ("Annie",), {})
    with pytest.raises(InvalidInputError, match="it is a duplicate of entity"):
        await knowledge.entities.create(canonical_name="Anna", entity_type="person")
    waits = await knowledge.store_fact(subject="Anna Smith", predicate="works_at", content="Acme")
    assert waits.entity_id is None


async def test_a_person_decides_about_likely_subjects(knowledge: KnowledgeMemory, clock: ManualClock) -> None:
    """A subject that is the entity becomes its alias, and its facts join; another subject is not listed again."""
    anna = await knowledge.entities.create(canonical_name="Anna Smith", entity_type="person")
    for subject, content in (("Anna", "By the window"), ("Anna Smith-Jones", "By the lift")):
        await knowledge.store_fact(subject=subject, predicate="desk", content=content)
    await knowledge.store_fact(subject="Annabel", predicate="desk", content="In the attic")
    likely, other = sorted(await knowledge.reviews.subjects.list(), key=lambda each: each.subject)
    assert (likely.subject, likely.entity_id, likely.canonical_name) == ("Anna", anna.id, "Anna Smith")
    clock.advance(days=1)
    await knowledge.store_fact(subject="Anna Smith", predicate="desk", content="By the door")
    await knowledge.reviews.subjects.decide(other.fact_id, anna.id, same=False)
    await knowledge.reviews.subjects.decide(likely.fact_id, str(anna.id), same=True)
    assert await knowledge.reviews.subjects.list() == []
    assert (await knowledge.entities.get(anna.id)).aliases == ("Anna",)
    assert await active(knowledge) == {"By the door", "By the lift", "In the attic"}
    assert (await knowledge.read("fact", likely.fact_id)).validity is Validity.SUPERSEDED
    with pytest.raises(NotFoundError, match="fact"):
        await knowledge.reviews.subjects.decide(likely.fact_id, anna.id, same=True)


async def test_consolidation_names_entities(knowledge: KnowledgeMemory) -> None:
    """New facts supersede the fact of the entity, and updates of facts that have none yet."""
    anna = await knowledge.entities.create(canonical_name="Anna", entity_type="person", aliases=["Annie"])
    old = await knowledge.store_fact(
        subject="Anna", predicate="desk", content="By the window", scope="ops", entity_id=anna.id
    )
    await knowledge.store_episode(content="Annie moved to the door", butler="ops")
    await knowledge.runs.consolidate(Spawner(answer(new_facts=[fact("Annie", "desk", "By the door")])))
    (new,) = await knowledge.lists.facts(validity=Validity.ACTIVE)
    assert (new.content, new.entity_id, new.supersedes_id) == ("By the door", anna.id, old.id)
    (run,) = await knowledge.runs.list()
    await knowledge.runs.undo(run.id)
    assert await active(knowledge) == {"By the window"}


@pytest.mark.requirement("LIF-02.2")
async def test_facts_relate_entities(knowledge: KnowledgeMemory) -> None:
    """Names that were known before and after the fact; not shared names, parts of longer names, or common words."""
    employed = await knowledge.store_fact(
        subject="Anna", predicate="works_at", content="Anna works at Acme Labs, in May", scope="ops"
    )
    anna = employed.entity_id
    labs = await knowledge.entities.create(canonical_name="Acme Labs", entity_type="organization")
    for name in ("Acme", "May", "In"):
        await knowledge.entities.create(canonical_name=name, entity_type="other")
    await knowledge.entities.create(canonical_name="May", entity_type="person")
    await knowledge.store_fact(
        subject="Acme Labs", predicate="visited_by", content="anna is not a name, Anna is", scope="shop"
    )
    edges = [("Acme Labs", "visited_by", "Anna"), ("Anna", "works_at", "Acme Labs")]
    assert await relations(knowledge, labs.id) == await relations(knowledge, anna) == edges
    assert await relations(knowledge, anna, scope="ops") == edges[1:]
    assert await relations(knowledge, anna, scope="other") == []
    for entity in (labs.id, None):
        graph = await knowledge.graph.read(entity_id=entity)
        drawn = {(each.source, each.target, each.relation) for each in graph.edges}
        assert {(str(anna), str(labs.id), "works_at"), (str(labs.id), str(anna), "visited_by")} <= drawn


async def test_relations_follow_their_facts(knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool) -> None:
    """Superseding, forgetting, merging and unmerging change them; the past stays readable."""
    knowledge.session.clock = utc_now
    acme, acme_inc, beta = [
        (await knowledge.entities.create(canonical_name=name, entity_type="organization")).id
        for name in ("Acme", "Umbrella", "Beta")
    ]
    key: dict[str, Any] = {"subject": "Anna", "predicate": "works_at"}
    anna = (await knowledge.store_fact(**key, content="Anna works at Umbrella")).entity_id
    known = await knowledge_pool.fetchval("SELECT clock_timestamp()")
    assert await relations(knowledge, anna) == [("Anna", "works_at", "Umbrella")]
    await knowledge.entities.merge(acme_inc, acme)
    assert await relations(knowledge, acme) == [("Anna", "works_at", "Acme")]
    assert await relations(knowledge, acme_inc) == [("Anna", "works_at", "Acme")]
    await knowledge.entities.unmerge(acme_inc)
    assert await relations(knowledge, acme) == []
    moved = await knowledge.store_fact(**key, content="Anna works at Beta")
    assert await relations(knowledge, anna) == [("Anna", "works_at", "Beta")]
    assert await relations(knowledge, anna, as_of=known) == [("Anna", "works_at", "Umbrella")]
    await knowledge.forget("fact", moved.id)
    assert await relations(knowledge, beta) == []
