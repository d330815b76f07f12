"""App memory on the real database: a conversation ends, its memory is made, and comes back into context.

Every test runs on SQLite and on PostgreSQL.
"""

import asyncio
import logging
import re
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.apps import AppStatus
from commonplace.apps.model.context import InjectionPoint
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.digests import ListedState, MemoryCreationRequest
from commonplace.apps.model.memories import ChangeKind
from commonplace.apps.model.receipts import DigestOutcome
from commonplace.core.clock import ManualClock
from commonplace.core.errors import (
    ConflictError,
    InvalidInputError,
    ModelAccessError,
    ModelRefusedError,
    ModelUnavailableError,
    NotFoundError,
)
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.llm import Hang, Request, Script
from commonplace.llm.scripted import Step
from commonplace.prompts.fence import fenced_texts
from support.apps import Meanwhile, digests, eventually, fill, said
from support.deadlines import DEADLINE_S

Opener = Callable[..., AbstractAsyncContextManager[AppMemory]]

PREFERENCE = "User prefers meetings after 2pm on weekdays."
KEY = "sk-proj-8f7d6a5s4d3f2g1h0j9k8l7"


@pytest.fixture
def opened(database: Settings, clock: ManualClock, engine: EmbeddingEngine) -> Opener:
    """Open app memory with a script for a model; without one, the extractive model."""

    @asynccontextmanager
    async def opener(
        *steps: Step, script: Script | None = None, timeout_s: float = 30
    ) -> AsyncIterator[AppMemory]:
        script = script or (Script(*steps) if steps else None)
        model = script.model() if script else None
        async with AppMemory.open(
            database, model=model, engine=engine, clock=clock, timeout_s=timeout_s
        ) as apps:
            await apps.registry.register("cal", name="Calendar")
            await apps.registry.register("mail", name="Mail")
            yield apps

    return opener


async def begin(apps: AppMemory, conversation_id: str, *texts: str, app_id: str = "cal") -> None:
    """Begin a conversation and say something in it."""
    await apps.begin_conversation(app_id, conversation_id)
    for message in said(*texts):
        await apps.add_message(conversation_id, message.role, message.content)


@pytest.mark.requirement("APP-02.1", "APP-02.2", "APP-02.4")
async def test_a_memory_is_made_when_a_conversation_ends(opened: Opener, clock: ManualClock) -> None:
    """Of what was said, at now, with the conversation as its source."""
    script = Script(PREFERENCE)
    async with opened(script=script) as apps:
        await begin(apps, "c-1", "Only after 2pm, please.", "Noted.")
        ended = await apps.end_conversation("c-1", "the user left")
        receipt = await ended.digested()
        (memory,) = await apps.focus.visible("cal")
    assert memory == receipt.memory
    assert (memory.content, memory.source_conversation_id) == (PREFERENCE, "c-1")
    assert memory.created_at == memory.updated_at == clock.now
    assert (ended.conversation.status, ended.conversation.end_reason) == ("ended", "the user left")
    (request,) = script.requests
    assert fenced_texts(request.prompt) == ["user: Only after 2pm, please.\nassistant: Noted."]


@pytest.mark.requirement("APP-02.1")
async def test_ending_does_not_wait_for_the_model(opened: Opener) -> None:
    """The conversation has ended while the model still thinks, and the end of the block waits for it."""
    thinking, answer = asyncio.Event(), asyncio.Event()

    async def think(_: Request) -> None:
        thinking.set()
        await answer.wait()

    script = Meanwhile(PREFERENCE)
    script.meanwhile = think
    async with opened(script=script) as apps:
        await begin(apps, "c-1", "Only after 2pm.")
        ended = await apps.end_conversation("c-1")
        await asyncio.wait_for(thinking.wait(), DEADLINE_S)
        assert not ended.digest.done()
        assert (await apps.conversations.get("c-1")).status == "ended"
        assert await apps.focus.visible("cal") == []
        answer.set()
    assert ended.digest.result().outcome is DigestOutcome.CREATED


