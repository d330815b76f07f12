"""Undoing a run: what was before comes back, what somebody changed since is left alone, and both are said."""

from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.runs import Run, RunState
from commonplace.knowledge.consolidation.undo import UndoReport
from commonplace.knowledge.storage_functions import (
    confirm_memory,
    forget_memory,
    mark_harmful,
    mark_helpful,
    run_consolidation,
    store_fact,
    store_rule,
    undo_run,
)
from support.consolidation import NOTHING, Spawner, answer, fact, fetch, links_of, states, store_some
from support.knowledge import ACTOR, OF_CONSOLIDATION
from support.on_pool import memory_on

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("KNW-33.1")]


ORDERS = tuple(permutations(range(3)))


class World:
    """A butler with something known, and a run that changed it."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock

    async def know(self, predicate: str, content: str) -> UUID:
        """Store a fact of the butler about the build."""
        return await store_fact(
            self.pool,
            self.engine,
            subject="build",
            predicate=predicate,
            content=content,
            scope="ops",
            clock=self.clock,
        )

    async def run(self, **actions: Any) -> Run:  # noqa: ANN401
        """Let a new episode be consolidated with these actions."""
        await store_some(self.pool, self.engine, self.clock, "ops", ["something happened"])
        report = await run_consolidation(self.pool, self.engine, Spawner(answer(**actions)), clock=self.clock)
        assert report.errors == ()
        return report.runs[0]

    async def undo(self, run: Run, **more: Any) -> UndoReport:  # noqa: ANN401
        """Undo a run."""
        return await undo_run(self.pool, run.id, clock=self.clock, **more)

    async def facts(self) -> dict[str, str]:
        """Return the validity of each fact, by its content."""
        return {row["content"]: row["validity"] for row in await fetch(self.pool, "SELECT * FROM facts")}

    async def picture(self) -> list[list[dict[str, Any]]]:
        """Return all that searches see of facts and rules."""
        facts = (
            "SELECT id, content, validity, last_confirmed_at FROM facts WHERE validity = 'active' ORDER BY id"
        )
        rules = (
            "SELECT id, content, last_confirmed_at FROM rules"
            " WHERE (metadata -> 'forgotten') IS DISTINCT FROM 'true' ORDER BY id"
        )
        words = "SELECT word, memory_id FROM fact_words UNION ALL SELECT word, memory_id FROM rule_words ORDER BY 1, 2"
        return [[dict(row) for row in await fetch(self.pool, query)] for query in (facts, rules, words)]


@pytest.fixture
def world(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> World:
    """An empty database."""
    return World(knowledge_pool, engine, clock)


async def test_a_run_is_undone_as_if_it_had_never_been(world: World) -> None:
    """What it stored is gone, what it replaced is back, and what it confirmed counts from when it did before."""
    takes, lasts, confirmed = (
        await world.know("takes", "four minutes"),
        await world.know("lasts", "long"),
        await world.know("runs", "nightly"),
    )
    rule = await store_rule(world.pool, world.engine, content="Be brief", scope="ops", clock=world.clock)
    before = await world.picture()
    world.clock.advance(days=1)
    run = await world.run(
        new_facts=[
            fact("build", "takes", "five minutes"),
            fact("build", "takes", "six minutes"),
            fact("build", "runs", "nightly"),
            fact("new", "p", "x"),
        ],
        updated_facts=[fact("the build", "endures", "short", target_id=str(lasts))],
        new_rules=[{"content": "A new rule"}],
        confirmations=[str(rule), str(confirmed)],
    )
    assert await world.picture() != before
    world.clock.advance(days=1)
    report = await world.undo(run)
    assert await world.picture() == before
    assert (report.facts_retracted, report.facts_restored, report.rules_forgotten) == (4, 1, 1)
    assert (report.confirmations_undone, report.kept, report.already_undone) == (3, (), False)
    assert (await world.facts())["six minutes"] == "retracted"
    assert await links_of(world.pool, confirmed) == set()
    assert takes in {row["id"] for row in before_active(before)}
    assert await states(world.pool) == [("ops", "consolidated")]
    undone = (await memory_on(world.pool).runs.get(run.id)).run
    assert (undone.state, undone.undone_at, undone.undone_by) == (RunState.UNDONE, world.clock(), ACTOR)


def before_active(picture: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the active facts of a picture."""
    return picture[0]


