"""Entities on a real server: made, read, changed, found."""

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from commonplace.core.errors import InvalidInputError, NotFoundError, SecretRefusedError, TenantUnsetError
from commonplace.core.request_context import request_context
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.model.entity_fields import MAX_ALIASES, MAX_NAME_CHARS, EntityType
from support.entities import events, person
from support.knowledge import ACTOR, TENANT
from support.on_pool import memory_on


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.1", "KNW-33")
async def test_an_entity_is_stored_whole_with_its_event(knowledge_pool: asyncpg.Pool) -> None:
    """Every column, names composed and trimmed, aliases once each; the event tells who and what."""
    created = await memory_on(knowledge_pool).entities.create(
        canonical_name="  Jose\N{COMBINING ACUTE ACCENT}  Diaz ",
        entity_type="person",
        tenant_id=TENANT,
        aliases=["Pepe", "PEPE", "José"],
        metadata={"team": {"name": "ops", "size": 3}, "tags": ["a", None, True, 1.5]},
    )
    assert created.canonical_name == "José Diaz"
    assert created.tenant_id == TENANT
    assert created.entity_type is EntityType.PERSON
    assert created.aliases == ("Pepe", "José")
    assert created.metadata == {"team": {"name": "ops", "size": 3}, "tags": ["a", None, True, 1.5]}
    assert created.created_at == created.updated_at
    assert (created.merged_into, created.survivor_id) == (None, created.id)
    assert await memory_on(knowledge_pool).entities.get(str(created.id)) == created
    (event,) = await events(knowledge_pool, "entity_created")
    assert (event["actor"], event["tenant_id"]) == (ACTOR, TENANT)
    assert event["payload"]["entity_id"] == str(created.id)
    assert event["payload"]["before"] is None
    assert event["payload"]["after"]["canonical_name"] == "José Diaz"
    assert event["payload"]["after"]["entity_type"] == "person"


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.1")
async def test_aliases_and_metadata_may_be_left_out(knowledge_pool: asyncpg.Pool) -> None:
    """They default to empty."""
    created = await memory_on(knowledge_pool).entities.create(canonical_name="Oslo", entity_type="place")
    assert (created.aliases, created.metadata) == ((), {})


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.2")
async def test_a_name_exists_once_for_a_type(knowledge_pool: asyncpg.Pool) -> None:
    """The error is a ``ValueError`` that says duplicate and names the entity; another type is another entity."""
    first = await person(knowledge_pool, "Jos\N{LATIN SMALL LETTER E WITH ACUTE}")
    with pytest.raises(ValueError, match=f"duplicate of entity {first.id}"):
        await person(knowledge_pool, "Jose\N{COMBINING ACUTE ACCENT}")
    await memory_on(knowledge_pool).entities.create(canonical_name="José", entity_type="place")
    with request_context(tenant_id="tenant-b", actor="other"):
        await person(knowledge_pool, "José")


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.2")
async def test_a_race_of_creators_ends_in_one_entity(knowledge_pool: asyncpg.Pool) -> None:
    """Eight create the same one at once: one wins, each other one gets one clear error."""
    results = await asyncio.gather(*(person(knowledge_pool, "Ann") for _ in range(8)), return_exceptions=True)
    made = [result for result in results if isinstance(result, Entity)]
    refused = [result for result in results if isinstance(result, InvalidInputError)]
    assert (len(made), len(refused)) == (1, 7)
    assert all(str(made[0].id) in str(error) for error in refused)
    assert len(await events(knowledge_pool, "entity_created")) == 1


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.3")
async def test_an_unknown_type_is_refused_with_the_valid_ones(knowledge_pool: asyncpg.Pool) -> None:
    """A ``ValueError`` that lists the four."""
    with pytest.raises(ValueError, match="person, organization, place, other"):
        await memory_on(knowledge_pool).entities.create(canonical_name="Rex", entity_type="dog")


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.4", "KNW-33")
async def test_an_update_replaces_names_and_merges_metadata(knowledge_pool: asyncpg.Pool) -> None:
    """The name is overwritten, the list of aliases replaced, keys set; the event holds what differs."""
    before = await person(knowledge_pool, "Ann", "A", "Annie", city="Oslo", age=30)
    after = await memory_on(knowledge_pool).entities.update(
        before.id, canonical_name="Anna", aliases=["Anka"], metadata={"age": 31, "cat": "Tom"}
    )
    assert after.canonical_name == "Anna"
    assert after.aliases == ("Anka",)
    assert after.metadata == {"city": "Oslo", "age": 31, "cat": "Tom"}
    assert after.updated_at > before.updated_at
    assert after.created_at == before.created_at
    assert await memory_on(knowledge_pool).entities.get(after.id) == after
    (event,) = await events(knowledge_pool, "entity_updated")
    assert event["payload"]["before"]["aliases"] == ["A", "Annie"]
    assert event["payload"]["after"]["aliases"] == ["Anka"]


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.4")
async def test_what_an_update_leaves_out_stays(knowledge_pool: asyncpg.Pool) -> None:
    """``None`` is no change, an empty list removes all aliases."""
    ann = await person(knowledge_pool, "Ann", "A", city="Oslo")
    named = await memory_on(knowledge_pool).entities.update(ann.id, metadata={"age": 30})
    assert (named.canonical_name, named.aliases) == ("Ann", ("A",))
    bare = await memory_on(knowledge_pool).entities.update(ann.id, aliases=[])
    assert (bare.aliases, bare.metadata) == ((), {"city": "Oslo", "age": 30})
    with pytest.raises(InvalidInputError, match="to change"):
        await memory_on(knowledge_pool).entities.update(ann.id)
    with pytest.raises(InvalidInputError, match="id of an entity"):
        await memory_on(knowledge_pool).entities.update(uuid4(), aliases=[])


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.2", "KNW-16.4")
async def test_an_update_cannot_take_the_name_of_another(knowledge_pool: asyncpg.Pool) -> None:
    """The same clear error as for a creation, and nothing is changed."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob")
    with pytest.raises(InvalidInputError, match=f"duplicate of entity {ann.id}"):
        await memory_on(knowledge_pool).entities.update(bob.id, canonical_name="Ann")
    assert await memory_on(knowledge_pool).entities.get(bob.id) == bob
    assert await events(knowledge_pool, "entity_updated") == []


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-16.4")
async def test_updates_at_once_lose_no_key(knowledge_pool: asyncpg.Pool) -> None:
    """Each sets a key of its own; all are there at the end."""
    ann = await person(knowledge_pool, "Ann")
    await asyncio.gather(
        *(memory_on(knowledge_pool).entities.update(ann.id, metadata={f"k{n}": n}) for n in range(8))
    )
    found = await memory_on(knowledge_pool).entities.get(ann.id)
    assert found is not None
    assert found.metadata == {f"k{n}": n for n in range(8)}


@pytest.mark.usefixtures("tenant")
async def test_an_unknown_id_is_nothing(knowledge_pool: asyncpg.Pool) -> None:
    """``None`` for an id that nothing has, an error for what is no id."""
    with pytest.raises(NotFoundError):
        await memory_on(knowledge_pool).entities.get(uuid4())
    with pytest.raises(InvalidInputError, match="UUID"):
        await memory_on(knowledge_pool).entities.get("ann'; DROP TABLE entities; --")


@pytest.mark.usefixtures("tenant")
@pytest.mark.requirement("KNW-29.2")
async def test_another_tenant_is_neither_named_nor_seen(knowledge_pool: asyncpg.Pool) -> None:
    """The tenant is the request's: another one as an argument is refused, and its ids name nothing."""
    ann = await person(knowledge_pool, "Ann")
    with pytest.raises(InvalidInputError, match="tenant of this request"):
        await memory_on(knowledge_pool).entities.create(
            canonical_name="Bob", entity_type="person", tenant_id="tenant-b"
        )
    with pytest.raises(InvalidInputError, match="tenant of this request"):
        await memory_on(knowledge_pool).entities.get(ann.id, tenant_id="tenant-b")
    with request_context(tenant_id="tenant-b", actor="other"):
        with pytest.raises(NotFoundError):
            await memory_on(knowledge_pool).entities.get(ann.id)
        with pytest.raises(InvalidInputError, match="id of an entity"):
            await memory_on(knowledge_pool).entities.update(ann.id, canonical_name="Mine")