@pytest.mark.requirement("APP-02.5")
async def test_nothing_worth_keeping_makes_no_row(opened: Opener) -> None:
    """Neither when the model says so, nor for a conversation in which nothing was said."""
    async with opened("NONE") as apps:
        receipt = await apps.ingest("cal", "c-1", said("Hi!", "Hello!"))
        assert (receipt.outcome, receipt.memory) == (DigestOutcome.NOTHING, None)
        assert (await apps.ingest("cal", "c-2", [])).outcome is DigestOutcome.NOTHING
        assert (await apps.ingest("cal", "c-3", said("\u200b\xad"))).outcome is DigestOutcome.NOTHING
        assert await apps.count("cal") == 0
        request = MemoryCreationRequest(app_id="cal", conversation_id="c-1", messages=())
        assert (await apps.digests.make(request)).memory is None


@pytest.mark.requirement("R-APP-5")
async def test_without_a_model_sentences_are_picked(opened: Opener) -> None:
    """None of them is invented, and the receipt and the row say so."""
    async with opened() as apps:
        conversation = said(
            "The deploy of the shop failed on Friday. Did you see it?",
            "The certificate had expired. We renewed the certificate and the deploy works again.",
        )
        receipt = await apps.ingest("cal", "c-1", conversation)
        assert receipt.extractive
        assert receipt.memory is not None
        assert receipt.memory.metadata.model == "extractive"
        everything = " ".join(message.content for message in conversation)
        for sentence in re.split(r"(?<=\.) ", receipt.memory.content):
            assert sentence in everything
        small_talk = await apps.ingest("cal", "c-2", said("hi there", "Hello! How can I help you today?"))
        assert small_talk.outcome is DigestOutcome.NOTHING


@pytest.mark.requirement("APP-02.4")
async def test_a_conversation_that_ends_twice_makes_one_memory(opened: Opener) -> None:
    """One after the other, and at once; the model is asked once."""
    script = Script(*digests(3))
    async with opened(script=script) as apps:
        await begin(apps, "c-1", "Only after 2pm.")
        first = await (await apps.end_conversation("c-1", "first")).digested()
        again = await apps.end_conversation("c-1", "second")
        assert (first.outcome, again.repeated) == (DigestOutcome.CREATED, True)
        assert (await again.digested()).outcome is DigestOutcome.REPEATED
        assert again.conversation.end_reason == "first"
        await begin(apps, "c-2", "Another matter.")
        ends = await asyncio.gather(*(apps.end_conversation("c-2") for _ in range(5)))
        outcomes = sorted([(await end.digested()).outcome for end in ends])
        assert outcomes == ["created", *["repeated"] * 4]
        assert await apps.count("cal") == 2
    assert len(script.requests) == 2


