"""The executor: what an answer does to facts, rules, links and episodes, and what it cannot do."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import StorageUnavailableError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation import executor
from commonplace.knowledge.consolidation.runs import RunState
from commonplace.knowledge.model.consolidation_results import ConsolidationResult, ProposedFact, ProposedRule
from commonplace.knowledge.storage_functions import create_link, forget_memory, run_consolidation, store_rule
from support.consolidation import Bench, Spawner, answer, fact, fetch, links_of, states, store_some
from support.knowledge import ACTOR
from support.on_pool import memory_on
from support.reembedding import TurnedEngine

pytestmark = pytest.mark.usefixtures("tenant")

FACTS = "SELECT * FROM facts ORDER BY created_at, subject, predicate, content"


@pytest.fixture
async def bench(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Bench:
    """Three episodes of the butler ``ops``."""
    made = Bench(knowledge_pool, engine, clock)
    made.episodes = await store_some(knowledge_pool, engine, clock, "ops", ["one", "two", "three"])
    return made


@pytest.mark.requirement("KNW-14.1", "KNW-14.3")
async def test_a_new_fact_is_linked_to_its_episodes(bench: Bench) -> None:
    """To those that the model names; to all of the group where it names none, or none of the group."""
    _, second, third = bench.episodes
    named = [str(third), str(second), str(uuid4())]
    new = fact(
        "build", "takes", "four minutes", permanence="volatile", importance=8, tags=["ci"], evidence=named
    )
    run = await bench.say(
        new_facts=[new, fact("a", "b", "c"), fact("d", "e", "f", evidence=[str(uuid4())])],
        new_rules=[{"content": "Be brief", "tags": ["style"], "evidence": [str(second)]}],
    )
    assert (run.facts_created, run.rules_created, run.errors) == (3, 1, ())
    build, of_all, of_none = sorted(await fetch(bench.pool, FACTS), key=lambda row: str(row["importance"]))[
        ::-1
    ]
    assert (build["permanence"], build["importance"], build["tags"], build["decay_rate"]) == (
        "volatile", 8.0, ["ci"], 0.03,
    )  # fmt: skip
    assert (build["source_butler"], build["scope"], build["source_episode_id"]) == ("ops", "ops", second)
    assert build["embedding"] is not None
    assert await links_of(bench.pool, build["id"]) == {second, third}
    for each in (of_all, of_none):
        assert await links_of(bench.pool, each["id"]) == set(bench.episodes)
    (rule,) = await fetch(bench.pool, "SELECT * FROM rules")
    assert (rule["scope"], rule["maturity"], rule["source_butler"]) == ("ops", "candidate", "ops")
    assert await links_of(bench.pool, rule["id"]) == {second}
    rows = await fetch(
        bench.pool, "SELECT consolidated, consolidation_status, lease_run, leased_by FROM episodes"
    )
    assert {tuple(row) for row in rows} == {(True, "consolidated", None, None)}


@pytest.mark.requirement("KNW-14.2", "R-KNW-3")
@pytest.mark.parametrize("scope", ["global", "ops"])
async def test_an_update_acts_in_the_scope_of_its_target(bench: Bench, scope: str) -> None:
    """The target is superseded, in the very scope in which it stands."""
    target = await bench.known("build", "takes", "four minutes", scope=scope)
    run = await bench.say(updated_facts=[fact("build", "takes", "five minutes", target_id=str(target))])
    assert (run.facts_updated, run.errors) == (1, ())
    (new,) = [row for row in await fetch(bench.pool, FACTS) if row["id"] != target]
    assert (new["scope"], new["supersedes_id"], new["validity"]) == (scope, target, "active")
    assert (await bench.get("fact", target))["validity"] == "superseded"
    assert await links_of(bench.pool, new["id"]) == set(bench.episodes)
    assert await links_of(bench.pool, new["id"], "supersedes") == {target}


async def test_no_run_writes_into_everybody_s_scope(
    knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock
) -> None:
    """A butler that is called ``global`` has no scope of its own."""
    await store_some(knowledge_pool, engine, clock, "global", ["All doors are open"])
    said = answer(new_facts=[fact("doors", "state", "open")], new_rules=[{"content": "Leave doors open"}])
    report = await run_consolidation(knowledge_pool, engine, Spawner(said), clock=clock)
    (run,) = report.runs
    assert (run.facts_created, run.rules_created) == (0, 0)
    assert run.errors == (
        "new fact 1: butler: expected a name other than global, the scope of all butlers",
        "new rule 1: butler: expected a name other than global, the scope of all butlers",
    )


@pytest.mark.requirement("KNW-14.2", "R-KNW-3")
async def test_an_update_takes_the_place_of_its_target_whatever_its_key(bench: Bench) -> None:
    """Also where the model gave it another predicate, and where the target's key is an entity's."""
    other_key = await bench.known("build", "takes", "four minutes")
    entity = await memory_on(bench.pool).entities.create(canonical_name="Ann", entity_type="person")
    of_entity = await bench.known("Ann", "works_at", "Acme", entity_id=entity.id)
    run = await bench.say(
        updated_facts=[
            fact("the build", "lasts", "five minutes", target_id=str(other_key)),
            fact("Ann Smith", "works_at", "Bolt", target_id=str(of_entity)),
        ]
    )
    assert (run.facts_updated, run.errors) == (2, ())
    new = {row["subject"]: row for row in await fetch(bench.pool, FACTS) if row["validity"] == "active"}
    assert set(new) == {"the build", "Ann Smith"}
    assert new["the build"]["supersedes_id"] == other_key
    assert str(new["Ann Smith"]["entity_id"]) == str(entity.id)
    assert await links_of(bench.pool, new["the build"]["id"], "supersedes") == {other_key}


@pytest.mark.requirement("KNW-14.4")
async def test_an_action_that_fails_leaves_the_others_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the reason: what comes after it is done, the error is logged and kept, the episodes are consolidated."""
    async with bench.pool.acquire() as connection:
        await connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN IF NEW.subject = 'bad' THEN RAISE EXCEPTION 'no room'; END IF; RETURN NEW; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    key = "sk-ant-api03-" + "Ab1" * 20
    run = await bench.say(
        new_facts=[
            fact("good", "p", "first"),
            fact("bad", "p", "x"),
            fact("s" * 300, "p", "too long"),
            fact("secret", "p", f"the key is {key}"),
            fact("good", "q", "last"),
        ],
        updated_facts=[fact("a", "b", "c", target_id=str(uuid4()))],
        new_rules=[{"content": f"use {key}"}, {"content": "A good rule"}],
        confirmations=[str(uuid4())],
    )
    assert (run.state, run.facts_created, run.rules_created) == (RunState.APPLIED, 2, 1)
    places = [message.partition(":")[0] for message in run.errors]
    assert places == [
        "new_facts[2].subject", "updated fact 1", "new fact 3", "new rule 1", "confirmation 1", "new fact 2",
    ]  # fmt: skip
    assert "no room" in run.errors[-1]
    assert key not in f"{run.errors}{caplog.text}"
    assert all(place in caplog.text for place in places)
    assert [row["content"] for row in await fetch(bench.pool, FACTS)] == ["first", "last"]
    assert {status for _, status in await states(bench.pool)} == {"consolidated"}
    assert await fetch(bench.pool, "SELECT * FROM memory_links WHERE source_type = 'fact'") != []
    assert len((await memory_on(bench.pool).runs.get(run.id)).actions) == 3


