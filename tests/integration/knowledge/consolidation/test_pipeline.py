"""Consolidation from end to end: which episodes a model gets, and what becomes of its answers."""

import asyncio
from collections import Counter
from contextvars import Context
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import (
    ModelAccessError,
    ModelBudgetError,
    ModelRefusedError,
    ModelUnavailableError,
    TenantUnsetError,
    UndoRefusedError,
)
from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation import leases
from commonplace.knowledge.consolidation.attempt import ConsolidationPlan
from commonplace.knowledge.consolidation.leases import Lease
from commonplace.knowledge.consolidation.prompt import MAX_EPISODES
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.runs import RunState
from commonplace.knowledge.consolidation.spawner import model_spawner
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.model.short_ids import short_id
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.storage_functions import (
    forget_memory,
    memory_stats,
    run_consolidation,
    store_fact,
    store_rule,
)
from commonplace.llm.scripted import Script
from support.consolidation import NOTHING, Spawner, answer, episodes_of, fact, fetch, states, store_some
from support.knowledge import TENANT
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")


class Consolidate:
    """Runs consolidation with what the test has."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock

    async def __call__(self, spawner: Spawner | None, **more: Any) -> ConsolidationReport:  # noqa: ANN401
        """Consolidate with this spawner."""
        return await run_consolidation(self.pool, self.engine, spawner, clock=self.clock, **more)

    async def store(self, butler: str, *contents: str) -> list[Any]:
        """Store episodes."""
        return await store_some(self.pool, self.engine, self.clock, butler, contents)


@pytest.fixture
def consolidate(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Consolidate:
    """Consolidation on an empty database."""
    return Consolidate(knowledge_pool, engine, clock)


@pytest.mark.requirement("KNW-12.1", "KNW-12.2")
async def test_each_butler_s_episodes_go_to_the_model_in_their_order(consolidate: Consolidate) -> None:
    """With what that butler knows, and not with what another does; nothing waits afterwards."""
    pool, engine, clock = consolidate.pool, consolidate.engine, consolidate.clock
    ops = await consolidate.store("ops", "the first deploy", "the second deploy", "the third deploy")
    mail = await consolidate.store("mail", "a letter came")
    for content, scope in (("known to all", "global"), ("known to ops", "ops"), ("known to mail", "mail")):
        await store_fact(
            pool, engine, subject=scope, predicate="p", content=content, scope=scope, clock=clock
        )
        await store_rule(pool, engine, content=f"{content}, as a rule", scope=scope, clock=clock)
    spawner = Spawner(NOTHING)
    report = await consolidate(spawner)
    assert [episodes_of(prompt) for prompt in spawner.prompts] == [
        [str(each) for each in mail],
        [str(each) for each in ops],
    ]
    of_mail, of_ops = spawner.prompts
    for_ops = ("the third deploy", "known to all", "known to ops", "known to ops, as a rule")
    assert all(text in of_ops for text in for_ops)
    assert "known to mail" not in of_ops
    assert "deploy" not in of_mail
    assert "known to mail, as a rule" in of_mail
    assert spawner.sources == ["schedule:consolidation"] * 2
    assert (report.groups, report.episodes_consolidated, report.errors) == ({"mail": 1, "ops": 3}, 4, ())
    assert set(await states(pool)) == {("mail", "consolidated"), ("ops", "consolidated")}
    assert (await consolidate(spawner)).runs == ()


@pytest.mark.requirement("KNW-12.1")
async def test_the_nearest_hundred_facts_and_fifty_rules_are_shown(consolidate: Consolidate) -> None:
    """Of more, those that are about the episodes, so that the model sees what it would repeat."""
    pool, engine, clock = consolidate.pool, consolidate.engine, consolidate.clock
    for number in range(101):
        await store_fact(pool, engine, subject=f"s{number}", predicate="p", content="noise", clock=clock)
    for number in range(51):
        await store_rule(pool, engine, content=f"noise {number}", clock=clock)
    clock.advance(days=-1)
    await store_fact(pool, engine, subject="harbour", predicate="pilot", content="Mira Lund", clock=clock)
    await store_rule(pool, engine, content="ask the harbour pilot Mira Lund", clock=clock)
    clock.advance(days=1)
    await consolidate.store("ops", "the harbour pilot Mira Lund called")
    spawner = Spawner(NOTHING)
    await consolidate(spawner)
    (prompt,) = spawner.prompts
    assert prompt.count('"predicate": "p"') == 99
    assert prompt.count('"content": "noise ') == 49
    assert "Mira Lund" in prompt.partition("Known facts (100)")[2].partition("Known rules (50)")[0]
    assert "ask the harbour pilot" in prompt


@pytest.mark.requirement("KNW-12.3")
async def test_without_a_spawner_episodes_are_counted(consolidate: Consolidate) -> None:
    """And neither they nor anything else changes; the same where the model only picks sentences."""
    await consolidate.store("ops", "one", "two")
    await consolidate.store("mail", "three")
    report = await consolidate(None)
    assert (report.dry_run, report.groups, report.runs) == (True, {"mail": 1, "ops": 2}, ())
    assert "no model was asked" in report.note
    assert "COMMONPLACE_MODEL" not in report.note
    assert "COMMONPLACE_MODEL" in report.without_model().note
    assert model_spawner(Script().model(extractive=True)) is None
    assert {status for _, status in await states(consolidate.pool)} == {"pending"}
    assert await memory_on(consolidate.pool).runs.list() == []
    assert (await consolidate(None, butler="ops")).groups == {"ops": 2}


@pytest.mark.requirement("KNW-12.3")
async def test_a_dry_run_names_the_runs_that_are_then_made(consolidate: Consolidate) -> None:
    """Whole groups, long episodes, and smaller groups after a failure; and nobody's that must wait."""
    await consolidate.store("ops", *(f"episode {number}" for number in range(MAX_EPISODES + 3)))
    await consolidate.store("long", *("x" * 20_000 for _ in range(6)))
    await consolidate.store("late", "one", "two")
    await consolidate.store("busy", "three")
    await consolidate.store("failed", *(f"episode {number}" for number in range(6)))
    for butler in ("failed", "late"):
        await consolidate(Spawner("rubbish"), butler=butler)
        consolidate.clock.advance(seconds=40)
    taken = await leases.take(
        consolidate.pool, "busy", worker="w", model=None, policy=Policy(), clock=consolidate.clock
    )
    assert isinstance(taken, Lease)
    dry = await consolidate(None)
    assert await memory_on(consolidate.pool).runs.list(state="applied") == []
    assert (dry.busy, dry.waiting) == (("busy",), ("late",))
    planned = [(run.butler, run.episode_ids) for run in dry.planned]
    made = await consolidate(Spawner(NOTHING))
    assert planned == [(run.butler, run.episode_ids) for run in made.runs]
    assert (made.busy, made.waiting) == (dry.busy, dry.waiting)
    runs = Counter(butler for butler, _ in planned)
    assert (runs["ops"], runs["failed"]) == (2, 4)
    assert runs["long"] > 1
    times = await fetch(
        consolidate.pool,
        "SELECT min(created_at), max(created_at) FROM episodes WHERE id = ANY($1)",
        list(dry.planned[-1].episode_ids),
    )
    assert tuple(times[0]) == (dry.planned[-1].oldest_at, dry.planned[-1].newest_at)