async def test_without_a_tenant_nothing_is_done(knowledge_pool: asyncpg.Pool) -> None:
    """No request context is an error, whatever the argument says."""
    with pytest.raises(TenantUnsetError):
        await memory_on(knowledge_pool).entities.create(
            canonical_name="Ann", entity_type="person", tenant_id="tenant-a"
        )


@pytest.mark.usefixtures("tenant")
async def test_secrets_are_not_stored(knowledge_pool: asyncpg.Pool) -> None:
    """Neither in a name nor deep in metadata; an operator may say so."""
    key = "sk-abcdef1234567890"
    for fields in (
        {"canonical_name": key},
        {"aliases": ["ok", key]},
        {"metadata": {"login": [{"key": key}]}},
        {"metadata": {"login": {key: 1}}},
        {"metadata": {"login": {"password": key}}},
        {"metadata": {"login": {"password": "hunter2"}}},
    ):
        with pytest.raises(SecretRefusedError) as refused:
            await memory_on(knowledge_pool).entities.create(
                **{"canonical_name": "Ann", "entity_type": "person", **fields}
            )
        assert key not in str(refused.value)
        assert "hunter2" not in str(refused.value)
    kept = await memory_on(knowledge_pool).entities.create(
        canonical_name=key, entity_type="other", allow_secrets=True
    )
    with pytest.raises(SecretRefusedError):
        await memory_on(knowledge_pool).entities.update(kept.id, aliases=[key])