async def test_what_was_changed_since_is_left_and_named(world: World) -> None:
    """A newer fact of the key, a retraction and a confirmation by somebody else stay."""
    old = await world.know("takes", "four minutes")
    gone = await world.know("lasts", "long")
    confirmed = await world.know("runs", "nightly")
    world.clock.advance(hours=1)
    run = await world.run(
        new_facts=[fact("build", "takes", "five minutes"), fact("build", "lasts", "short")],
        new_rules=[{"content": "A new rule"}],
        confirmations=[str(confirmed)],
    )
    world.clock.advance(hours=1)
    newer = await world.know("takes", "seven minutes")
    await forget_memory(world.pool, "fact", gone, clock=world.clock)
    await confirm_memory(world.pool, "fact", confirmed, clock=world.clock)
    ((rule,),) = await fetch(world.pool, "SELECT id FROM rules")
    await forget_memory(world.pool, "rule", rule, clock=world.clock)
    report = await world.undo(run)
    assert await world.facts() == {
        "four minutes": "superseded", "five minutes": "retracted", "seven minutes": "active",
        "long": "retracted", "short": "retracted", "nightly": "active",
    }  # fmt: skip
    assert (report.facts_retracted, report.facts_restored, report.confirmations_undone) == (2, 0, 0)
    assert len(report.kept) == 4
    assert all(any(str(each) in said for said in report.kept) for each in (old, gone, confirmed, rule))
    assert not any(str(newer) in said for said in report.kept)


async def test_what_the_run_confirmed_before_it_superseded_it_comes_back(world: World) -> None:
    """A confirmation is no storing: the fact was there before the run."""
    known = await world.know("takes", "four minutes")
    before = await world.picture()
    world.clock.advance(days=1)
    run = await world.run(
        updated_facts=[
            fact("build", "takes", content, target_id=str(known))
            for content in ("four minutes", "five minutes")
        ]
    )
    assert (run.facts_confirmed, await world.facts()) == (
        1, {"four minutes": "superseded", "five minutes": "active"},
    )  # fmt: skip
    report = await world.undo(run)
    assert await world.picture() == before
    assert (report.facts_retracted, report.facts_restored, report.kept) == (1, 1, ())


@pytest.mark.parametrize("mark", [mark_helpful, mark_harmful])
async def test_what_others_confirmed_or_applied_since_stays(world: World, mark: Any) -> None:  # noqa: ANN401
    """With its episodes and in place of what it had replaced; the report names each with the reason."""
    await world.know("takes", "four minutes")
    world.clock.advance(hours=1)
    run = await world.run(
        new_facts=[fact("build", "takes", "five minutes"), fact("build", "Runs", "x")],
        new_rules=[{"content": "Be brief"}, {"content": "Be kind"}],
    )
    world.clock.advance(hours=1)
    ((confirmed,),) = await fetch(world.pool, "SELECT id FROM facts WHERE content = 'five minutes'")
    ((applied,),) = await fetch(world.pool, "SELECT id FROM rules WHERE content = 'Be brief'")
    await confirm_memory(world.pool, "fact", confirmed, clock=world.clock)
    for _ in range(6):
        await mark(world.pool, applied, clock=world.clock)
    report = await world.undo(run)
    assert await world.facts() == {"four minutes": "superseded", "five minutes": "active", "x": "retracted"}
    rules = "SELECT content FROM rules WHERE (metadata -> 'forgotten') IS DISTINCT FROM 'true'"
    assert [row["content"] for row in await fetch(world.pool, rules)] == ["Be brief"]
    assert (report.facts_retracted, report.facts_restored, report.rules_forgotten) == (1, 0, 1)
    assert set(report.kept) == {
        f"fact {confirmed} stays unchanged: it has been confirmed since",
        f"rule {applied} stays unchanged: it has been applied since (6 times)",
    }
    assert await links_of(world.pool, confirmed) == set(run.episode_ids)


@pytest.mark.parametrize("first", ["learned", "learned again"])
async def test_what_another_run_learned_again_stays_until_that_one_is_undone(
    world: World, first: str
) -> None:
    """In whatever order the two are undone, nothing of them is left in the end."""
    empty = await world.picture()
    learned: dict[str, Any] = {
        "new_facts": [fact("build", "takes", "four minutes")],
        "new_rules": [{"content": "Be brief"}],
    }
    one = await world.run(**learned)
    world.clock.advance(hours=1)
    two = await world.run(**learned)
    assert (two.facts_confirmed, two.rules_confirmed) == (1, 1)
    if first == "learned":
        report = await world.undo(one)
        assert (report.facts_retracted, report.rules_forgotten) == (0, 0)
        assert len(report.kept) == 2
        assert all("another run has learned it again since" in said for said in report.kept)
        assert await world.facts() == {"four minutes": "active"}
    else:
        report = await world.undo(two)
        assert (report.confirmations_undone, report.kept) == (2, ())
    last = await world.undo(two if first == "learned" else one)
    assert (last.facts_retracted, last.rules_forgotten, last.kept) == (1, 1, ())
    assert await world.picture() == empty