@pytest.mark.requirement("KNW-12.3")
@pytest.mark.parametrize(("max_attempts", "sizes"), [(5, [4, 2, 1, 1]), (1, [])])
async def test_a_dry_run_counts_a_run_that_was_lost(
    consolidate: Consolidate, max_attempts: int, sizes: list[int]
) -> None:
    """As an attempt, like taking its episodes again does; after the last one they are dead letters."""
    policy = Policy(max_attempts=max_attempts)
    await consolidate.store("ops", *(f"episode {number}" for number in range(8)))
    await leases.take(consolidate.pool, "ops", worker="w", model=None, policy=policy, clock=consolidate.clock)
    consolidate.clock.advance(seconds=121)
    dry = await consolidate(None, policy=policy)
    made = await consolidate(Spawner(NOTHING), policy=policy)
    assert [len(run.episode_ids) for run in dry.planned] == sizes
    assert [len(run.episode_ids) for run in made.runs] == sizes


@pytest.mark.requirement("KNW-12.2", "TRU-04.3")
async def test_the_port_for_models_can_be_the_spawner(consolidate: Consolidate) -> None:
    """It asks for one purpose, so that its tokens are counted, and names the model in the run.

    The port asks for the form of the answer, so the prompt does not; it does for other spawners.
    """
    await consolidate.store("ops", "one")
    script = Script(answer(new_facts=[fact("build", "takes", "four minutes")]))
    model = script.model()
    report = await consolidate(model_spawner(model))  # pyright: ignore[reportArgumentType] - a spawner as well
    assert report.total("facts_created") == 1
    assert report.runs[0].model == "scripted"
    assert model.ledger.totals["consolidation"].answers == 1
    assert "fenced `json`" not in script.requests[0].prompt
    plain = Spawner(NOTHING)
    await consolidate.store("ops", "two")
    await consolidate(plain)
    assert "fenced `json`" in plain.prompts[0]


