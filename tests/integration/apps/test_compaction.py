"""The eleventh memory of an app: what goes, who decides, and what happens when that fails.

Every test runs on SQLite and on PostgreSQL.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.compaction import MemoryCompactionRequest
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.apps.model.memories import ChangeKind
from commonplace.apps.model.receipts import CompactionAction, CompactionReceipt, Decider, DigestOutcome
from commonplace.apps.store.locks import memories_lock
from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModelRefusedError
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Hang, Request, Script
from commonplace.llm.scripted import Step
from commonplace.prompts.fence import fenced_texts
from commonplace.storage.migrations.opening import open_database
from support.apps import FaultyDatabase, Meanwhile, digests, fill, said

Opener = Callable[..., AbstractAsyncContextManager[AppMemory]]


@pytest.fixture
def opened(database: Settings, clock: ManualClock, engine: EmbeddingEngine) -> Opener:
    """Open app memory with a script for a model, on a database that can be told to fail."""

    @asynccontextmanager
    async def opener(
        *steps: Step,
        script: Script | None = None,
        extractive: bool = False,
        timeout_s: float = 30,
        energy: EnergyPolicy | None = None,
    ) -> AsyncIterator[AppMemory]:
        model = (script or Script(*steps)).model(extractive=extractive)
        faulty = FaultyDatabase(await open_database(database, "apps"))
        apps = AppMemory(faulty, model=model, engine=engine, clock=clock, timeout_s=timeout_s, energy=energy)
        await apps.registry.register("cal", name="Calendar")
        try:
            yield apps
            await apps.digests.aclose()
        finally:
            await faulty.close()

    return opener


def decision(action: str, target: int, content: str | None = None) -> str:
    """Return a decision as a model writes it."""
    return json.dumps(
        {"action": action, "targetMemoryId": target, "newContent": content, "reason": "because"}
    )


async def eleventh(apps: AppMemory) -> CompactionReceipt:
    """Fill an app with ten memories, make one more, and return the receipt of the compaction."""
    receipts = await fill(apps, "cal", 11)
    assert [receipt.compactions for receipt in receipts[:10]] == [()] * 10
    (compaction,) = receipts[10].compactions
    return compaction


async def ids(apps: AppMemory) -> list[int]:
    """Return the ids of the app's memories, ascending."""
    return sorted(memory.id for memory in await apps.list_memories("cal"))


@pytest.mark.requirement("APP-03.1", "APP-03.2", "APP-03.4", "R-APP-2")
async def test_the_eleventh_memory_starts_a_compaction(opened: Opener) -> None:
    """Of all eleven; the one that the model names goes, and ten remain."""
    script = Script(*digests(11), decision("delete", 4))
    async with opened(script=script) as apps:
        receipt = await eleventh(apps)
        assert (receipt.action, receipt.decider, receipt.reason) == ("delete", Decider.MODEL, "because")
        assert [memory.id for memory in receipt.removed] == [4]
        assert await ids(apps) == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11]
        (_, change) = await apps.history(4)
        assert (change.kind, change.before, change.reason) == (
            ChangeKind.COMPACTED,
            receipt.removed[0].content,
            "because",
        )
    prompt = script.requests[-1].prompt
    assert all(f"[id {number}]" in prompt for number in range(1, 12))


@pytest.mark.requirement("APP-03.3", "APP-03.4", "R-APP-2")
async def test_an_edit_merges_the_new_memory_into_its_target(opened: Opener, clock: ManualClock) -> None:
    """The target gets the text, the new row goes, and the target knows both conversations."""
    merged_text = "The user keeps matter4 and matter11 for board4 and board11."
    async with opened(*digests(11), decision("edit", 4, merged_text)) as apps:
        started = clock.now
        await fill(apps, "cal", 10)
        clock.advance(hours=1)
        (receipt,) = await fill(apps, "cal", 1, first=11)
        (compaction,) = receipt.compactions
        assert (compaction.action, [one.id for one in compaction.removed]) == ("edit", [11])
        assert await ids(apps) == list(range(1, 11))
        merged = await apps.get(4)
        assert merged == compaction.edited
        assert merged.content == merged_text
        assert (merged.created_at, merged.updated_at) == (started, clock.now)
        assert merged.source_conversation_id == "cal-4"
        assert merged.metadata.related_conversations == ("cal-11",)
        assert (await apps.focus.visible("cal"))[0].id == 4
        (hit, *_) = await apps.search("cal", merged_text, by="meaning")
        assert hit.memory.id == 4


