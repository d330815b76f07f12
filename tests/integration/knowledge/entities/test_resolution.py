"""Which entity a name means, on a real server."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from commonplace.core.errors import InvalidInputError
from commonplace.core.request_context import request_context
from commonplace.knowledge.entities.resolution import EntityCandidate
from support.entities import add_fact, person, rows
from support.knowledge import TENANT
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")

TRIGRAMS_IN_SQL = """
CREATE FUNCTION similarity(one text, other text) RETURNS real LANGUAGE sql IMMUTABLE AS $$
  WITH grams AS (
    SELECT DISTINCT side, substr('  ' || word || ' ', start, 3) AS gram
    FROM (VALUES (1, one), (2, other)) AS given (side, name)
    CROSS JOIN LATERAL regexp_split_to_table(lower(name), '[^[:alnum:]]+') AS word
    CROSS JOIN LATERAL generate_series(1, length(word) + 1) AS start
    WHERE word <> ''
  ),
  counted AS (SELECT gram, count(*) AS sides FROM grams GROUP BY gram)
  SELECT coalesce(count(*) FILTER (WHERE sides = 2)::real / nullif(count(*), 0), 0)::real FROM counted
$$
"""


def shown(candidates: list[EntityCandidate]) -> list[tuple[str, str, float]]:
    """Return name, tier and score of each."""
    return [(each.canonical_name, each.name_match, each.score) for each in candidates]


@pytest.mark.requirement("KNW-17.1", "KNW-17.2", "KNW-17.3", "KNW-17.7")
async def test_tiers_by_how_well_a_name_fits(knowledge_pool: asyncpg.Pool) -> None:
    """The whole name 100, an alias 80, a part of either 50; each entity once, in its best tier."""
    ann = await person(knowledge_pool, "Ann", "Ann Smith", "ann")
    await person(knowledge_pool, "Annette")
    await person(knowledge_pool, "Bob", "ANN")
    await person(knowledge_pool, "Joe", "Mary Ann")
    await person(knowledge_pool, "Zoe")
    found = await memory_on(knowledge_pool).entities.resolve("aNN", tenant_id=TENANT)
    assert shown(found) == [
        ("Ann", "exact", 100.0),
        ("Bob", "alias", 80.0),
        ("Annette", "prefix", 50.0),
        ("Joe", "prefix", 50.0),
    ]
    assert found[0].entity_id == ann.id
    assert found[0].entity_type == "person"
    assert found[0].aliases == ("Ann Smith", "ann")


@pytest.mark.requirement("KNW-17.7")
async def test_ties_go_by_name_then_id(knowledge_pool: asyncpg.Pool) -> None:
    """Two of a name (of different types) stand by id."""
    for kind in ("person", "organization", "place"):
        await memory_on(knowledge_pool).entities.create(canonical_name="Paris", entity_type=kind)
    found = await memory_on(knowledge_pool).entities.resolve("paris")
    assert [each.entity_id for each in found] == sorted(each.entity_id for each in found)
    (place,) = await memory_on(knowledge_pool).entities.resolve("paris", entity_type="place")
    assert place.entity_type == "place"


@pytest.mark.requirement("KNW-17.1", "KNW-17.2")
@pytest.mark.parametrize("name", ["müller straße", "MÜLLER STRASSE", "Mu\N{COMBINING DIAERESIS}ller  straße"])
async def test_case_and_encoding_do_not_count(knowledge_pool: asyncpg.Pool, name: str) -> None:
    """In any script, as a canonical name and as an alias."""
    await person(knowledge_pool, "Müller Straße")
    await person(knowledge_pool, "Bob", "Mu\N{COMBINING DIAERESIS}ller Straße")
    assert [each.name_match for each in await memory_on(knowledge_pool).entities.resolve(name)] == [
        "exact",
        "alias",
    ]


@pytest.mark.requirement("KNW-17.3", "R-KNW-10")
@pytest.mark.parametrize("name", ["%", "_", "\\", "A%", "100%_x", "'; --"])
async def test_names_are_literal(knowledge_pool: asyncpg.Pool, name: str) -> None:
    """Wildcards and quotes are characters; only the entity that has them is found."""
    await person(knowledge_pool, "Ann")
    odd = await person(knowledge_pool, "x A% \\ 100%_x '; -- y")
    assert [each.entity_id for each in await memory_on(knowledge_pool).entities.resolve(name)] == [odd.id]


@pytest.mark.requirement("KNW-17.8")
async def test_nothing_found_makes_nothing(knowledge_pool: asyncpg.Pool) -> None:
    """An empty list, with fuzzy search too, and no entity is created."""
    assert await memory_on(knowledge_pool).entities.resolve("Nobody", enable_fuzzy=True) == []
    assert await rows(knowledge_pool, "SELECT 1 FROM entities") == []


@pytest.mark.requirement("KNW-17", "R-KNW-7")
async def test_the_merged_are_left_out(knowledge_pool: asyncpg.Pool) -> None:
    """A tombstone is no candidate in any tier; its name leads to the survivor."""
    old, new = await person(knowledge_pool, "Bobby Tables"), await person(knowledge_pool, "Robert")
    await memory_on(knowledge_pool).entities.merge(old.id, new.id)
    (found,) = await memory_on(knowledge_pool).entities.resolve("bobby tables", enable_fuzzy=True)
    assert (found.entity_id, found.name_match) == (new.id, "alias")


@pytest.mark.requirement("KNW-17.4", "R-KNW-10")
async def test_fuzzy_is_asked_for(knowledge_pool: asyncpg.Pool) -> None:
    """Similar names count only on demand, below all others, and only for three characters and more."""
    await person(knowledge_pool, "John Smith")
    await person(knowledge_pool, "Jane", "Jon Smithe")
    await person(knowledge_pool, "Jon Smith Junior")
    await person(knowledge_pool, "Peter")
    assert shown(await memory_on(knowledge_pool).entities.resolve("jon smith")) == [
        ("Jane", "prefix", 50.0),
        ("Jon Smith Junior", "prefix", 50.0),
    ]
    assert shown(await memory_on(knowledge_pool).entities.resolve("jon smith", enable_fuzzy=True))[2:] == [
        ("John Smith", "fuzzy", 20.0)
    ]
    await person(knowledge_pool, "Q Z")
    assert await memory_on(knowledge_pool).entities.resolve("QX", enable_fuzzy=True) == []


@pytest.mark.requirement("KNW-17.4", "R-KNW-10")
async def test_fuzzy_finds_the_same_with_and_without_the_extension(knowledge_pool: asyncpg.Pool) -> None:
    """A server with ``similarity(text, text)`` is asked; what it finds is what is found without it."""
    for name in ("John Smith", "Jon Smyth", "Joan Smit", "Smith & Sons", "Müller", "Acme Corp", "Łukasz"):
        await person(knowledge_pool, name, f"{name} II")
    await rows(knowledge_pool, "UPDATE entities SET name_keys = NULL WHERE canonical_name = 'Jon Smyth'")
    searched = ("jon smith", "mueller", "acme corporation", "lukasz", "smith and sons", "nobody")
    without = [await memory_on(knowledge_pool).entities.resolve(name, enable_fuzzy=True) for name in searched]
    await rows(knowledge_pool, TRIGRAMS_IN_SQL)
    assert [
        await memory_on(knowledge_pool).entities.resolve(name, enable_fuzzy=True) for name in searched
    ] == without
    assert sum(map(len, without)) >= 6
    await rows(
        knowledge_pool,
        "CREATE OR REPLACE FUNCTION similarity(one text, other text) RETURNS real LANGUAGE sql AS 'SELECT 0.3::real'",
    )
    assert len(await memory_on(knowledge_pool).entities.resolve("nobody", enable_fuzzy=True)) == 7


@pytest.mark.requirement("KNW-17.5")
async def test_what_the_talk_is_about_decides(knowledge_pool: asyncpg.Pool) -> None:
    """Of two Kims the one whose active facts share words with the hints comes first, by the Jaccard overlap."""
    gardener = await person(knowledge_pool, "Kim A")
    player = await person(knowledge_pool, "Kim B")
    await add_fact(knowledge_pool, gardener, "likes", "roses tulips")
    await add_fact(knowledge_pool, gardener, "plays", "chess", validity="retracted")
    await add_fact(knowledge_pool, player, "plays", "chess")
    plain = await memory_on(knowledge_pool).entities.resolve("kim")
    assert shown(plain) == [("Kim A", "prefix", 50.0), ("Kim B", "prefix", 50.0)]
    hinted = await memory_on(knowledge_pool).entities.resolve(
        "kim", context_hints={"topic": "Chess club", "mentioned_with": ["Ann"]}
    )
    assert shown(hinted) == [("Kim B", "prefix", 55.0), ("Kim A", "prefix", 50.0)]


@pytest.mark.requirement("KNW-17.5")
async def test_at_most_500_facts_count(knowledge_pool: asyncpg.Pool) -> None:
    """The newest ones: what an older fact says adds nothing any more."""
    kim = await person(knowledge_pool, "Kim")
    await add_fact(knowledge_pool, kim, "plays", "chess")
    await rows(
        knowledge_pool,
        """
        INSERT INTO facts (tenant_id, subject, predicate, content, entity_id, created_at)
        SELECT current_setting('commonplace.tenant_id'), 's', 'p' || n, 'tea', $1, now() + interval '1 hour'
        FROM generate_series(1, 500) AS n
        """,
        kim.id,
    )
    hints = {"topic": "chess"}
    assert (await memory_on(knowledge_pool).entities.resolve("kim", context_hints=hints))[0].score == 100.0
    await rows(knowledge_pool, "DELETE FROM facts WHERE predicate = 'p500'")
    assert (await memory_on(knowledge_pool).entities.resolve("kim", context_hints=hints))[0].score > 100.0


@pytest.mark.requirement("KNW-17.6", "KNW-17.7")
async def test_points_of_the_caller_are_added(knowledge_pool: asyncpg.Pool) -> None:
    """To the entities that they name, rounded to four places; ids of others change nothing."""
    ann, bob = await person(knowledge_pool, "Ann"), await person(knowledge_pool, "Bob", "Ann")
    scores = {str(bob.id): 33.333333, str(uuid4()): 500, str(ann.id): -10}
    found = await memory_on(knowledge_pool).entities.resolve("ann", context_hints={"domain_scores": scores})
    assert shown(found) == [("Bob", "alias", 113.3333), ("Ann", "exact", 90.0)]


async def test_rows_of_another_program_are_found(knowledge_pool: asyncpg.Pool) -> None:
    """Names that nobody folded are folded when they are read, and stored folded with the next change."""
    await rows(
        knowledge_pool,
        """
        INSERT INTO entities (tenant_id, canonical_name, entity_type, aliases)
        VALUES (current_setting('commonplace.tenant_id'), 'MÜLLER', 'person', '{Herr M}')
        """,
    )
    (found,) = await memory_on(knowledge_pool).entities.resolve("müller")
    assert found.name_match == "exact"
    assert [each.name_match for each in await memory_on(knowledge_pool).entities.resolve("herr")] == [
        "prefix"
    ]
    await memory_on(knowledge_pool).entities.update(found.entity_id, metadata={"seen": True})
    assert [each.name_match for each in await memory_on(knowledge_pool).entities.resolve("müller")] == [
        "exact"
    ]
    (row,) = await rows(knowledge_pool, "SELECT name_keys FROM entities")
    assert row["name_keys"] == "\nmüller\nherr m\n"


@pytest.mark.requirement("KNW-29.2")
async def test_no_tenant_resolves_another_ones_names(knowledge_pool: asyncpg.Pool) -> None:
    """Neither by name nor by points for an id that it happens to know, also at once."""
    ann = await person(knowledge_pool, "Ann")

    async def elsewhere() -> list[EntityCandidate]:
        with request_context(tenant_id="tenant-b", actor="other"):
            hints = {"topic": "x", "domain_scores": {str(ann.id): 100}}
            return await memory_on(knowledge_pool).entities.resolve(
                "ann", context_hints=hints, enable_fuzzy=True
            )

    here, there = await asyncio.gather(memory_on(knowledge_pool).entities.resolve("ann"), elsewhere())
    assert (len(here), there) == (1, [])
    with pytest.raises(InvalidInputError, match="tenant of this request"):
        await memory_on(knowledge_pool).entities.resolve("ann", tenant_id="tenant-b")