@pytest.mark.requirement("KNW-12.2", "KNW-24.3", "R-KNW-4")
async def test_a_group_that_fails_leaves_the_others_alone(
    consolidate: Consolidate, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged and reported; its episodes are failed, and tried again when their pause is over."""
    for butler in ("a", "b", "c"):
        await consolidate.store(butler, f"of {butler}")

    def say(prompt: str) -> str:
        if "\nof b\n" in prompt:
            raise RuntimeError("the model broke")
        return NOTHING

    report = await consolidate(Spawner(say))
    assert report.errors == ("b: RuntimeError: the model broke",)
    assert "consolidation of butler 'b' failed" in caplog.text
    assert await states(consolidate.pool) == [("a", "consolidated"), ("b", "failed"), ("c", "consolidated")]
    (failed,) = await memory_on(consolidate.pool).runs.list(state="failed")
    assert (failed.butler, failed.errors) == ("b", ("RuntimeError: the model broke",))
    spawner = Spawner(NOTHING)
    assert (await consolidate(spawner)).waiting == ("b",)
    assert spawner.prompts == []
    consolidate.clock.advance(seconds=61)
    assert (await consolidate(spawner)).episodes_consolidated == 1


@pytest.mark.parametrize(
    ("error", "has_traceback"), [(ModelUnavailableError("no answer"), False), (RuntimeError("a bug"), True)]
)
async def test_a_failure_that_says_what_it_is_is_logged_in_one_line(
    consolidate: Consolidate, caplog: pytest.LogCaptureFixture, error: Exception, *, has_traceback: bool
) -> None:
    """A model that is out of reach for a night must not bury all else under tracebacks."""
    await consolidate.store("ops", "one")
    await consolidate(Spawner(error))
    (record,) = (each for each in caplog.records if "consolidation of butler" in each.getMessage())
    assert str(error) in record.getMessage()
    assert bool(record.exc_info) is has_traceback


@pytest.mark.requirement("R-KNW-4")
@pytest.mark.parametrize(
    "rubbish", ["I would rather not.", "", '```json\n{"new_facts": [{"subject": "x"}]}\n```']
)
async def test_an_answer_that_cannot_be_read_consumes_no_episode(
    consolidate: Consolidate, rubbish: str
) -> None:
    """It is tried again with pauses that double, then kept as a dead letter with the error."""
    await consolidate.store("ops", "one")
    spawner = Spawner(rubbish)
    for seconds in (60, 120, 240, 480):
        await consolidate(spawner)
        assert await states(consolidate.pool) == [("ops", "failed")]
        consolidate.clock.advance(seconds=seconds - 1)
        assert (await consolidate(spawner)).waiting == ("ops",)
        consolidate.clock.advance(seconds=1)
    await consolidate(spawner)
    # Each attempt asks twice: the second prompt tells the model what was wrong.
    assert len(spawner.prompts) == 10
    first, second = spawner.prompts[:2]
    assert second.startswith(first)
    assert "<fault>" in second.removeprefix(first)
    assert await states(consolidate.pool) == [("ops", "dead_letter")]
    (dead,) = await memory_on(consolidate.pool).dead_letters.list()
    assert (dead.butler, dead.retry_count) == ("ops", 5)
    assert "ModelOutputError" in str(dead.last_error)
    stats = await memory_stats(consolidate.pool, clock=consolidate.clock)
    assert (stats.episodes.dead_letter, stats.episodes.unconsolidated) == (1, 0)
    assert (await consolidate(Spawner(NOTHING))).groups == {}


@pytest.mark.requirement("R-KNW-4")
async def test_dead_letters_are_tried_again_when_an_operator_says_so(consolidate: Consolidate) -> None:
    """From the first attempt; those of another butler, and forgotten ones, are left alone."""
    once = Policy(max_attempts=1)
    (_, forgotten) = await consolidate.store("ops", "one", "two")
    await consolidate.store("mail", "three")
    await consolidate(Spawner("rubbish"), policy=once)
    await forget_memory(consolidate.pool, "episode", forgotten, clock=consolidate.clock)
    consolidate.clock.advance(seconds=1)
    assert [
        letter.butler for letter in await memory_on(consolidate.pool).dead_letters.list(butler="ops")
    ] == [
        "ops",
        "ops",
    ]
    assert await memory_on(consolidate.pool, clock=consolidate.clock).dead_letters.requeue(butler="ops") == 1
    report = await consolidate(Spawner(NOTHING))
    assert (report.groups, report.episodes_consolidated) == ({"ops": 1}, 1)
    assert await states(consolidate.pool) == [
        ("mail", "dead_letter"), ("ops", "consolidated"), ("ops", "dead_letter"),
    ]  # fmt: skip


async def test_a_retry_is_undone_until_a_run_takes_the_episode(consolidate: Consolidate) -> None:
    """The dead letter is back with its attempts and its error; the ids are short ones, as in the list of reviews."""
    await consolidate.store("ops", "one")
    await consolidate(Spawner("rubbish"), policy=Policy(max_attempts=1))
    (dead,) = await memory_on(consolidate.pool).dead_letters.list()
    key = short_id(MemoryType.EPISODE, dead.id)
    assert (
        await memory_on(consolidate.pool, clock=consolidate.clock).dead_letters.requeue(episode_id=key) == 1
    )
    await memory_on(consolidate.pool).dead_letters.undo_requeue(key)
    assert await memory_on(consolidate.pool).dead_letters.list() == [dead]
    with pytest.raises(UndoRefusedError, match="the episode was not requeued"):
        await memory_on(consolidate.pool).dead_letters.undo_requeue(key)
    await memory_on(consolidate.pool, clock=consolidate.clock).dead_letters.requeue(episode_id=key)
    await consolidate(Spawner(NOTHING))
    with pytest.raises(UndoRefusedError, match="the retry can no longer be undone"):
        await memory_on(consolidate.pool).dead_letters.undo_requeue(key)
    assert await states(consolidate.pool) == [("ops", "consolidated")]


@pytest.mark.requirement("R-KNW-4")
@pytest.mark.parametrize(
    ("outage", "pause_s"),
    [
        (ModelUnavailableError("busy"), 300),
        (ModelUnavailableError("busy", retry_after_s=900), 900),
        (ModelAccessError("wrong key"), 300),
        (ModelBudgetError(10, 10, "THE_SETTING"), 300),
    ],
)
async def test_an_outage_of_the_model_makes_no_dead_letter(
    consolidate: Consolidate, outage: Exception, pause_s: int
) -> None:
    """Episodes wait for as long as it lasts, and no attempt is counted."""
    await consolidate.store("ops", "one")
    for _ in range(7):
        await consolidate(Spawner(outage))
        consolidate.clock.advance(seconds=pause_s - 1)
        assert (await consolidate(Spawner(outage))).waiting == ("ops",)
        consolidate.clock.advance(seconds=1)
    ((retries,),) = await fetch(consolidate.pool, "SELECT retry_count FROM episodes")
    assert retries == 0
    assert (await consolidate(Spawner(NOTHING))).episodes_consolidated == 1


@pytest.mark.parametrize("said", [None, {"new_facts": []}])
async def test_a_spawner_that_returns_no_text_is_named(consolidate: Consolidate, said: object) -> None:
    """It is a fault of the host, so no attempt is counted."""

    async def spawner(prompt: str, *, trigger_source: str) -> object:
        del prompt, trigger_source
        return said

    await consolidate.store("ops", "one")
    report = await consolidate(spawner)  # type: ignore[arg-type]
    assert report.errors == (
        f"ops: ModelCannotError: the spawner must return the answer as text, but returned {type(said).__name__}",
    )
    ((retries,),) = await fetch(consolidate.pool, "SELECT retry_count FROM episodes")
    assert retries == 0


@pytest.mark.requirement("R-KNW-4")
async def test_a_refusal_and_a_model_that_hangs_count_as_attempts(consolidate: Consolidate) -> None:
    """Both may be what an episode causes."""
    await consolidate.store("ops", "one")
    await consolidate(Spawner(ModelRefusedError("no")))
    consolidate.clock.advance(minutes=2)

    async def hang(_: str) -> str:
        return await asyncio.Future[str]()

    report = await consolidate(Spawner(hang), policy=Policy(timeout_s=0.05))
    assert "ModelTimeoutError" in report.errors[0]
    assert [
        row["retry_count"] for row in await fetch(consolidate.pool, "SELECT retry_count FROM episodes")
    ] == [2]


@pytest.mark.requirement("R-KNW-4")
async def test_one_episode_that_breaks_the_model_takes_few_others_with_it(consolidate: Consolidate) -> None:
    """Each failed attempt halves the group, and those in front of it are consolidated meanwhile."""
    await consolidate.store("ops", *(f"episode {n}" for n in range(15)), "poison")

    def say(prompt: str) -> str:
        return "rubbish" if "poison" in prompt else NOTHING

    for _ in range(12):
        await consolidate(Spawner(say))
        consolidate.clock.advance(hours=1)
    found = [status for _, status in await states(consolidate.pool)]
    assert found == ["consolidated"] * 15 + ["dead_letter"]


@pytest.mark.requirement("KNW-12.1")
async def test_a_long_queue_goes_in_several_runs(consolidate: Consolidate) -> None:
    """The oldest first, each episode once."""
    stored = await consolidate.store("ops", *(f"episode {number}" for number in range(120)))
    spawner = Spawner(NOTHING)
    report = await consolidate(spawner)
    asked = [episode for prompt in spawner.prompts for episode in episodes_of(prompt)]
    assert asked == [str(each) for each in stored]
    assert [len(run.episode_ids) for run in report.runs] == [50, 50, 20]


async def test_failed_episodes_are_not_overtaken(consolidate: Consolidate) -> None:
    """Younger ones wait behind them, dead letters stand in nobody's way."""
    (old,) = await consolidate.store("ops", "old")
    await consolidate(Spawner("rubbish"))
    consolidate.clock.advance(seconds=30)
    (young,) = await consolidate.store("ops", "young")
    spawner = Spawner("rubbish")
    assert (await consolidate(spawner)).waiting == ("ops",)
    assert spawner.prompts == []
    consolidate.clock.advance(seconds=31)
    await consolidate(spawner)
    assert episodes_of(spawner.prompts[0]) == [str(old)]
    await fetch(
        consolidate.pool, "UPDATE episodes SET consolidation_status = 'dead_letter' WHERE id = $1", old
    )
    consolidate.clock.advance(hours=1)
    await consolidate(spawner)
    assert episodes_of(spawner.prompts[2]) == [str(young)]


async def test_what_expired_or_was_forgotten_is_not_consolidated(consolidate: Consolidate) -> None:
    """Nobody learns from it any more."""
    (forgotten, _) = await consolidate.store("ops", "forgotten", "kept")
    await forget_memory(consolidate.pool, "episode", forgotten, clock=consolidate.clock)
    consolidate.clock.advance(seconds=1)
    spawner = Spawner(NOTHING)
    report = await consolidate(spawner)
    assert (
        report.groups,
        "forgotten" in spawner.prompts[0].rpartition("---")[0].partition("Episode 1")[2],
    ) == (
        {"ops": 1},
        False,
    )


async def test_a_plan_can_be_looked_at_and_turned_down(consolidate: Consolidate) -> None:
    """Then the episodes are as they were, and the run says why it had no effect; the next run asks again."""
    await consolidate.store("ops", "one")
    plans: list[ConsolidationPlan] = []

    async def refuse(plan: ConsolidationPlan) -> bool:
        plans.append(plan)
        return False

    spawner = Spawner(answer(new_facts=[fact("a", "b", "c")]))
    report = await consolidate(spawner, approve=refuse)
    assert [new.content for new in plans[0].result.new_facts] == ["c"]
    assert (report.runs[0].state, report.runs[0].errors) == (RunState.REFUSED, ("the plan was not approved",))
    ((status, retries, run),) = await fetch(
        consolidate.pool, "SELECT consolidation_status, retry_count, lease_run FROM episodes"
    )
    assert (status, retries, run) == ("pending", 0, None)
    assert (await consolidate(spawner)).total("facts_created") == 1


@pytest.mark.requirement("KNW-29.1")
async def test_tenants_are_consolidated_apart(consolidate: Consolidate) -> None:
    """A run sees the episodes and facts of its tenant only; without a tenant there is none."""
    await consolidate.store("ops", "of the first tenant")
    spawner = Spawner(answer(new_facts=[fact("a", "b", "c")]))
    with request_context(tenant_id="tenant-b", actor="other"):
        await consolidate.store("ops", "of the second tenant")
        report = await consolidate(spawner)
        assert report.episodes_consolidated == 1
        assert "of the first tenant" not in spawner.prompts[0]
    assert await states(consolidate.pool) == [("ops", "pending")]
    assert await fetch(consolidate.pool, "SELECT * FROM facts") == []
    assert await memory_on(consolidate.pool).runs.list() == []
    known = await consolidate.pool.fetch("SELECT tenant_id FROM tenants ORDER BY tenant_id")
    assert [row["tenant_id"] for row in known] == [TENANT, "tenant-b"]


async def test_no_connection_is_held_while_the_model_works(consolidate: Consolidate) -> None:
    """With a pool of one, the model's work could not reach the database otherwise."""
    await consolidate.store("ops", "one")

    async def use_the_pool(_: str) -> str:
        assert consolidate.pool.get_idle_size() == consolidate.pool.get_size()
        await fetch(consolidate.pool, "SELECT 1")
        return NOTHING

    assert (await consolidate(Spawner(use_the_pool))).episodes_consolidated == 1


async def test_whoever_says_no_tenant_consolidates_nothing(consolidate: Consolidate) -> None:
    """The context is required, as everywhere."""
    with pytest.raises(TenantUnsetError):
        await asyncio.create_task(consolidate(Spawner(NOTHING)), context=Context())


def test_pauses_double_up_to_an_hour() -> None:
    """And never overflow."""
    policy, error = Policy(), ValueError()
    pauses = [policy.pause(attempts=n, error=error) for n in (1, 2, 3, 7, 10_000)]
    minutes = [pause / timedelta(minutes=1) for pause in pauses]
    assert minutes == [1, 2, 4, 60, 60]