@pytest.mark.requirement("KNW-14.2")
async def test_only_what_the_model_was_shown_can_be_changed(bench: Bench) -> None:
    """An id of another butler's fact, or of one that was superseded meanwhile, is refused."""
    hidden = await bench.known("a", "b", "c", scope="mail")
    target = await bench.known("build", "takes", "four minutes")
    rule = await store_rule(bench.pool, bench.engine, content="of mail", scope="mail", clock=bench.clock)
    newer: list[UUID] = []

    async def meanwhile(_: str) -> str:
        newer.append(await bench.known("build", "takes", "six minutes"))
        return answer(
            updated_facts=[
                fact("a", "b", "poisoned", target_id=str(hidden)),
                fact("build", "takes", "five minutes", target_id=str(target)),
            ],
            confirmations=[str(hidden), str(rule), str(target)],
        )

    report = await run_consolidation(bench.pool, bench.engine, Spawner(meanwhile), clock=bench.clock)
    assert len(report.errors) == 5
    assert (report.total("facts_updated"), report.total("facts_confirmed")) == (0, 0)
    active = {
        row["id"]: row["content"] for row in await fetch(bench.pool, FACTS) if row["validity"] == "active"
    }
    assert active == {hidden: "c", newer[0]: "six minutes"}


async def test_confirmations_are_of_facts_and_rules(bench: Bench) -> None:
    """Their decay begins anew."""
    known = await bench.known("build", "takes", "four minutes")
    rule = await store_rule(
        bench.pool,
        bench.engine,
        content="Be brief",
        scope="ops",
        clock=bench.clock,
    )
    bench.clock.advance(hours=2)
    run = await bench.say(confirmations=[str(known), str(rule)])
    assert (run.facts_confirmed, run.rules_confirmed, run.errors) == (1, 1, ())
    assert (await bench.get("fact", known))["last_confirmed_at"] == bench.clock()
    assert (await bench.get("rule", rule))["last_confirmed_at"] == bench.clock()


