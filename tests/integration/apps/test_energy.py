"""Energy on the real database: what is paid, what waits, and what runs when there is energy again.

Every test runs on SQLite and on PostgreSQL.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.digests import MemoryCreationRequest
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.apps.model.receipts import CompactionAction, DigestOutcome
from commonplace.core.clock import ManualClock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Hang, Ledger, Request, Script
from commonplace.llm.scripted import Step
from support.apps import Meanwhile, digests, eventually, fill, said
from support.deadlines import DEADLINE_S

Opener = Callable[..., AbstractAsyncContextManager[AppMemory]]


@pytest.fixture
def opened(database: Settings, clock: ManualClock, engine: EmbeddingEngine) -> Opener:
    """Open app memory with a script for a model."""

    @asynccontextmanager
    async def opener(
        *steps: Step,
        script: Script | None = None,
        ledger: Ledger | None = None,
        energy: EnergyPolicy | None = None,
    ) -> AsyncIterator[AppMemory]:
        model = (script or Script(*steps)).model(ledger=ledger)
        async with AppMemory.open(database, model=model, engine=engine, clock=clock, energy=energy) as apps:
            await apps.registry.register("cal")
            yield apps

    return opener


async def drain(apps: AppMemory) -> None:
    """Leave exactly the reserve: a fifth of the capacity."""
    status = await apps.energy.status()
    await apps.energy.spend(status.level - apps.energy.policy.threshold)


@pytest.mark.requirement("APP-11.1", "APP-11.3", "APP-12.5", "R-APP-3")
async def test_work_on_memories_is_paid_and_polled(opened: Opener) -> None:
    """A creation 10 to 15 units, a compaction 20 to 30 more; reading nothing; a poll begins anew."""
    decision = '{"action": "delete", "targetMemoryId": 1}'
    async with opened(*digests(10), digests(1, first=11)[0], decision) as apps:
        await fill(apps, "cal", 10)
        ten = apps.energy.poll()
        assert 10 * 10 <= ten <= 10 * 15
        assert apps.energy.poll() == 0
        await apps.focus.visible("cal")
        await apps.context("cal")
        assert apps.energy.poll() == 0
        await fill(apps, "cal", 1, first=11)
        assert 30 <= apps.energy.poll() <= 45
        spent = await apps.energy.spent(timedelta(days=1))
        assert spent["creation"] == pytest.approx(apps.figures.counts().energy["creation"])
        assert 20 <= spent["compaction"] <= 30
        status = await apps.energy.status()
        assert status.level == pytest.approx(1000 - sum(spent.values()), abs=0.01)


@pytest.mark.requirement("APP-11.2", "R-APP-3")
async def test_at_a_fifth_work_waits_and_runs_when_energy_is_back(opened: Opener, clock: ManualClock) -> None:
    """The model is not asked meanwhile, the receipt says so, and the conversation has ended."""
    script = Script(*digests(2))
    async with opened(script=script) as apps:
        await drain(apps)
        receipts = await fill(apps, "cal", 2)
        assert {receipt.outcome for receipt in receipts} == {DigestOutcome.DEFERRED}
        assert script.requests == []
        assert [one.conversation_id for one in await apps.digests.waiting()] == ["cal-1", "cal-2"]
        still = await apps.digests.run_deferred()
        assert still.waiting
        assert [one.outcome for one in still.digests] == [DigestOutcome.DEFERRED]
        clock.advance(seconds=30)
        await apps.digests.run_deferred()

        async def both() -> bool:  # the loop may be at one of them by itself, and counts after it has stored
            return apps.figures.counts().digests.get("created") == 2

        await eventually(both)
        assert await apps.count("cal") == len(script.requests) == 2
        assert await apps.digests.waiting() == []


@pytest.mark.requirement("APP-11.2", "APP-15.1", "R-APP-3")
async def test_what_waits_survives_a_restart(opened: Opener, clock: ManualClock) -> None:
    """Also a digest that was asked for with messages that are stored nowhere else."""
    request = MemoryCreationRequest(
        app_id="cal", conversation_id="elsewhere", messages=tuple(said("I prefer tea.")), user_id="ada"
    )
    async with opened() as apps:
        await drain(apps)
        await fill(apps, "cal", 1)
        assert (await apps.digests.make(request)).memory is None
    clock.advance(minutes=5)
    script = Script(*digests(2))
    async with opened(script=script) as apps:
        caught_up = await apps.digests.run_deferred()
        assert [one.outcome for one in caught_up.digests] == [DigestOutcome.CREATED] * 2
        assert "I prefer tea." in script.requests[1].prompt
        (kept,) = [one for one in await apps.list_memories("cal") if one.user_id == "ada"]
        assert kept.source_conversation_id == "elsewhere"


@pytest.mark.requirement("APP-11.2")
async def test_a_compaction_waits_too(opened: Opener, clock: ManualClock) -> None:
    """Eleven rows meanwhile, of which ten are shown; ten when energy is back."""
    script = Meanwhile(*digests(11), '{"action": "delete", "targetMemoryId": 3}')
    async with opened(script=script) as apps:
        await fill(apps, "cal", 10)

        async def exhaust(_: Request) -> None:
            await apps.energy.spend(1000)

        script.meanwhile = exhaust
        (receipt,) = await fill(apps, "cal", 1, first=11)
        assert [one.action for one in receipt.compactions] == [CompactionAction.DEFERRED]
        assert await apps.count("cal") == 11
        assert len(await apps.focus.visible("cal")) == 10
        script.meanwhile = None
        clock.advance(minutes=5)
        (done,) = (await apps.digests.run_deferred()).compactions
        assert done.removed[0].id == 3
        assert await apps.count("cal") == 10


async def test_a_spent_budget_of_the_model_defers(opened: Opener, clock: ManualClock) -> None:
    """The tokens of the day are gone: the digest waits for the next one."""
    script = Script(*digests(2))
    ledger = Ledger(daily_tokens=100, clock=clock)
    async with opened(script=script, ledger=ledger) as apps:
        first, second = await fill(apps, "cal", 2)
        assert (first.outcome, second.outcome) == (DigestOutcome.CREATED, DigestOutcome.DEFERRED)
        assert "budget" in second.reason
        clock.advance(days=1)
        (done,) = (await apps.digests.run_deferred()).digests
        assert done.outcome is DigestOutcome.CREATED


async def test_the_host_spends_from_the_same_budget(opened: Opener, clock: ManualClock) -> None:
    """Also below the reserve, and never below nothing."""
    async with opened() as apps:
        status = await apps.energy.spend(900)
        assert (status.level, status.low, status.share) == (100, True, 0.1)
        assert (await apps.energy.spend(900)).level == 0
        clock.advance(seconds=40)
        assert (await apps.energy.status()).level == 100
        assert (await apps.energy.spent(timedelta(hours=1))) == {"host": 1000}
        for wrong in (-1.0, float("nan"), float("inf")):
            with pytest.raises(InvalidInputError):
                await apps.energy.spend(wrong)


async def test_twenty_payments_at_once_are_all_counted(opened: Opener) -> None:
    """None is lost to another."""
    async with opened() as apps:
        await asyncio.gather(*(apps.energy.spend(10) for _ in range(20)))
        assert (await apps.energy.status()).level == 800


@pytest.mark.requirement("APP-11.2")
async def test_the_loop_wakes_by_itself_when_energy_is_back(
    settings: Settings, engine: EmbeddingEngine
) -> None:
    """Nobody has to ask: a digest that waited is made a moment later, by the real clock."""
    policy = EnergyPolicy(capacity=100, refill_per_s=25)
    told: asyncio.Queue[DigestOutcome] = asyncio.Queue()
    script = Script(*digests(1))
    async with AppMemory.open(
        settings,
        model=script.model(),
        engine=engine,
        clock=utc_now,
        energy=policy,
        on_receipt=lambda receipt: told.put_nowait(receipt.outcome),
    ) as apps:
        await apps.registry.register("cal")
        await apps.begin_conversation("cal", "c-1")
        await apps.add_message("c-1", "user", "Please note matter1.")
        await apps.energy.spend(100)
        ended = await apps.end_conversation("c-1")
        assert (await ended.digested()).outcome is DigestOutcome.DEFERRED
        async with asyncio.timeout(DEADLINE_S):
            outcomes = [await told.get() for _ in range(2)]
        assert await apps.list_memories("cal")
    assert outcomes == [DigestOutcome.DEFERRED, DigestOutcome.CREATED]


async def test_leaving_does_not_wait_for_energy(opened: Opener) -> None:
    """A conversation that ends as the host stops: its digest waits in the queue, the host does not."""
    async with asyncio.timeout(DEADLINE_S):
        async with opened() as apps:
            await apps.begin_conversation("cal", "c-1")
            await apps.add_message("c-1", "user", "Please note matter1.")
            await apps.energy.spend(1000)
            ended = await apps.end_conversation("c-1")
    assert ended.digest.result().outcome is DigestOutcome.DEFERRED
    async with opened() as apps:
        assert [one.conversation_id for one in await apps.digests.waiting()] == ["c-1"]


async def test_a_host_that_fails_leaves_its_digests_in_the_queue(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Its own exception comes out as it is, nothing hangs, and the next start makes the digest."""
    asked = asyncio.Event()

    async def note(_: Request) -> None:
        asked.set()

    script = Meanwhile(Hang())
    script.meanwhile = note

    async def host() -> None:
        async with AppMemory.open(database, model=script.model(), engine=engine, clock=clock) as apps:
            await apps.registry.register("cal")
            await apps.begin_conversation("cal", "c-1")
            await apps.add_message("c-1", "user", "Please note matter1.")
            await apps.end_conversation("c-1")
            await asyncio.wait_for(asked.wait(), DEADLINE_S)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await host()
    async with AppMemory.open(
        database, model=Script(*digests(1)).model(), engine=engine, clock=clock
    ) as apps:
        (receipt,) = (await apps.digests.run_deferred()).digests
        assert receipt.outcome is DigestOutcome.CREATED