@pytest.mark.requirement("APP-03.2")
async def test_the_model_may_think_least_of_the_new_memory(opened: Opener) -> None:
    """Then that one goes, and its conversation makes no other."""
    async with opened(*digests(11), decision("delete", 11)) as apps:
        await eleventh(apps)
        assert await ids(apps) == list(range(1, 11))
        assert (await fill(apps, "cal", 1, first=11))[0].outcome is DigestOutcome.REPEATED


@pytest.mark.requirement("APP-05.1", "APP-13.1")
@pytest.mark.parametrize("fault", [ModelRefusedError("no such key"), Hang()])
async def test_without_an_answer_the_first_in_goes(
    opened: Opener, caplog: pytest.LogCaptureFixture, fault: object
) -> None:
    """Logged, counted, and in the receipt."""
    async with opened(*digests(11), fault, timeout_s=1) as apps:
        receipt = await eleventh(apps)
        assert (receipt.action, receipt.decider) == ("delete", Decider.FIFO)
        assert receipt.fallback.startswith(("no such key", 'the model "scripted" gave no answer'))
        assert await ids(apps) == list(range(2, 12))
        assert apps.figures.counts().fallbacks == {"compaction": 1}
        assert apps.figures.counts().compactions == {("delete", "fifo"): 1}
    errors = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert [one.app_id for one in errors] == ["cal"]  # type: ignore[attr-defined]


@pytest.mark.requirement("APP-05.3")
@pytest.mark.parametrize(
    "answers",
    [
        ["I would rather not.", "Sorry."],
        [decision("keep", 4), decision("keep", 4)],
        [decision("delete", 99)],
        [decision("edit", 4)],
        [decision("edit", 4, "  ")],
        [decision("edit", 11, "Merged into itself.")],
        ['{"action": "delete"}', "{}"],
    ],
)
async def test_an_invalid_decision_lets_the_first_in_go(opened: Opener, answers: list[str]) -> None:
    """No JSON, an unknown action, an unknown id, an edit without content."""
    async with opened(*digests(11), *answers) as apps:
        receipt = await eleventh(apps)
        assert receipt.decider is Decider.FIFO
        assert receipt.fallback
        assert await ids(apps) == list(range(2, 12))


@pytest.mark.requirement("APP-05.3", "R-APP-2")
async def test_a_memory_of_another_app_is_no_target(opened: Opener) -> None:
    """The first in goes instead, and the other app keeps its own."""
    async with opened("The user reads letters.", *digests(11), decision("delete", 1)) as apps:
        await apps.registry.register("mail")
        await apps.ingest("mail", "m-1", said("Letters, please."))
        receipt = await eleventh(apps)
        assert (receipt.decider, receipt.removed[0].id) == (Decider.FIFO, 2)
        assert len(await apps.list_memories("mail")) == 1


def failing_once_decided(apps: AppMemory, script: Meanwhile, times: int) -> None:
    """Let writing memories fail so often, as soon as the model is asked for a decision."""

    async def break_database(request: Request) -> None:
        if request.output is not None:
            script.meanwhile = None
            faulty(apps).fail(times, lock="apps:memories:")

    script.meanwhile = break_database


def faulty(apps: AppMemory) -> FaultyDatabase:
    """Return the database under app memory."""
    database = apps._store._database
    assert isinstance(database, FaultyDatabase)
    return database


@pytest.mark.requirement("R-APP-2")
async def test_an_edit_without_the_new_memory_is_asked_for_again(opened: Opener) -> None:
    """The model is told what is missing, and its second decision is carried out."""
    kept = "The user keeps matter4 and matter11 for board4 and board11."
    lost, whole = decision("edit", 4, "The user keeps matter4 for board4."), decision("edit", 4, kept)
    script = Script(*digests(11), lost, whole)
    async with opened(script=script) as apps:
        receipt = await eleventh(apps)
        assert (receipt.action, receipt.decider, receipt.fallback) == ("edit", Decider.MODEL, "")
        assert (await apps.get(4)).content == kept
    assert "must contain the new memory" in script.requests[-1].prompt


@pytest.mark.requirement("R-APP-2")
async def test_an_edit_that_stays_too_long_is_trimmed_and_said(opened: Opener) -> None:
    """After one more question."""
    long = f"The user keeps matter4 and matter11 for board4 and board11. {'More of it. ' * 20}"
    script = Script(*digests(11), *[decision("edit", 4, long)] * 2)
    async with opened(script=script) as apps:
        receipt = await eleventh(apps)
        assert (receipt.action, receipt.decider) == ("edit", Decider.MODEL)
        assert "trimmed from" in receipt.reason
        assert len((await apps.get(4)).content) <= 200
    assert "say the same in fewer" in script.requests[-1].prompt