async def test_what_is_known_already_is_confirmed_and_not_stored_again(bench: Bench) -> None:
    """A fact of the same key and words, a rule of the same words, and an update that changes nothing."""
    globally = await bench.known("build", "takes", "Four  minutes")
    own = await bench.known("deploy", "takes", "ten minutes", scope="ops")
    rule = await store_rule(bench.pool, bench.engine, content="Be brief", clock=bench.clock)
    bench.clock.advance(hours=1)
    run = await bench.say(
        new_facts=[fact("build", "takes", "four minutes"), fact("new", "p", "x"), fact("new", "p", "X")],
        updated_facts=[fact("deploy", "takes", "ten minutes", target_id=str(own))],
        new_rules=[{"content": "be brief"}],
    )
    assert (run.facts_created, run.facts_updated, run.facts_confirmed) == (1, 0, 3)
    assert (run.rules_created, run.rules_confirmed, run.errors) == (0, 1, ())
    assert {row["validity"] for row in await fetch(bench.pool, FACTS)} == {"active"}
    for kind, each in (("fact", globally), ("fact", own), ("rule", rule)):
        assert (await bench.get(kind, each))["last_confirmed_at"] == bench.clock()
        assert await links_of(bench.pool, each) == set(bench.episodes)


@pytest.mark.requirement("KNW-14.3")
async def test_an_answer_has_its_effects_once(bench: Bench) -> None:
    """Applied again, also at the same time, the run is returned as it was."""
    lease = await bench.lease()
    result = ConsolidationResult(
        new_facts=[ProposedFact(subject="a", predicate="b", content="c")],
        new_rules=[ProposedRule(content="Be brief")],
    )
    runs = await asyncio.gather(*(bench.apply(lease, result) for _ in range(4)))
    assert all(run == runs[0] for run in runs)
    assert (runs[0].state, runs[0].facts_created) == (RunState.APPLIED, 1)
    assert len(await fetch(bench.pool, FACTS)) == 1
    assert len(await fetch(bench.pool, "SELECT * FROM rules")) == 1
    assert len(await fetch(bench.pool, "SELECT * FROM consolidation_actions")) == 2
    applied = "SELECT * FROM memory_events WHERE event_type = 'consolidation_applied'"
    assert len(await fetch(bench.pool, applied)) == 1


async def test_nothing_is_learned_from_an_episode_that_is_forgotten_meanwhile(bench: Bench) -> None:
    """The run is refused, and the next one follows at once: of an old backlog one expires during most answers."""

    async def meanwhile(_: str) -> str:
        await forget_memory(bench.pool, "episode", bench.episodes[0], clock=bench.clock)
        bench.clock.advance(seconds=1)
        return answer(new_facts=[fact("a", "b", "from the forgotten one")])

    spawner = Spawner(meanwhile, answer(new_facts=[fact("a", "b", "from the others")]))
    report = await run_consolidation(bench.pool, bench.engine, spawner, clock=bench.clock)
    refused, run = report.runs
    assert (refused.state, report.failed) == (RunState.REFUSED, ())
    assert (run.state, set(run.episode_ids)) == (RunState.APPLIED, set(bench.episodes[1:]))
    assert [row["content"] for row in await fetch(bench.pool, FACTS)] == ["from the others"]


@pytest.mark.requirement("KNW-33.1")
async def test_a_run_is_one_unit_of_the_audit_trail(bench: Bench) -> None:
    """Every event that it causes has its id; others have none; no text of a memory is in it."""
    target = await bench.known("build", "takes", "four minutes")
    run = await bench.say(
        new_facts=[fact("x", "y", "a new thing")],
        updated_facts=[fact("build", "takes", "five minutes", target_id=str(target))],
        new_rules=[{"content": "Be brief"}],
    )
    events = await fetch(
        bench.pool,
        "SELECT event_type, actor, payload FROM memory_events WHERE payload ->> 'run_id' = $1",
        str(run.id),
    )
    kinds = [row["event_type"] for row in events]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "fact_created": 2, "fact_superseded": 1, "rule_created": 1, "link_created": 9,
        "episode_consolidated": 3, "consolidation_applied": 1,
    }  # fmt: skip
    assert {row["actor"] for row in events} == {ACTOR}
    assert not any(text in str(events) for text in ("minutes", "brief", "new thing"))
    others = await fetch(bench.pool, "SELECT event_type FROM memory_events WHERE NOT payload ? 'run_id'")
    assert sorted(row["event_type"] for row in others) == ["episode_created"] * 3 + ["fact_created"]