async def test_a_claim_of_a_process_that_died_runs_out(opened: Opener, clock: ManualClock) -> None:
    """Until then nobody else makes the digest; afterwards somebody does."""
    async with opened(*digests(1)) as apps:
        await apps.begin_conversation("cal", "c-1")
        await apps.add_message("c-1", "user", "Please note matter1.")
        store = apps._store
        async with store.writing() as sql:
            await sql.claim_digest(
                app_id="cal",
                conversation_id="c-1",
                claim="of a process that was killed",
                moment=store.moment(),
                until="2026-03-01T12:15:00.000000Z",
            )
        ended = await apps.end_conversation("c-1")
        assert (await ended.digested()).outcome is DigestOutcome.REPEATED
        assert (await apps.digests.run_deferred()).digests == ()
        clock.advance(minutes=16)
        (receipt,) = (await apps.digests.run_deferred()).digests
        assert receipt.outcome is DigestOutcome.CREATED


@pytest.mark.requirement("APP-11.4")
async def test_a_realistic_day_stays_under_five_percent(
    settings: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """200 conversations with twelve apps over a day, of 400 to 16,000 characters: every one gets its memory."""
    chance = random.Random(7)  # noqa: S311 - the same day every time

    def answer(request: Request) -> str:
        if request.output is None:
            return f"The user keeps topic{chance.randrange(10**6)} for team{chance.randrange(10**6)}."
        return '{"action": "delete", "targetMemoryId": 0}'

    model = Script(*[answer] * 600).model()
    async with AppMemory.open(settings, model=model, engine=engine, clock=clock) as apps:
        for app in range(12):
            await apps.registry.register(f"app-{app}")
        for number in range(200):
            clock.advance(seconds=86_400 / 200)
            messages = said(*("word " * 40 for _ in range(chance.randrange(2, 80))))
            receipt = await apps.ingest(f"app-{chance.randrange(12)}", f"c-{number}", messages)
            assert receipt.outcome is DigestOutcome.CREATED
        policy = apps.energy.policy
        total = policy.capacity + policy.refill_per_s * 86_400
        spent = await apps.energy.spent(timedelta(days=2))
        assert spent["creation"] >= 200 * 10
        assert spent["compaction"] > 0
        assert sum(spent.values()) < 0.05 * total