@pytest.mark.parametrize("order", ORDERS)
async def test_three_runs_that_learned_the_same_can_be_undone_in_any_order(
    world: World, order: tuple[int, ...]
) -> None:
    """The fact stays as long as one of them stands, and is gone with the last."""
    runs: list[Run] = []
    for _ in range(3):
        world.clock.advance(hours=1)
        runs.append(await world.run(new_facts=[fact("build", "takes", "four minutes")]))
    for place in order:
        assert await world.facts() == {"four minutes": "active"}
        await world.undo(runs[place])
    assert await world.facts() == {"four minutes": "retracted"}


@pytest.mark.parametrize("other_keys", [False, True])
@pytest.mark.parametrize("order", ORDERS)
async def test_a_chain_of_runs_can_be_undone_in_any_order(
    world: World, order: tuple[int, ...], *, other_keys: bool
) -> None:
    """What comes back is what the runs that were not undone have left, in the end what was there before them all."""
    target = await world.know("takes", "v0")
    before = await world.picture()
    runs: list[Run] = []
    for number in (1, 2, 3):
        world.clock.advance(hours=1)
        predicate = f"takes {number}" if other_keys else "takes"
        update = fact("build", predicate, f"v{number}", target_id=str(target))
        runs.append(await world.run(updated_facts=[update]))
        ((target,),) = await fetch(world.pool, "SELECT id FROM facts WHERE content = $1", f"v{number}")
    undone: set[int] = set()
    for place in order:
        await world.undo(runs[place])
        undone.add(place)
        newest = next(number for number in (3, 2, 1, 0) if number - 1 not in undone)
        active = [content for content, validity in (await world.facts()).items() if validity == "active"]
        assert active == [f"v{newest}"]
    assert await world.picture() == before


@pytest.mark.parametrize("order", tuple(permutations(range(2))))
async def test_what_a_run_moved_to_another_key_comes_back_though_another_run_took_its_key(
    world: World, order: tuple[int, ...]
) -> None:
    """The first undo leaves it, as its key is taken; the second one frees the key."""
    known = await world.know("takes", "four minutes")
    before = await world.picture()
    world.clock.advance(hours=1)
    moved = await world.run(updated_facts=[fact("build", "lasts", "long", target_id=str(known))])
    world.clock.advance(hours=1)
    taken = await world.run(new_facts=[fact("build", "takes", "five minutes")])
    reports = [await world.undo((moved, taken)[place]) for place in order]
    assert await world.picture() == before
    assert [report.facts_restored for report in reports] == [0, 1]


async def test_a_key_that_somebody_freed_on_purpose_stays_free(world: World) -> None:
    """What a run had replaced does not come back where somebody has stored and forgotten a newer fact since."""
    known = await world.know("takes", "four minutes")
    world.clock.advance(hours=1)
    moved = await world.run(updated_facts=[fact("build", "lasts", "long", target_id=str(known))])
    world.clock.advance(hours=1)
    theirs = await world.know("takes", "six minutes")
    assert (await world.undo(moved)).facts_restored == 0
    await forget_memory(world.pool, "fact", theirs, clock=world.clock)
    world.clock.advance(hours=1)
    taken = await world.run(new_facts=[fact("build", "takes", "five minutes")])
    assert (await world.undo(taken)).facts_restored == 0
    assert "active" not in (await world.facts()).values()


async def test_what_an_operator_confirmed_comes_back_in_place_of_what_was_before_it(world: World) -> None:
    """A fact of an undone run that was superseded and is confirmed still stands in its chain."""
    target = await world.know("takes", "v0")
    world.clock.advance(hours=1)
    one = await world.run(updated_facts=[fact("build", "takes", "v1", target_id=str(target))])
    ((v1,),) = await fetch(world.pool, "SELECT id FROM facts WHERE content = 'v1'")
    world.clock.advance(hours=1)
    await confirm_memory(world.pool, "fact", v1, clock=world.clock)
    two = await world.run(updated_facts=[fact("build", "takes", "v2", target_id=str(v1))])
    assert "confirmed since" in str((await world.undo(one)).kept)
    assert (await world.undo(two)).facts_restored == 1
    assert await world.facts() == {"v0": "superseded", "v1": "active", "v2": "retracted"}


