"""Siblings, withdrawals and reviews: what an answer may do to known facts and rules, and how a person sets it right."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, UndoRefusedError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.runs import Run
from commonplace.knowledge.storage_functions import run_consolidation, store_rule, undo_run
from support.consolidation import Bench, Spawner, answer, fact, fetch, links_of, store_some
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


@pytest.fixture
async def bench(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Bench:
    """Three episodes of the butler ``ops``."""
    made = Bench(knowledge_pool, engine, clock)
    made.episodes = await store_some(knowledge_pool, engine, clock, "ops", ["one", "two", "three"])
    return made


async def later(bench: Bench, **actions: Any) -> Run:  # noqa: ANN401 - what a model may say
    """Answer with these actions an hour later, about a new episode."""
    bench.clock.advance(hours=1)
    bench.episodes = await store_some(bench.pool, bench.engine, bench.clock, "ops", ["later"])
    return await bench.say(**actions)


async def active(bench: Bench) -> dict[str, str]:
    """Return the predicates of the active facts by their content."""
    rows = await fetch(bench.pool, "SELECT content, predicate FROM facts WHERE validity = 'active'")
    return {row["content"]: row["predicate"] for row in rows}


async def current_rules(bench: Bench) -> set[str]:
    """Return the rules that are not forgotten."""
    query = "SELECT content FROM rules WHERE (metadata -> 'forgotten') IS DISTINCT FROM 'true'"
    return {row["content"] for row in await fetch(bench.pool, query)}


PEANUTS = fact("Lena", "allergic_to", "peanuts", permanence="permanent", importance=10)
KIWI = fact("Lena", "allergic_to", "kiwi", permanence="permanent", importance=10)


@pytest.mark.requirement("CNS-01.1")
async def test_two_values_of_one_pair_in_one_answer_stay(bench: Bench) -> None:
    """Both are found, each with its value in its key, and the run says so."""
    run = await bench.say(new_facts=[PEANUTS, KIWI])
    assert await active(bench) == {"peanuts": "allergic_to_peanuts", "kiwi": "allergic_to_kiwi"}
    assert (run.facts_created, run.errors) == (2, ())
    assert run.notes == (
        "new fact 1: Lena allergic_to holds several values; stored as allergic_to_peanuts",
        "new fact 2: Lena allergic_to holds several values; stored as allergic_to_kiwi",
    )
    assert (await memory_on(bench.pool).runs.get(run.id)).run.notes == run.notes


@pytest.mark.requirement("CNS-01.1")
@pytest.mark.parametrize(
    "predicate", ["allergic_to", "has_allergy", "allergy", "intolerance", "must_not", "pet"]
)
async def test_values_of_a_list_valued_predicate_stay_over_two_runs(bench: Bench, predicate: str) -> None:
    """And a value that comes again is confirmed, not stored again."""
    kiwi = KIWI | {"predicate": predicate}
    await bench.say(new_facts=[PEANUTS | {"predicate": predicate}])
    await later(bench, new_facts=[kiwi])
    again = await later(bench, new_facts=[kiwi])
    assert set(await active(bench)) == {"peanuts", "kiwi"}
    assert (again.facts_created, again.facts_confirmed) == (0, 1)


@pytest.mark.requirement("CNS-01.1")
async def test_a_fact_that_was_stored_without_its_value_stays_too(bench: Bench) -> None:
    """An older fact of the plain pair is neither superseded nor stored twice."""
    known = await bench.known("Lena", "allergic_to", "peanuts", scope="ops")
    run = await bench.say(new_facts=[PEANUTS, KIWI])
    assert (run.facts_created, run.facts_confirmed) == (1, 1)
    assert (await bench.get("fact", known))["validity"] == "active"
    assert set(await active(bench)) == {"peanuts", "kiwi"}


@pytest.mark.requirement("CNS-01.1")
async def test_two_values_of_any_pair_in_one_answer_stay(bench: Bench) -> None:
    """Also of a predicate that commonly holds one value, and also where the values are written alike."""
    run = await bench.say(
        new_facts=[
            fact("Tom", "prefers", "tea"),
            fact("Tom", "prefers", "coffee"),
            fact("Tom", "prefers", "the tea"),
        ]
    )
    assert await active(bench) == {
        "tea": "prefers_tea", "coffee": "prefers_coffee", "the tea": "prefers_tea_2",
    }  # fmt: skip
    assert len(run.notes) == 3


@pytest.mark.requirement("CNS-01.1")
async def test_the_same_thing_at_another_number_or_day_is_no_sibling(bench: Bench) -> None:
    """Node 22 takes the place of Node 20, and Python stays beside both."""
    await bench.say(
        new_facts=[fact("build", "requires", "Node 20"), fact("build", "requires", "Python 3.12")]
    )
    run = await later(bench, new_facts=[fact("build", "requires", "Node 22")])
    assert await active(bench) == {"Node 22": "requires_node", "Python 3.12": "requires_python"}
    assert "superseded the known fact" in run.notes[1]


@pytest.mark.requirement("CNS-01.1", "KNW-14.2")
async def test_updates_apply_before_new_facts(bench: Bench) -> None:
    """Not kiwi; hazelnut: the update keeps its target, and the new fact stands beside it."""
    known = await bench.known("Lena", "allergic_to_kiwi", "kiwi", scope="ops")
    run = await bench.say(
        new_facts=[fact("Lena", "allergic_to_kiwi", "hazelnut")],
        updated_facts=[fact("Lena", "allergic_to_kiwi", "kiwi was a mistake", target_id=str(known))],
    )
    assert (run.facts_updated, run.facts_created, run.errors) == (1, 1, ())
    assert await active(bench) == {
        "kiwi was a mistake": "allergic_to_kiwi", "hazelnut": "allergic_to_hazelnut",
    }  # fmt: skip


@pytest.mark.requirement("CNS-01.1")
async def test_an_update_to_another_value_takes_the_key_of_that_value(bench: Bench) -> None:
    """So that the old value, if it comes again, does not take its place."""
    known = await bench.known("Lena", "allergic_to_kiwi", "kiwi", scope="ops")
    update = fact("Lena", "allergic_to_kiwi", "hazelnut, not kiwi", target_id=str(known))
    await bench.say(updated_facts=[update])
    assert await active(bench) == {"hazelnut, not kiwi": "allergic_to_hazelnut_kiwi"}
    assert (await bench.get("fact", known))["validity"] == "superseded"


@pytest.mark.requirement("CNS-01.1")
async def test_another_new_fact_on_a_known_pair_supersedes_and_is_reported(bench: Bench) -> None:
    """In the run; an ordinary fact needs no review."""
    known = await bench.known("anna", "lives_in", "Bonn", scope="ops")
    run = await bench.say(new_facts=[fact("anna", "lives_in", "Berlin")])
    assert await active(bench) == {"Berlin": "lives_in"}
    assert run.notes == (f"new fact 1: superseded the known fact {known} of anna lives_in",)
    assert await memory_on(bench.pool).reviews.list() == []


@pytest.mark.requirement("CNS-02.1")
async def test_an_update_inherits_what_it_does_not_say(bench: Bench) -> None:
    """Permanence, importance and tags of its target; what it says counts."""
    known = await bench.known(
        "anna", "born_on", "4 May", scope="ops", permanence="permanent", importance=9, tags=["family"]
    )
    await bench.say(updated_facts=[fact("anna", "born_on", "5 May", target_id=str(known))])
    (row,) = await fetch(bench.pool, "SELECT * FROM facts WHERE validity = 'active'")
    assert (row["permanence"], row["importance"], row["tags"]) == ("permanent", 9.0, ["family"])
    told = fact(
        "anna", "born_on", "6 May", target_id=str(row["id"]), importance=3, permanence="stable", tags=[]
    )
    await later(bench, updated_facts=[told])
    (row,) = await fetch(bench.pool, "SELECT * FROM facts WHERE validity = 'active'")
    assert (row["permanence"], row["importance"], row["tags"]) == ("stable", 3.0, [])


@pytest.mark.requirement("CNS-02.1")
async def test_facts_and_rules_are_withdrawn_with_evidence(bench: Bench) -> None:
    """They leave every search, and the episodes that contradict them are linked; the undo brings both back."""
    known = await bench.known("Lena", "allergies", "kiwi", scope="ops")
    rule = await store_rule(bench.pool, bench.engine, content="Buy no kiwi", scope="ops", clock=bench.clock)
    evidence = [str(bench.episodes[2])]
    run = await bench.say(retractions=[{"target_id": str(known), "evidence": evidence}, str(rule)])
    assert (run.facts_retracted, run.rules_retracted, run.errors) == (1, 1, ())
    assert (await active(bench), await current_rules(bench)) == ({}, set())
    assert await links_of(bench.pool, known, "contradicts") == {bench.episodes[2]}
    report = await undo_run(bench.pool, run.id, clock=bench.clock)
    assert (report.retractions_undone, report.kept) == (2, ())
    assert (await active(bench), await current_rules(bench)) == ({"kiwi": "allergies"}, {"Buy no kiwi"})
    assert await links_of(bench.pool, known, "contradicts") == set()


@pytest.mark.requirement("CNS-02.1")
async def test_what_is_gone_already_is_not_withdrawn_again(bench: Bench) -> None:
    """Nor what the model was not shown."""
    known = await bench.known("anna", "lives_in", "Bonn", scope="ops")
    update = fact("anna", "lives_in", "Berlin", target_id=str(known))
    run = await bench.say(updated_facts=[update], retractions=[str(known), str(UUID(int=7))])
    assert [error.partition(":")[0] for error in run.errors] == ["retraction 2", "retraction 1"]
    assert await active(bench) == {"Berlin": "lives_in"}


@pytest.mark.requirement("CNS-02.1")
async def test_a_withdrawn_fact_that_matters_is_named(bench: Bench) -> None:
    """The run says that a permanent or important fact went, and how to take that back."""
    permanent = await bench.known("Lena", "blood_type", "A negative", scope="ops", permanence="permanent")
    vital = await bench.known("Lena", "carries", "an EpiPen", scope="ops", importance=10)
    other = await bench.known("Lena", "drives", "a van", scope="ops")
    run = await bench.say(retractions=[str(permanent), str(vital), str(other)])
    assert [note.partition(":")[0] for note in run.notes] == ["retraction 1", "retraction 2"]
    assert all("undo the run" in note for note in run.notes)


@pytest.mark.requirement("CNS-01.1")
async def test_a_failed_step_leaves_no_note(bench: Bench) -> None:
    """The note would say that a value was stored under another predicate."""
    async with bench.pool.acquire() as connection:
        await connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN IF NEW.content = 'a boat' THEN RAISE EXCEPTION 'no room'; END IF; RETURN NEW; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    run = await bench.say(new_facts=[fact("pia", "owns", text) for text in ("a bike", "a boat")])
    assert [error.partition(":")[0] for error in run.errors] == ["new fact 2"]
    assert [note.partition(":")[0] for note in run.notes] == ["new fact 1"]


@pytest.mark.requirement("CNS-01.1", "TRU-04.1")
async def test_several_values_that_update_one_fact_all_stay(bench: Bench) -> None:
    """The first takes its place, and the others are new."""
    known = await bench.known("pia", "owns", "a car", scope="ops")
    updates = [fact("pia", "owns", text, target_id=str(known)) for text in ("a bike", "a boat")]
    run = await bench.say(updated_facts=updates)
    assert (run.facts_updated, run.facts_created, run.errors) == (1, 1, ())
    assert await active(bench) == {"a bike": "owns_bike", "a boat": "owns_boat"}


@pytest.mark.requirement("CNS-02.1")
async def test_a_rule_that_changed_takes_the_place_of_the_old_one(bench: Bench) -> None:
    """In its scope and with its tags; the undo restores the old rule, in any order of two runs."""
    old = await store_rule(
        bench.pool, bench.engine, content="Always uv, never pip", tags=["python"], clock=bench.clock
    )
    first = await bench.say(
        updated_rules=[{"target_id": str(old), "content": "Always uv; pip is allowed for docs"}]
    )
    assert (first.rules_updated, first.errors) == (1, ())
    assert await current_rules(bench) == {"Always uv; pip is allowed for docs"}
    (row,) = await fetch(bench.pool, "SELECT * FROM rules WHERE id <> $1", old)
    assert (row["scope"], row["tags"]) == ("global", ["python"])
    assert await links_of(bench.pool, row["id"], "supersedes") == {old}
    second = await later(bench, updated_rules=[{"target_id": str(row["id"]), "content": "Only uv"}])
    assert await current_rules(bench) == {"Only uv"}
    await undo_run(bench.pool, first.id, clock=bench.clock)
    assert await current_rules(bench) == {"Only uv"}
    report = await undo_run(bench.pool, second.id, clock=bench.clock)
    assert await current_rules(bench) == {"Always uv, never pip"}
    assert report.rules_restored == 1


async def superseded(bench: Bench) -> tuple[Run, UUID]:
    """Supersede a permanent fact by a new fact; return the run and the id of the old fact."""
    known = await bench.known("anna", "wedding_day", "1 May", scope="ops", permanence="permanent")
    return await bench.say(new_facts=[fact("anna", "wedding_day", "2 June")]), known


@pytest.mark.requirement("CNS-01.1")
async def test_a_superseded_fact_that_matters_is_reviewed(bench: Bench) -> None:
    """The run says so; a person decides that both hold, and can take that back."""
    run, known = await superseded(bench)
    (review,) = await memory_on(bench.pool).reviews.list()
    assert run.notes[0].endswith(", which is important; decide with: commonplace review")
    assert (review.old_id, review.old_content, review.new_content) == (known, "1 May", "2 June")
    assert review.reason == "the old fact is permanent"
    decided = await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "distinct")
    assert (decided.decision, await memory_on(bench.pool).reviews.list()) == ("distinct", [])
    assert await active(bench) == {"1 May": "wedding_day", "2 June": "wedding_day_june"}
    assert await memory_on(bench.pool).reviews.list(decided=True) == [decided]
    with pytest.raises(ConflictError, match="is already decided"):
        await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "same")
    assert (await memory_on(bench.pool, clock=bench.clock).reviews.undo(review.id)).decision is None
    assert await active(bench) == {"2 June": "wedding_day"}
    await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "corrects")
    assert await active(bench) == {"2 June": "wedding_day"}


@pytest.mark.requirement("CNS-01.1")
@pytest.mark.parametrize("predicate", ["wedding_day", "married_on"])
async def test_an_updated_fact_that_matters_is_reviewed(bench: Bench, predicate: str) -> None:
    """Whether or not the answer changes its key; an ordinary fact needs no review."""
    known = await bench.known("anna", "wedding_day", "1 May", scope="ops", permanence="permanent")
    other = await bench.known("anna", "lives_in", "Bonn", scope="ops")
    run = await bench.say(
        updated_facts=[
            fact("anna", predicate, "2 June", target_id=str(known)),
            fact("anna", "lives_in", "Berlin", target_id=str(other)),
        ]
    )
    why = "which is important; decide with: commonplace review"
    assert run.notes == (f"updated fact 1: superseded the fact {known}, {why}",)
    (review,) = await memory_on(bench.pool).reviews.list()
    assert (review.old_id, review.reason) == (known, "the old fact is permanent")
    await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "distinct")
    assert (await active(bench))["1 May"] == "wedding_day"
    await memory_on(bench.pool, clock=bench.clock).reviews.undo(review.id)
    assert await active(bench) == {"2 June": predicate, "Berlin": "lives_in"}
    await undo_run(bench.pool, run.id, clock=bench.clock)
    assert (await active(bench), await memory_on(bench.pool).reviews.list()) == (
        {"1 May": "wedding_day", "Bonn": "lives_in"},
        [],
    )


@pytest.mark.requirement("CNS-01.1")
async def test_a_decision_holds_when_the_pair_comes_again(bench: Bench) -> None:
    """Nobody is asked twice about the same two texts."""
    run, _ = await superseded(bench)
    (review,) = await memory_on(bench.pool).reviews.list()
    await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "distinct")
    await undo_run(bench.pool, run.id, clock=bench.clock)
    again = await later(bench, new_facts=[fact("anna", "wedding_day", "2 June")])
    assert set(await active(bench)) == {"1 May", "2 June"}
    assert "holds several values" in again.notes[0]
    assert await memory_on(bench.pool).reviews.list() == []


@pytest.mark.requirement("CNS-01.1")
async def test_a_decision_stays_if_another_fact_has_taken_the_key(bench: Bench) -> None:
    """The new fact cannot get its predicate back; nothing changes, and the message says why."""
    await superseded(bench)
    (review,) = await memory_on(bench.pool).reviews.list()
    await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "distinct")
    await fetch(bench.pool, "UPDATE facts SET scope = 'global' WHERE content = '1 May' RETURNING id")
    await bench.known("anna", "wedding_day", "3 July", scope="ops")
    before = await active(bench)
    with pytest.raises(UndoRefusedError, match="another active fact now has the key anna wedding_day"):
        await memory_on(bench.pool, clock=bench.clock).reviews.undo(review.id)
    assert await active(bench) == before


async def test_a_decision_that_cannot_be_applied_says_so(bench: Bench) -> None:
    """An unknown word, an unknown pair, and a pair that waits."""
    await superseded(bench)
    (review,) = await memory_on(bench.pool).reviews.list()
    with pytest.raises(InvalidInputError, match="one of same, refines, corrects, distinct"):
        await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "perhaps")
    with pytest.raises(NotFoundError, match="no review with id 999"):
        await memory_on(bench.pool, clock=bench.clock).reviews.decide(999, "same")
    with pytest.raises(ConflictError, match="not decided yet"):
        await memory_on(bench.pool, clock=bench.clock).reviews.undo(review.id)
    await bench.known("anna", "wedding_day", "3 July", scope="ops")
    with pytest.raises(ConflictError, match="another active fact has its key"):
        await memory_on(bench.pool, clock=bench.clock).reviews.decide(review.id, "distinct")


@pytest.mark.requirement("CNS-04.1")
async def test_an_unreadable_answer_is_asked_for_again_with_its_fault(bench: Bench) -> None:
    """The second answer is applied; nothing counts as a failure."""
    draft, final = answer(new_facts=[fact("a", "b", "draft")]), answer(new_facts=[fact("a", "b", "final")])
    spawner = Spawner(f"Draft:\n{draft}\nFinal:\n{final}", final)
    report = await run_consolidation(bench.pool, bench.engine, spawner, clock=bench.clock)
    assert (report.failed, await active(bench)) == ((), {"final": "b"})
    assert "2 JSON objects that differ could each be the answer" in spawner.prompts[1]
    assert "<previous_answer>" in spawner.prompts[1]


@pytest.mark.requirement("CNS-03.1")
async def test_the_prompt_names_entities_and_the_purpose(bench: Bench) -> None:
    """Entities that the episodes name by an alias, and what the latest episode says about its butler."""
    await fetch(
        bench.pool,
        "INSERT INTO entities (tenant_id, canonical_name, entity_type, aliases)"
        " VALUES (current_setting('commonplace.tenant_id'), 'Anna Berg', 'person', '{Annie}'),"
        " (current_setting('commonplace.tenant_id'), 'Tom Stone', 'person', '{}') RETURNING id",
    )
    await fetch(
        bench.pool,
        "UPDATE episodes SET content = 'annie called', metadata = '{\"purpose\": \"Plans trips.\"}'"
        " WHERE content = 'two' RETURNING id",
    )
    spawner = Spawner("{}")
    report = await run_consolidation(bench.pool, bench.engine, spawner, clock=bench.clock)
    assert (report.episodes_consolidated, report.errors) == (3, ())
    (prompt,) = spawner.prompts
    assert '{"name": "Anna Berg", "type": "person", "aliases": "Annie"}' in prompt
    assert "Tom Stone" not in prompt
    assert "Purpose: Plans trips." in prompt