@pytest.mark.requirement("APP-04.1", "APP-13.1")
async def test_a_model_that_refuses_skips_the_memory(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """Logged and counted; the conversation has ended all the same, and ending it again tries again."""
    fault = ModelRefusedError("a policy")
    async with opened(fault, PREFERENCE) as apps:
        await begin(apps, "c-1", "Only after 2pm.")
        receipt = await (await apps.end_conversation("c-1")).digested()
        assert (receipt.outcome, receipt.memory) == (DigestOutcome.SKIPPED, None)
        assert str(fault) in receipt.reason
        assert (await apps.conversations.get("c-1")).status == "ended"
        assert await apps.count("cal") == 0
        assert apps.figures.counts().fallbacks == {"creation": 1}
        (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
        assert (record.app_id, record.conversation_id) == ("cal", "c-1")  # type: ignore[attr-defined]
        again = await (await apps.end_conversation("c-1")).digested()
        assert again.outcome is DigestOutcome.CREATED


@pytest.mark.requirement("APP-04.1", "DIG-04.1")
@pytest.mark.parametrize(
    "fault", [ModelAccessError("no such key"), ModelUnavailableError("overloaded", retry_after_s=99), Hang()]
)
async def test_an_outage_of_the_model_loses_no_digest(opened: Opener, fault: object) -> None:
    """The conversation has ended, the digest waits, and its energy is given back."""
    async with opened(fault, PREFERENCE, timeout_s=0.05) as apps:
        receipt = await apps.ingest("cal", "c-1", said("Only after 2pm."))
        assert (receipt.outcome, receipt.memory) == (DigestOutcome.DEFERRED, None)
        assert receipt.reason.startswith(("no such key", "overloaded", 'the model "scripted" gave no answer'))
        assert (await apps.conversations.get("c-1")).status == "ended"
        status = await apps.energy.status()
        assert (status.level, apps.energy.poll()) == (status.capacity, 0)
        (waiting,) = await apps.digests.list(ListedState.DEFERRED)
        assert waiting.conversation_id == "c-1"
        (made,) = await apps.digests.retry()
        assert made.outcome is DigestOutcome.CREATED
        assert await apps.digests.list(ListedState.DEFERRED) == []


@pytest.mark.requirement("DIG-04.1")
async def test_skipped_digests_are_listed_and_retried(opened: Opener) -> None:
    """One, or all of them."""
    refused = [ModelRefusedError("a policy")] * 3
    async with opened(*refused, *digests(3)) as apps:
        for name in ("c-1", "c-2", "c-3"):
            await apps.ingest("cal", name, said("Only after 2pm."))
        skipped = await apps.digests.list(ListedState.SKIPPED)
        assert await apps.digests.list(ListedState.FAILED) == skipped
        assert {one.conversation_id for one in skipped} == {
            "c-1",
            "c-2",
            "c-3",
        }
        (one,) = await apps.digests.retry("c-2")
        assert one.outcome is DigestOutcome.CREATED
        assert [one.outcome for one in await apps.digests.retry()] == [DigestOutcome.CREATED] * 2
        assert await apps.digests.list(ListedState.SKIPPED) == []
        with pytest.raises(NotFoundError):
            await apps.digests.retry("c-2")


@pytest.mark.requirement("DIG-02.1", "DIG-04.1")
async def test_an_empty_answer_is_a_failure_and_can_be_retried(opened: Opener) -> None:
    """A model that finds nothing to keep says so in a word."""
    async with opened("\n", PREFERENCE) as apps:
        receipt = await apps.ingest("cal", "c-1", said("Only after 2pm."))
        assert (receipt.outcome, receipt.reason) == (
            DigestOutcome.SKIPPED,
            "the model answered with an empty text",
        )
        (again,) = await apps.digests.retry()
        assert again.outcome is DigestOutcome.CREATED


@pytest.mark.requirement("DIG-02.1", "DIG-04.1")
async def test_a_refusal_in_words_is_skipped_and_can_be_retried(opened: Opener) -> None:
    """Another model, or the same one tomorrow, may answer."""
    async with opened("I'm sorry, but I can't help with that.", PREFERENCE) as apps:
        receipt = await apps.ingest("cal", "c-1", said("Only after 2pm."))
        assert (receipt.outcome, receipt.reason) == (DigestOutcome.SKIPPED, "the model refused to answer")
        (again,) = await apps.digests.retry()
        assert again.outcome is DigestOutcome.CREATED


@pytest.mark.requirement("APP-04.3")
async def test_a_time_limit_that_is_set_holds(database: Settings, engine: EmbeddingEngine) -> None:
    """Otherwise a model has the specified 30 s."""
    slow = database.model_copy(update={"model_timeout_s": 0.05})
    async with AppMemory.open(slow, model=Script(Hang()).model(), engine=engine) as apps:
        await apps.registry.register("cal", name="Calendar")
        receipt = await apps.ingest("cal", "c-1", said("Only after 2pm."))
    assert "gave no answer within" in receipt.reason


@pytest.mark.requirement("APP-04.3")
async def test_a_model_has_thirty_seconds(
    database: Settings, clock: ManualClock, engine: EmbeddingEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody says otherwise; the clock of the event loop is put forward instead of waiting."""
    loop, script, ahead_s = asyncio.get_running_loop(), Script(Hang()), 0.0
    real_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: real_time() + ahead_s)

    async def asked() -> bool:
        return bool(script.requests)

    async with AppMemory.open(database, model=script.model(), engine=engine, clock=clock) as apps:
        await apps.registry.register("cal", name="Calendar")
        digest = asyncio.create_task(apps.ingest("cal", "c-1", said("Only after 2pm.")))
        await eventually(asked)
        ahead_s = 15.0
        done, _ = await asyncio.wait([digest], timeout=0.1)
        assert not done
        ahead_s = 31.0
        done, _ = await asyncio.wait([digest], timeout=DEADLINE_S)
        assert done
        receipt = await digest
    assert receipt.outcome is DigestOutcome.DEFERRED
    assert "gave no answer within" in receipt.reason


async def test_a_secret_never_becomes_a_memory(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """Its sentence is left out; a digest that is nothing else is refused; neither row nor log holds it."""
    with caplog.at_level(logging.DEBUG, logger="commonplace"):
        async with opened(f"The user works on Phoenix. The key is {KEY}.", f"The key is {KEY}.") as apps:
            kept = await apps.ingest("cal", "c-1", said(f"My key is {KEY}."))
            assert kept.memory is not None
            assert kept.memory.content == "The user works on Phoenix."
            assert "API key" in kept.reason
            refused = await apps.ingest("cal", "c-2", said(f"My key is {KEY}."))
            assert refused.outcome is DigestOutcome.REFUSED
            assert await apps.count("cal") == 1
            assert apps.figures.counts().secrets == 2
            assert KEY not in str(await apps.history(kept.memory.id))
    assert KEY not in caplog.text


@pytest.mark.requirement("APP-06.1", "APP-06.4")
async def test_the_context_of_an_app(opened: Opener, clock: ManualClock) -> None:
    """Newest first, under the app's name; nothing for an app with none."""
    async with opened(*digests(2)) as apps:
        await fill(apps, "cal", 1)
        clock.advance(days=1)
        await fill(apps, "cal", 1, first=2)
        context = await apps.context("cal")
        assert context.text.startswith("(memories for app: Calendar)\n")
        assert "1. [Created: 2026-03-02] The user keeps matter2" in context.text
        assert "2. [Created: 2026-03-01] The user keeps matter1" in context.text
        assert (await apps.context("mail")).text == ""
        with pytest.raises(NotFoundError):
            await apps.context("nobody")


@pytest.mark.requirement("APP-07.1", "APP-12.4")
async def test_memories_come_into_focus_with_an_unanswered_conversation(
    opened: Opener, clock: ManualClock
) -> None:
    """The one that has waited longest, with the block before what was said."""
    async with opened(PREFERENCE) as apps:
        await fill(apps, "cal", 1)
        assert await apps.focus.unanswered() is None
        await begin(apps, "c-1", "When shall we meet?")
        clock.advance(minutes=1)
        await begin(apps, "c-2", "And where?")
        await begin(apps, "c-3", "Answered?", "Yes.")
        focus = await apps.focus.unanswered()
        assert focus is not None
        assert (focus.point, [one.conversation_id for one in focus.conversations]) == ("unanswered", ["c-1"])
        block, question = focus.messages
        assert (block.role, block.content) == ("system", (await apps.context("cal")).text)
        assert question == Message(role="user", content="When shall we meet?")
        named = await apps.focus.unanswered("c-2")
        assert named is not None
        assert named.conversations[0].conversation_id == "c-2"
        assert await apps.focus.unanswered(app_id="mail") is None
        with pytest.raises(InvalidInputError):
            await apps.focus.unanswered("c-3")
        assert apps.figures.counts().contexts == {"with": 2}
        assert (await apps.conversations.get("c-1")).memories_shown == 1


@pytest.mark.requirement("APP-07.2")
async def test_memories_come_into_focus_when_a_conversation_is_reviewed(opened: Opener) -> None:
    """With the whole of what was said; one that goes on is not reviewed."""
    async with opened(PREFERENCE) as apps:
        await fill(apps, "cal", 1)
        focus = await apps.focus.review("cal-1")
        assert focus.point is InjectionPoint.REVIEW
        assert [message.role for message in focus.messages] == ["system", "user", "assistant"]
        assert PREFERENCE in focus.messages[0].content
        await begin(apps, "c-9", "Still here?")
        with pytest.raises(InvalidInputError):
            await apps.focus.review("c-9")


@pytest.mark.requirement("APP-07.3", "APP-08.1")
async def test_memories_come_into_focus_when_one_is_selected(opened: Opener) -> None:
    """The conversations of the app that ended last, and none of another app's."""
    async with opened(*digests(4)) as apps:
        await fill(apps, "cal", 3)
        await fill(apps, "mail", 1)
        focus = await apps.focus.selection("cal", limit=2)
        assert focus.point is InjectionPoint.SELECTION
        assert [one.conversation_id for one in focus.conversations] == ["cal-3", "cal-2"]
        (block,) = focus.messages
        assert "matter3" in block.content
        assert "matter4" not in block.content


@pytest.mark.requirement("APP-08.1")
async def test_an_app_never_sees_another_apps_memories(opened: Opener) -> None:
    """In no context, list, count or search."""
    async with opened("The user plans Phoenix.", "The user reads letters.") as apps:
        await fill(apps, "cal", 1)
        await begin(apps, "m-1", "Anything for me?", app_id="mail")
        focus = await apps.focus.unanswered("m-1")
        assert focus is not None
        assert [message.role for message in focus.messages] == ["user"]
        assert await apps.focus.visible("mail") == []
        assert await apps.count("mail") == 0
        assert (await apps.context("mail")).text == ""
        assert (
            await apps.search("mail", "Phoenix") == await apps.search("mail", "Phoenix", by="meaning") == []
        )
        with pytest.raises(NotFoundError):
            await apps.get(1, app_id="mail")


@pytest.mark.requirement("APP-09.1", "R-APP-1")
async def test_memories_are_retained_when_an_app_is_uninstalled(opened: Opener, clock: ManualClock) -> None:
    """The row stays, marked; conversations cannot begin; installing it again brings it back."""
    async with opened(*digests(2)) as apps:
        await fill(apps, "cal", 2)
        receipt = await apps.registry.uninstall_app("cal")
        assert (receipt.retained, receipt.purged) == (2, 0)
        app = await apps.registry.get("cal")
        assert (app.status, app.uninstalled_at) == (AppStatus.UNINSTALLED, clock.now)
        assert await apps.count("cal") == 2
        with pytest.raises(InvalidInputError, match="installed"):
            await apps.begin_conversation("cal", "c-9")
        back = await apps.registry.register("cal")
        assert (back.status, back.name, back.uninstalled_at) == (AppStatus.INSTALLED, "Calendar", None)
        assert len(await apps.focus.visible("cal")) == 2


@pytest.mark.requirement("APP-09.2", "R-APP-1")
async def test_a_purge_removes_an_app_with_all_that_it_had(opened: Opener) -> None:
    """Memories, conversations and the words in the history; another app keeps its own."""
    async with opened(*digests(3)) as apps:
        (first, _) = await fill(apps, "cal", 2)
        await fill(apps, "mail", 1)
        receipt = await apps.registry.uninstall_app("cal", purge_memories=True)
        assert (receipt.retained, receipt.purged) == (0, 2)
        with pytest.raises(NotFoundError):
            await apps.registry.get("cal")
        assert await apps.count("cal") == 0
        assert await apps.registry.get_app_id_for_conversation("cal-1") is None
        assert first.memory is not None
        assert [change.after for change in await apps.history(first.memory.id)] == [None]
        assert await apps.count("mail") == 1


async def test_a_digest_of_what_is_gone_comes_to_nothing(opened: Opener) -> None:
    """The app was purged with its conversations before its turn came."""
    async with opened(PREFERENCE) as apps:
        await begin(apps, "c-1", "Only after 2pm.")
        conversation = await apps.conversations.get("c-1")
        await apps.registry.uninstall_app("cal", purge_memories=True)
        receipt = await apps.digests.begin(conversation)
        assert receipt.outcome is DigestOutcome.DROPPED
        assert apps.figures.counts().digests == {"dropped": 1}


async def test_a_fault_of_the_program_never_reaches_the_host(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with its traceback, and the digest is back in the queue."""

    def broken(_: Request) -> str:
        raise ZeroDivisionError

    async with opened(broken, PREFERENCE) as apps:
        receipt = await apps.ingest("cal", "c-1", said("Only after 2pm."))
        assert (receipt.outcome, receipt.reason) == (DigestOutcome.SKIPPED, "ZeroDivisionError: ")
        (error,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert error.exc_info
        assert apps.figures.counts().fallbacks == {"creation": 1}
        (again,) = (await apps.digests.run_deferred()).digests
        assert again.outcome is DigestOutcome.CREATED


async def test_the_app_of_a_conversation(opened: Opener) -> None:
    """Known for each that has begun."""
    async with opened() as apps:
        await apps.begin_conversation("cal", "c-1")
        assert await apps.registry.get_app_id_for_conversation("c-1") == "cal"
        assert await apps.registry.get_app_id_for_conversation("c-2") is None


@pytest.mark.requirement("APP-15.1")
async def test_memories_survive_a_restart(opened: Opener) -> None:
    """And so does what was ended while nobody could digest it."""
    async with opened(PREFERENCE) as apps:
        await fill(apps, "cal", 1)
    async with opened() as apps:
        (memory,) = await apps.focus.visible("cal")
        assert memory.content == PREFERENCE


@pytest.mark.requirement("APP-15.2", "APP-15.3")
async def test_all_memories_of_an_app_can_be_deleted(opened: Opener) -> None:
    """The count says how many; their words are gone from the history; the app stays."""
    async with opened(*digests(4)) as apps:
        receipts = await fill(apps, "cal", 3)
        await fill(apps, "mail", 1)
        assert await apps.count("cal") == 3
        assert (await apps.purge("cal")).deleted == 3
        assert await apps.count("cal") == 0
        assert await apps.count("mail") == 1
        assert (await apps.purge("cal")).deleted == 0
        for receipt in receipts:
            assert receipt.memory is not None
            changes = await apps.history(receipt.memory.id)
            assert [one.kind for one in changes] == [ChangeKind.CREATED, ChangeKind.DELETED]
            assert {one.before for one in changes} | {one.after for one in changes} == {None}
        with pytest.raises(NotFoundError):
            await apps.purge("nobody")


async def test_one_memory_can_be_deleted(opened: Opener) -> None:
    """Its words too; its id is not used again; ending its conversation again does not bring it back."""
    async with opened(*digests(2)) as apps:
        (receipt,) = await fill(apps, "cal", 1)
        assert receipt.memory is not None
        with pytest.raises(NotFoundError):
            await apps.delete(receipt.memory.id, app_id="mail")
        await apps.delete(receipt.memory.id)
        assert await apps.list_memories("cal") == []
        assert (await fill(apps, "cal", 1))[0].outcome is DigestOutcome.REPEATED
        (second,) = await fill(apps, "cal", 1, first=2)
        assert second.memory is not None
        assert second.memory.id > receipt.memory.id
        with pytest.raises(NotFoundError):
            await apps.delete(receipt.memory.id)


@pytest.mark.requirement("APP-13.1")
async def test_creation_and_retrieval_are_logged_with_app_and_conversation(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """As fields of the record, so that a formatter can show them."""
    with caplog.at_level(logging.DEBUG, logger="commonplace.apps"):
        async with opened(PREFERENCE) as apps:
            await fill(apps, "cal", 1)
            await apps.focus.visible("cal")
    fields = {
        (one.levelname, getattr(one, "app_id", None), getattr(one, "conversation_id", None))
        for one in caplog.records
    }
    assert ("INFO", "cal", "cal-1") in fields
    assert ("DEBUG", "cal", None) in fields
    assert PREFERENCE not in caplog.text


async def test_ingesting_the_same_conversation_again_changes_nothing(opened: Opener) -> None:
    """Three times; one that has grown while it went on is stored to its end."""
    async with opened(*digests(2)) as apps:
        await begin(apps, "c-1", "One.", "Two.")
        longer = said("One.", "Two.", "Three.")
        assert (await apps.ingest("cal", "c-1", longer)).outcome is DigestOutcome.CREATED
        for _ in range(3):
            assert (await apps.ingest("cal", "c-1", longer)).outcome is DigestOutcome.REPEATED
        conversation = await apps.conversations.get("c-1")
        assert conversation.message_count == 3
        assert len(await apps.list_memories("cal")) == 1
        await begin(apps, "c-2", "One.")
        with pytest.raises(InvalidInputError, match="messages"):
            await apps.ingest("cal", "c-2", said("Other."))


@pytest.mark.parametrize(
    ("app_id", "conversation_id"),
    [("", "c"), ("a/b", "c"), ("cal", ""), ("cal", " c"), ("cal", "c\n"), ("cal", "x" * 201)],
)
async def test_bad_ids_are_refused(opened: Opener, app_id: str, conversation_id: str) -> None:
    """Nothing is written."""
    async with opened() as apps:
        with pytest.raises((InvalidInputError, NotFoundError)):
            await apps.begin_conversation(app_id, conversation_id)
        with pytest.raises(InvalidInputError):
            await apps.registry.register("a b")
        with pytest.raises(InvalidInputError):
            await apps.registry.register("a", name=" ")


async def test_a_conversation_belongs_to_one_app_and_takes_no_more_once_ended(opened: Opener) -> None:
    """Its id cannot be used by another, nothing can be said any more, and it does not begin again."""
    async with opened(PREFERENCE) as apps:
        await begin(apps, "c-1", "Hello.")
        with pytest.raises(InvalidInputError, match="no other app"):
            await apps.begin_conversation("mail", "c-1")
        with pytest.raises(InvalidInputError, match="no other app"):
            await apps.begin_conversation("cal", "c-1", user_id="ada")
        with pytest.raises(InvalidInputError, match="role"):
            await apps.add_message("c-1", "system", "x")
        await apps.end_conversation("c-1")
        with pytest.raises(ConflictError, match="has ended"):
            await apps.add_message("c-1", "user", "x")
        with pytest.raises(ConflictError, match="has ended"):
            await apps.begin_conversation("cal", "c-1")
        with pytest.raises(NotFoundError):
            await apps.end_conversation("c-9")


@pytest.mark.requirement("APP-14.1", "APP-14.2", "APP-14.3")
async def test_it_is_quick_and_stable_with_many_memories(opened: Opener, clock: ManualClock) -> None:
    """150 memories in 15 apps: each app has its ten; reading takes under 100 ms of work, creating under 5 s."""
    creating_s: list[float] = []
    reading_s: list[float] = []
    async with opened(*digests(150)) as apps:
        for app in range(15):
            await apps.registry.register(f"app-{app}")
            for number in range(1, 11):
                start = time.process_time()
                (receipt,) = await fill(apps, f"app-{app}", 1, first=number)
                creating_s.append(time.process_time() - start)
                assert receipt.outcome is DigestOutcome.CREATED
            clock.advance(minutes=5)
        for app in range(15):
            start = time.process_time()
            assert len(await apps.focus.visible(f"app-{app}")) == 10
            reading_s.append(time.process_time() - start)
    assert statistics.median(creating_s) < 5
    assert statistics.median(reading_s) < 0.1


@pytest.mark.requirement("DIG-06.1")
async def test_secrets_in_a_transcript_are_masked_at_rest(opened: Opener) -> None:
    """Whatever a user pastes; the same conversation can be ingested again."""
    key = "sk-proj-8f7d6a5s4d3f2g1h0j9k8l7"
    async with opened("The user has a key for the printer.") as apps:
        talk = said(f"The key is {key}.", "Noted.")
        await apps.ingest("cal", "c-1", talk)
        async with apps._store.reading() as sql:
            stored = [row["content"] for row in await sql.messages_of(conversation_id="c-1")]
        assert not any(key in str(text) for text in stored)
        assert (await apps.ingest("cal", "c-1", talk)).outcome is DigestOutcome.REPEATED


@pytest.mark.requirement("DIG-06.1")
async def test_transcripts_are_deleted_by_a_purge_or_alone(opened: Opener) -> None:
    """An active conversation stays; deleting one transcript keeps its memory."""
    async with opened(*digests(2)) as apps:
        await fill(apps, "cal", 2)
        await begin(apps, "c-9", "Hello?")
        with pytest.raises(ConflictError, match="still active"):
            await apps.conversations.delete("c-9")
        assert (await apps.conversations.delete("cal-1")).message_count == 2
        assert await apps.count("cal") == 2
        with pytest.raises(NotFoundError):
            await apps.conversations.get("cal-1")
        await apps.purge("cal")
        with pytest.raises(NotFoundError):
            await apps.conversations.get("cal-2")
        assert (await apps.conversations.get("c-9")).status == "active"


@pytest.mark.requirement("TRU-02.3")
async def test_a_digest_keeps_the_date_of_tomorrow(opened: Opener) -> None:
    """The day on which the conversation ended counts; 200 characters are the limit."""
    long = f"The user flies to Rome tomorrow and {'likes trains and ' * 9}tea."
    async with opened("The user flies to Rome tomorrow.", long[:200]) as apps:
        receipt = await apps.ingest("cal", "c-1", said("I fly to Rome tomorrow."))
        assert receipt.memory is not None
        assert receipt.memory.content == "The user flies to Rome tomorrow (2026-03-02)."
        second = await apps.ingest("cal", "c-2", said("I fly to Rome tomorrow. I like trains."))
        assert second.memory is not None
        assert "2026" not in second.memory.content