async def test_a_run_can_be_looked_at(bench: Bench) -> None:
    """With what it did, in its order, and what of that still stands."""
    target = await bench.known("build", "takes", "four minutes")
    bench.clock.advance(minutes=5)
    run = await bench.say(
        new_facts=[fact("x", "y", "z")],
        updated_facts=[fact("build", "takes", "five minutes", target_id=str(target))],
        new_rules=[{"content": "Be brief"}],
    )
    record = await memory_on(bench.pool).runs.get(str(run.id))
    assert record.run == run
    assert (run.butler, run.model, run.episode_ids) == ("ops", "a scripted model", tuple(bench.episodes))
    assert (run.started_at, run.ended_at) == (bench.clock(), bench.clock())
    assert [(each.position, each.action, each.content, each.state) for each in record.actions] == [
        (0, "fact_updated", "five minutes", "active"),
        (1, "fact_created", "z", "active"),
        (2, "rule_created", "Be brief", "candidate"),
    ]
    assert record.actions[0].superseded_ids == (target,)
    assert await memory_on(bench.pool).runs.list(butler="mail") == []
    assert await memory_on(bench.pool).runs.list(butler="ops", state="applied", limit=1) == [run]


async def test_a_deadlock_or_an_outage_applies_the_whole_answer_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the first attempt is left; where the server stays away, nothing is written, and that is said."""
    monkeypatch.setattr(executor, "PAUSES_S", (0.0,))
    async with bench.pool.acquire() as connection:
        await connection.execute(
            "CREATE SEQUENCE attempts; CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN IF nextval('attempts') <= 1 THEN RAISE EXCEPTION 'x' USING ERRCODE = 'deadlock_detected';"
            " END IF; RETURN NEW; END $$;"
            "CREATE TRIGGER deadlock BEFORE INSERT ON rules FOR EACH ROW EXECUTE FUNCTION deadlock()"
        )
    result = ConsolidationResult(
        new_facts=[ProposedFact(subject="a", predicate="b", content="c")],
        new_rules=[ProposedRule(content="Be brief")],
    )
    run = await bench.apply(await bench.lease(), result)
    assert (run.facts_created, run.rules_created, run.errors) == (1, 1, ())
    assert len(await fetch(bench.pool, FACTS)) == 1
    bench.episodes = await store_some(bench.pool, bench.engine, bench.clock, "ops", ["four"])
    async with bench.pool.acquire() as connection:
        await connection.execute("ALTER SEQUENCE attempts RESTART")
    monkeypatch.setattr(executor, "PAUSES_S", ())
    with pytest.raises(StorageUnavailableError, match="could not be applied"):
        await bench.apply(
            await bench.lease(), ConsolidationResult(new_rules=[ProposedRule(content="Another")])
        )
    assert len(await fetch(bench.pool, "SELECT * FROM rules")) == 1


@pytest.mark.requirement("R-KNW-4", "KNW-31.1")
async def test_a_worker_on_the_former_embedding_model_consumes_no_episode(bench: Bench) -> None:
    """Its vectors are refused: that is an outage, so the episodes wait and no attempt is counted."""
    said = Spawner(answer(new_facts=[fact("a", "b", "c")], new_rules=[{"content": "Be brief"}]))

    async def moved_meanwhile(prompt: str) -> str:
        await memory_on(bench.pool).reembedding.run(TurnedEngine())
        return await said(prompt, trigger_source="")

    report = await run_consolidation(bench.pool, bench.engine, Spawner(moved_meanwhile), clock=bench.clock)
    assert report.runs == ()
    assert "ModelMismatchError" in report.errors[0]
    assert set(await states(bench.pool)) == {("ops", "failed")}
    rows = await fetch(bench.pool, "SELECT retry_count FROM episodes")
    assert [row["retry_count"] for row in rows] == [0, 0, 0]
    bench.clock.advance(seconds=301)
    report = await run_consolidation(bench.pool, TurnedEngine(), said, clock=bench.clock)
    assert (report.total("facts_created"), report.total("rules_created")) == (1, 1)


async def test_other_writers_and_runs_do_not_hinder_each_other(bench: Bench) -> None:
    """Facts of the same keys, stored and linked at the same time: one of each key is active in the end."""
    keys = [f"k{number}" for number in range(8)]
    lease = await bench.lease()
    result = ConsolidationResult(
        new_facts=[ProposedFact(subject=key, predicate="p", content="run") for key in keys]
    )

    async def write(key: str) -> None:
        stored = await bench.known(key, "p", "by hand", scope="ops", source_episode_id=bench.episodes[0])
        await create_link(
            bench.pool,
            source_type="fact",
            source_id=stored,
            target_type="episode",
            target_id=bench.episodes[1],
            relation="derived_from",
        )

    run, *_ = await asyncio.gather(bench.apply(lease, result), *(write(key) for key in reversed(keys)))
    assert (run.facts_created, run.errors) == (8, ())
    active = await fetch(bench.pool, "SELECT subject FROM facts WHERE validity = 'active'")
    assert sorted(row["subject"] for row in active) == keys