@pytest.mark.requirement("APP-05.2")
async def test_a_database_error_is_tried_again(opened: Opener) -> None:
    """Once: the decision of the model is applied the second time."""
    script = Meanwhile(*digests(11), decision("delete", 4))
    async with opened(script=script) as apps:
        failing_once_decided(apps, script, 1)
        receipt = await eleventh(apps)
        assert (receipt.decider, receipt.removed[0].id) == (Decider.MODEL, 4)
        assert apps.figures.counts().fallbacks == {"retry": 1}


@pytest.mark.requirement("APP-05.2")
async def test_after_two_database_errors_the_first_in_goes(opened: Opener) -> None:
    """The receipt says why."""
    script = Meanwhile(*digests(11), decision("delete", 4))
    async with opened(script=script) as apps:
        failing_once_decided(apps, script, 2)
        receipt = await eleventh(apps)
        assert (receipt.decider, receipt.removed[0].id) == (Decider.FIFO, 1)
        assert "the disk is full" in receipt.fallback
        assert len(await ids(apps)) == 10


async def test_what_the_database_will_not_do_now_is_done_later(opened: Opener) -> None:
    """Eleven rows stay, of which ten are shown; catching up brings them back to ten."""
    script = Meanwhile(*digests(11), decision("delete", 4), decision("delete", 5))
    async with opened(script=script) as apps:
        failing_once_decided(apps, script, 3)
        receipt = await eleventh(apps)
        assert receipt.action is CompactionAction.FAILED
        assert await apps.count("cal") == 11
        assert len(await apps.focus.visible("cal")) == 10
        (done,) = (await apps.digests.run_deferred()).compactions
        assert done.removed[0].id == 5
        assert len(await ids(apps)) == 10


@pytest.mark.requirement("APP-04.2")
@pytest.mark.parametrize("lock", ["apps:memories:", "apps:energy"])
async def test_storing_a_memory_is_tried_twice(opened: Opener, lock: str) -> None:
    """One database error costs nothing, two skip the memory; the conversation has ended either way."""
    async with opened(*digests(4)) as apps:
        faulty(apps).fail(1, lock=lock)
        (receipt,) = await fill(apps, "cal", 1)
        assert receipt.outcome is DigestOutcome.CREATED
        assert apps.figures.counts().fallbacks == {"retry": 1}
        faulty(apps).fail(2, lock=lock)
        (receipt,) = await fill(apps, "cal", 1, first=2)
        assert receipt.outcome is DigestOutcome.SKIPPED
        assert "the disk is full" in receipt.reason
        assert (await apps.conversations.get("cal-2")).status == "ended"
        assert len(await ids(apps)) == 1
        (again,) = await fill(apps, "cal", 1, first=2)
        assert again.outcome is DigestOutcome.CREATED


@pytest.mark.requirement("R-APP-5")
async def test_a_model_that_only_picks_sentences_leaves_the_decision_to_a_rule(opened: Opener) -> None:
    """No fallback: the least important memory goes."""
    said_of_them = [*digests(4), "There was a walk.", *digests(6, first=6)]
    async with opened(*said_of_them, extractive=True) as apps:
        await fill(apps, "cal", 10)
        (receipt,) = await fill(apps, "cal", 1, first=11)
        (compaction,) = receipt.compactions
        assert (compaction.decider, compaction.fallback) == (Decider.RULE, "")
        assert len(await ids(apps)) == 10


async def test_a_decision_is_not_applied_to_other_memories(opened: Opener) -> None:
    """While the model thinks, its target is deleted: there is room then, and nothing else goes."""
    script = Meanwhile(*digests(11), decision("delete", 4))
    async with opened(script=script) as apps:

        async def delete_target(request: Request) -> None:
            if request.output is not None:
                await apps.delete(4)

        script.meanwhile = delete_target
        receipts = await fill(apps, "cal", 11)
        assert receipts[10].compactions == ()
        assert await ids(apps) == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11]