async def test_a_second_undo_says_so_and_does_nothing(world: World) -> None:
    """Also where the same facts have been learned again meanwhile."""
    run = await world.run(new_facts=[fact("a", "b", "c")])
    await world.undo(run)
    await world.run(new_facts=[fact("a", "b", "c")])
    again = await world.undo(run)
    assert (again.already_undone, again.facts_retracted) == (True, 0)
    found = await fetch(world.pool, "SELECT validity FROM facts ORDER BY validity")
    assert [row["validity"] for row in found] == ["active", "retracted"]


async def test_its_episodes_can_be_consolidated_again(world: World) -> None:
    """Where that is asked for; the next run gets them."""
    run = await world.run(new_facts=[fact("a", "b", "wrong")])
    report = await world.undo(run, requeue=True)
    assert report.episodes_requeued == 1
    assert await states(world.pool) == [("ops", "pending")]
    again = await run_consolidation(
        world.pool, world.engine, Spawner(answer(new_facts=[fact("a", "b", "right")])), clock=world.clock
    )
    assert again.runs[0].episode_ids == run.episode_ids
    assert await world.facts() == {"wrong": "retracted", "right": "active"}


@pytest.mark.requirement("KNW-15.1")
async def test_episodes_that_have_expired_do_not_wait_again(world: World) -> None:
    """No run would read them, and the next cleanup deletes them; the report says how many there are."""
    await store_some(world.pool, world.engine, world.clock, "ops", ["soon gone"])
    world.clock.advance(days=6)
    run = await world.run(new_facts=[fact("a", "b", "c")])
    assert len(run.episode_ids) == 2
    world.clock.advance(days=2)
    report = await world.undo(run, requeue=True)
    assert (report.episodes_requeued, report.episodes_expired) == (1, 1)
    assert [group.episodes for group in await memory_on(world.pool, clock=world.clock).runs.pending()] == [1]
    assert await states(world.pool) == [("ops", "consolidated"), ("ops", "pending")]


async def test_only_a_run_with_effects_can_be_undone(world: World) -> None:
    """An unknown id, a malformed one and a run that failed are told apart."""
    with pytest.raises(NotFoundError):
        await undo_run(world.pool, uuid4())
    with pytest.raises(InvalidInputError, match="run_id"):
        await undo_run(world.pool, "the last one")
    await store_some(world.pool, world.engine, world.clock, "ops", ["x"])
    await run_consolidation(world.pool, world.engine, Spawner("rubbish"), clock=world.clock)
    (failed,) = await memory_on(world.pool).runs.list()
    with pytest.raises(ConflictError, match="is failed, and only a run that was applied"):
        await world.undo(failed)


async def test_everything_that_happens_to_a_run_is_in_the_audit_trail(world: World) -> None:
    """Each kind of event, with the run's id where a run is behind it, and no text."""
    known = await world.know("takes", "secret words")
    rule = await store_rule(world.pool, world.engine, content="secret words", scope="ops", clock=world.clock)
    world.clock.advance(hours=1)
    run = await world.run(
        new_facts=[fact("build", "takes", "secret words")],
        updated_facts=[],
        confirmations=[str(rule)],
    )
    await world.undo(run, requeue=True)
    changed = await world.run(updated_facts=[fact("build", "takes", "other words", target_id=str(known))])
    await world.undo(changed)
    for spawner in (
        Spawner("rubbish"),
        Spawner("rubbish"),
        Spawner("rubbish"),
        Spawner("rubbish"),
        Spawner("rubbish"),
    ):
        await store_some(world.pool, world.engine, world.clock, "mail", ["secret words"])
        await run_consolidation(world.pool, world.engine, spawner, butler="mail", clock=world.clock)
        world.clock.advance(hours=1)

    async def refuse(_: object) -> bool:
        return False

    await run_consolidation(
        world.pool, world.engine, Spawner(NOTHING), butler="mail", approve=refuse, clock=world.clock
    )
    events = await fetch(world.pool, "SELECT event_type, payload FROM memory_events")
    assert {row["event_type"] for row in events} >= OF_CONSOLIDATION
    for row in events:
        if row["event_type"] in OF_CONSOLIDATION:
            assert "run_id" in row["payload"], row
    assert "words" not in str([row["payload"] for row in events])
