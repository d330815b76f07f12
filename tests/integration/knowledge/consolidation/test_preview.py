"""What is shown before a plan is applied is what applying it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.attempt import ConsolidationPlan
from commonplace.knowledge.consolidation.preview import plan_rows
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.runs import RunAction, RunState
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.storage_functions import (
    forget_memory,
    run_consolidation,
    store_fact,
    store_facts,
    store_rule,
)
from support.consolidation import Spawner, answer, fact, fetch, states, store_some
from support.on_pool import memory_on

pytestmark = pytest.mark.usefixtures("tenant")

KEY = "sk-ant-api03-" + "Ab1" * 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the butler ``ops`` knows, by name."""

    own: UUID
    everybodys: UUID
    late: UUID
    rule: UUID


class Desk:
    """A database with something known and two episodes, and somebody who looks at plans."""

    def __init__(self, pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> None:
        self.pool, self.engine, self.clock = pool, engine, clock
        self.plans: list[ConsolidationPlan] = []

    async def know(self, predicate: str, content: str, scope: str) -> UUID:
        """Store a fact about the build."""
        key: dict[str, Any] = {"subject": "build", "predicate": predicate}
        return await store_fact(self.pool, self.engine, content=content, scope=scope, clock=self.clock, **key)

    async def look(self, said: Any, *, approved: bool = True) -> ConsolidationReport:  # noqa: ANN401
        """Consolidate, keeping the plan that was shown."""

        async def approve(plan: ConsolidationPlan) -> bool:
            self.plans.append(plan)
            return approved

        return await run_consolidation(
            self.pool, self.engine, Spawner(said), approve=approve, clock=self.clock
        )


@pytest.fixture
async def desk(knowledge_pool: asyncpg.Pool, engine: EmbeddingEngine, clock: ManualClock) -> Desk:
    """Two episodes of the butler ``ops``."""
    await store_some(knowledge_pool, engine, clock, "ops", ["one", "two"])
    return Desk(knowledge_pool, engine, clock)


@pytest.fixture
async def known(desk: Desk) -> Known:
    """A fact of the butler, one of everybody, one that is replaced while the model thinks, and a rule."""
    return Known(
        own=await desk.know("takes", "four minutes", "ops"),
        everybodys=await desk.know("runs", "every night", "global"),
        late=await desk.know("lasts", "long", "ops"),
        rule=await store_rule(desk.pool, desk.engine, content="Be brief", scope="ops", clock=desk.clock),
    )


def done(action: RunAction) -> tuple[Any, ...]:
    """Return what an action did, but for the ids that storing gives."""
    return (action.action, action.subject, action.predicate, action.content, action.state)


Actions = Callable[[Known], dict[str, Any]]
CASES: dict[str, tuple[Actions, list[tuple[str, str | None, str]], int]] = {
    "a new fact": (lambda _: {"new_facts": [fact("a", "b", "c")]}, [("+", None, "c")], 0),
    "its own fact in other words": (
        lambda _: {"new_facts": [fact("build", "takes", "five minutes")]},
        [("~", "four minutes", "five minutes")],
        0,
    ),
    "its own fact in other spaces and capitals": (
        lambda _: {"new_facts": [fact("build", "takes", "Four  MINUTES")]},
        [("=", "four minutes", "four minutes")],
        0,
    ),
    "everybody's fact": (
        lambda _: {"new_facts": [fact("build", "runs", "every night")]},
        [("=", "every night", "every night")],
        0,
    ),
    "everybody's fact in other words": (
        lambda _: {"new_facts": [fact("build", "runs", "at noon")]},
        [("+", None, "at noon")],
        0,
    ),
    "two of one key": (
        lambda _: {"new_facts": [fact("a", "b", "c"), fact("a", "b", "d"), fact("a", "b", "D")]},
        [("+", None, "c"), ("+", None, "d"), ("=", "d", "d")],
        0,
    ),
    "a known rule and a new one, twice": (
        lambda _: {"new_rules": [{"content": each} for each in ("be  brief", "Be kind", "be kind")]},
        [("=", "Be brief", "Be brief"), ("+", None, "Be kind"), ("=", "Be kind", "Be kind")],
        0,
    ),
    "an update, and one that changes nothing": (
        lambda known: {
            "updated_facts": [
                fact("build", "takes", "five minutes", target_id=str(known.own)),
                fact("build", "runs", "Every night", target_id=str(known.everybodys)),
            ]
        },
        [("~", "four minutes", "five minutes"), ("=", "every night", "every night")],
        0,
    ),
    "an update under the key of another": (
        lambda known: {"updated_facts": [fact("build", "takes", "one hour", target_id=str(known.late))]},
        [("~", "four minutes | long", "one hour")],
        0,
    ),
    "confirmations": (
        lambda known: {"confirmations": [str(known.everybodys), str(known.rule)]},
        [("=", "every night", "every night"), ("=", "Be brief", "Be brief")],
        0,
    ),
    "secrets": (
        lambda _: {"new_facts": [fact("key", "is", KEY), fact("a", "b", "c")], "new_rules": [{"content": KEY}]},
        [("+", None, "c")],
        2,
    ),
    "ids that were made up": (
        lambda _: {
            "updated_facts": [fact("a", "b", "c", target_id=str(uuid4()))],
            "confirmations": [str(uuid4())],
        },
        [],
        2,
    ),
    "withdrawals, and a rule that changed": (
        lambda known: {
            "retractions": [{"target_id": str(known.own)}],
            "updated_rules": [{"target_id": str(known.rule), "content": "Be brief in mails"}],
        },
        [("-", "four minutes", ""), ("~", "Be brief", "Be brief in mails")],
        0,
    ),
    "a withdrawal of nothing known": (lambda _: {"retractions": [str(uuid4())]}, [], 1),
    "nothing": (lambda _: {"new_facts": []}, [], 0),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_what_is_shown_is_what_is_applied(desk: Desk, known: Known, case: str) -> None:
    """Each action with its effect, and each refusal with its reason; showing alone changes nothing."""
    actions, expected, refused = CASES[case]
    tables = "SELECT (SELECT count(*) FROM facts) + (SELECT count(*) FROM rules) + (SELECT count(*) FROM memory_links)"
    before = await fetch(desk.pool, tables)
    await desk.look(answer(**actions(known)), approved=False)
    assert await fetch(desk.pool, tables) == before
    report = await desk.look(answer(**actions(known)))
    turned_down, shown = (plan.rehearsal for plan in desk.plans)
    assert plan_rows(turned_down) == plan_rows(shown)
    assert [(row.sign, row.before, row.after) for row in plan_rows(shown)] == expected
    record = await memory_on(desk.pool).runs.get(report.runs[0].id)
    assert record.run.state is RunState.APPLIED
    assert [done(each.action) for each in shown.actions] == [done(each) for each in record.actions]
    assert (shown.notes, shown.errors) == (record.run.notes, record.run.errors)
    assert len(shown.errors) == refused
    assert KEY not in str(shown)


async def test_facts_beyond_those_that_the_model_was_shown_count_as_well(desk: Desk, known: Known) -> None:
    """The plan looks its keys up among all that there is."""
    await forget_memory(desk.pool, "fact", known.late, clock=desk.clock)
    drafts = [
        FactDraft(subject=f"s{number}", predicate="p", content=f"noise {number}", scope="ops")
        for number in range(150)
    ]
    await store_facts(desk.pool, desk.engine, drafts, clock=desk.clock)
    repeated = [fact(draft.subject, "p", draft.content) for draft in drafts]
    await desk.look(answer(new_facts=repeated))
    assert {row.sign for row in plan_rows(desk.plans[0].rehearsal)} == {"="}


async def test_what_changes_while_the_model_thinks_is_shown_as_refused(desk: Desk, known: Known) -> None:
    """A newer fact stands, and is not shown as if it were replaced."""

    async def meanwhile(_: str) -> str:
        await desk.know("lasts", "longer", "ops")
        return answer(updated_facts=[fact("build", "lasts", "short", target_id=str(known.late))])

    report = await desk.look(meanwhile)
    rehearsal = desk.plans[0].rehearsal
    assert (rehearsal.actions, rehearsal.errors) == ((), report.runs[0].errors)
    assert "has not changed since" in rehearsal.errors[0]


async def test_nobody_is_asked_about_a_plan_that_would_be_refused(desk: Desk) -> None:
    """Where an episode was forgotten meanwhile: only about the next one, of the others."""
    ((episode,),) = await fetch(desk.pool, "SELECT id FROM episodes WHERE content = 'one'")

    async def meanwhile(_: str) -> str:
        await forget_memory(desk.pool, "episode", episode, clock=desk.clock)
        desk.clock.advance(seconds=1)
        return answer(new_facts=[fact("a", "b", "c")])

    report = await desk.look(meanwhile, approved=False)
    (plan,) = desk.plans
    assert episode not in {each.id for each in plan.lease.episodes}
    assert [run.state for run in report.runs] == [RunState.REFUSED, RunState.REFUSED]
    assert "was forgotten" in report.runs[0].errors[0]
    assert set(await states(desk.pool)) == {("ops", "pending")}