async def test_a_compaction_of_memories_that_have_changed_does_nothing(opened: Opener) -> None:
    """The specification's call, with a request that is out of date, and with one that has room."""
    async with opened(*digests(10), decision("delete", 2)) as apps:
        await fill(apps, "cal", 10)
        held = sorted(await apps.list_memories("cal"), key=lambda memory: memory.id)
        room = MemoryCompactionRequest(app_id="cal", existing_memories=tuple(held[:9]), new_memory=held[9])
        assert (await apps.digests.compact(room)).action is CompactionAction.NONE
        outdated = MemoryCompactionRequest(
            app_id="cal", existing_memories=(*held[:9], held[0]), new_memory=held[9]
        )
        receipt = await apps.digests.compact(outdated)
        assert (receipt.action, receipt.removed) == (CompactionAction.NONE, ())
        assert len(await ids(apps)) == 10


@pytest.mark.requirement("APP-03.4", "APP-14.3")
async def test_twenty_conversations_that_end_at_once_leave_ten_memories(opened: Opener) -> None:
    """Each made its memory, ten went one by one, and what is left is what the receipts say is left."""

    def answer(request: Request) -> str:
        if request.output is None:
            (number,) = {
                word for word in fenced_texts(request.prompt)[-1].split() if word.startswith("matter")
            }
            return f"The user keeps {number} for its board."
        return decision("delete", min(map(int, re.findall(r"\[id (\d+)\]", request.prompt))))

    async with opened(*[answer] * 40, energy=EnergyPolicy(capacity=10_000)) as apps:
        for number in range(20):
            await apps.begin_conversation("cal", f"c-{number}")
            await apps.add_message(f"c-{number}", "user", f"Please note matter{number} at once")
        ends = await asyncio.gather(*(apps.end_conversation(f"c-{number}") for number in range(20)))
        receipts = [await end.digested() for end in ends]
        assert {receipt.outcome for receipt in receipts} == {DigestOutcome.CREATED}
        created = {receipt.memory.id for receipt in receipts if receipt.memory}
        removed = [one.id for receipt in receipts for done in receipt.compactions for one in done.removed]
        deciders = {done.decider for receipt in receipts for done in receipt.compactions}
        assert len(created) == 20
        assert len(removed) == len(set(removed)) == 10
        assert deciders == {Decider.MODEL}
        assert set(await ids(apps)) == created - set(removed)


async def test_two_hosts_on_one_database_lose_nothing(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine
) -> None:
    """Ten conversations in each, of one app, at once: ten memories remain."""
    async with (
        AppMemory.open(database, engine=engine, clock=clock, energy=EnergyPolicy(capacity=10_000)) as one,
        AppMemory.open(database, engine=engine, clock=clock, energy=EnergyPolicy(capacity=10_000)) as other,
    ):
        await one.registry.register("cal")

        async def host(apps: AppMemory, first: int) -> None:
            await asyncio.gather(
                *(
                    apps.ingest(
                        "cal", f"c-{number}", said(f"We decided that topic{number} goes to team{number}.")
                    )
                    for number in range(first, first + 10)
                )
            )

        await asyncio.gather(host(one, 0), host(other, 10))
        await one.digests.run_deferred()
        assert await other.count("cal") == 10
        figures = await one.figures.total()
        assert figures.created_last_day == 20
        assert figures.compactions_last_day == {"cal": 10}


async def test_a_purge_wins_over_a_digest_that_is_under_way(opened: Opener) -> None:
    """What the model says afterwards is dropped."""
    script = Meanwhile(*digests(1))
    async with opened(script=script) as apps:

        async def purge(_: Request) -> None:
            await apps.purge("cal")

        script.meanwhile = purge
        (receipt,) = await fill(apps, "cal", 1)
        assert receipt.outcome is DigestOutcome.DROPPED
        assert await ids(apps) == []


@pytest.mark.requirement("DIG-03.1")
async def test_decisions_that_are_always_overtaken_are_left_to_the_rule(opened: Opener) -> None:
    """Somebody changes a memory whenever the model thinks: after three rounds it is not asked again."""
    script = Meanwhile(*digests(11), *[decision("delete", 4)] * 9)
    async with opened(script=script) as apps:

        async def touch(request: Request) -> None:
            if request.output is not None:
                store = apps._store
                async with store.writing(memories_lock("cal")) as sql:
                    words = f"Touched before answer {len(script.requests)}."
                    await sql.update_memory(id=7, content=words, updated_at=store.moment(), metadata=None)

        script.meanwhile = touch
        receipt = await eleventh(apps)
        assert (receipt.decider, receipt.removed[0].id) == (Decider.RULE, 1)
        assert receipt.fallback == ""
        assert len(script.requests) == 11 + 3