@pytest.mark.usefixtures("tenant")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("canonical_name", ""),
        ("canonical_name", " \x00 "),
        ("canonical_name", "x" * (MAX_NAME_CHARS + 1)),
        ("canonical_name", 7),
        ("aliases", "Ann"),
        ("aliases", ["ok", ""]),
        ("aliases", [f"a{n}" for n in range(MAX_ALIASES + 1)]),
        ("metadata", ["a"]),
        ("metadata", {"x": float("nan")}),
        ("metadata", {"x": b"bytes"}),
        ("metadata", {1: "x"}),
        ("metadata", {"x": "y" * 70_000}),
        ("metadata", {"merged_into": str(uuid4())}),
    ],
)
async def test_what_is_not_of_its_form_is_refused(
    knowledge_pool: asyncpg.Pool, field: str, value: object
) -> None:
    """The error names the field; nothing is written."""
    fields: dict[str, Any] = {"canonical_name": "Ann", "entity_type": "person", field: value}
    with pytest.raises(InvalidInputError, match=field):
        await memory_on(knowledge_pool).entities.create(**fields)
    assert await events(knowledge_pool, "entity_created") == []


@pytest.mark.usefixtures("tenant")
async def test_hostile_text_is_stored_safely(knowledge_pool: asyncpg.Pool) -> None:
    """SQL is text, NUL goes, a lone surrogate becomes the replacement character; depth has an end."""
    name = "Robert'); DROP TABLE entities; --"
    stored = await memory_on(knowledge_pool).entities.create(
        canonical_name=name,
        entity_type="other",
        aliases=["a\x00b", "half \ud83d"],
        metadata={"k\x00": "\ud83d", "big": 2**70},
    )
    assert await memory_on(knowledge_pool).entities.get(stored.id) == stored
    assert stored.canonical_name == name
    assert stored.aliases == ("ab", "half \ufffd")
    assert stored.metadata == {"k": "\ufffd", "big": 2**70}
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"d": deep}
    with pytest.raises(InvalidInputError, match="levels"):
        await person(knowledge_pool, "Deep", **deep)
