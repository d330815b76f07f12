"""Operational memory on the real database: what is learned, how it fades, what an operator may do.

Every test runs on SQLite and on PostgreSQL.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import (
    InvalidInputError,
    NotFoundError,
    SecretRefusedError,
    StorageUnavailableError,
)
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.memories import ChangeKind, Lesson, MemoryFilter
from commonplace.operational.model.receipts import Receipt, ReceiptKind, ReceiptOutcome
from commonplace.operational.model.sessions import SessionStatus
from support.streams import chunks, encode, init, result, says, session, tool_result

JELLYFIN = "[MEMORY:timing:jellyfin] Takes 60s to start after restart"
PARAPHRASE = "[MEMORY:timing:jellyfin] Takes about 60 seconds to start after a restart"


async def ingest(
    memory: OperationalMemory, data: bytes, *, tiers: tuple[int, ...] = (1,), allow_secrets: bool = False
) -> list[Receipt]:
    """Read a transcript and return all receipts, in order."""
    reports = await memory.ingest(chunks(data), tiers=tiers, allow_secrets=allow_secrets)
    return [receipt for report in reports for receipt in report.receipts]


async def only(memory: OperationalMemory) -> Lesson:
    """Return the one memory that there is."""
    (found,) = await memory.list_memories()
    return found


async def added(memory: OperationalMemory, **fields: Any) -> Lesson:  # noqa: ANN401 - as the facade takes them
    """Store a memory by hand and return it."""
    return (await memory.add(**fields)).memory


@pytest.mark.requirement("OPS-02.1", "OPS-03.2", "OPS-03.4", "OPS-08.1")
async def test_a_marker_becomes_a_memory_of_its_session(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """Category, service, text, confidence 0.7, session, and both times at now."""
    (receipt,) = await ingest(operational, session(JELLYFIN))
    memory = await only(operational)
    assert (memory.category, memory.service) == ("timing", "jellyfin")
    assert memory.observation == "Takes 60s to start after restart"
    assert memory.confidence == 0.7
    assert memory.active
    assert memory.created_at == memory.updated_at == clock.now
    (stored,) = await operational.sessions.list()
    assert memory.session_id == stored.id == receipt.session
    assert (receipt.outcome, receipt.record_id) == (ReceiptOutcome.CREATED, memory.id)


@pytest.mark.requirement("OPS-03.1")
async def test_a_marker_without_service_is_a_general_memory(operational: OperationalMemory) -> None:
    """The service is null, the tier that of the session."""
    text = "DNS checks sometimes fail transiently during WireGuard reconnects -- retry once before escalating"
    await ingest(operational, session(f"[MEMORY:remediation] {text}"), tiers=(2,))
    memory = await only(operational)
    assert (memory.service, memory.observation, memory.tier) == (None, text, 2)


@pytest.mark.requirement("OPS-03.3")
async def test_a_marker_in_a_tool_result_is_ignored(operational: OperationalMemory) -> None:
    """Only what the agent itself says is learned."""
    data = encode(init(), tool_result(JELLYFIN), says("nothing new"), result(JELLYFIN))
    assert await ingest(operational, data) == []
    assert await operational.list_memories() == []


@pytest.mark.requirement("OPS-02.2")
async def test_an_unknown_category_is_rejected_with_a_warning(
    operational: OperationalMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is stored; the log and the receipt say why."""
    with caplog.at_level(logging.WARNING):
        (receipt,) = await ingest(operational, session("[MEMORY:misc] Something"))
    assert receipt.outcome is ReceiptOutcome.REJECTED
    assert "misc" in receipt.reason
    assert "misc" in caplog.text
    assert await operational.list_memories() == []


@pytest.mark.requirement("OPS-04.1", "OPS-04.2")
async def test_each_session_writes_with_its_own_tier(operational: OperationalMemory) -> None:
    """Tier 1 and tier 3 both learn; the row says which it was."""
    data = session("[MEMORY:behavior:adguard] Returns HTTP 302 when healthy", session_id="a")
    data += session("[MEMORY:dependency:caddy] Must be started after WireGuard", session_id="b")
    await ingest(operational, data, tiers=(1, 3))
    assert {memory.service: memory.tier for memory in await operational.list_memories()} == {
        "adguard": 1,
        "caddy": 3,
    }


@pytest.mark.requirement("OPS-09.1", "R-OPS-6")
async def test_a_paraphrase_reinforces(operational: OperationalMemory, clock: ManualClock) -> None:
    """0.7 becomes 0.8, the time is refreshed, no row is added."""
    await ingest(operational, session(JELLYFIN, session_id="a"))
    clock.advance(days=3)
    (receipt,) = await ingest(operational, session(PARAPHRASE, session_id="b"))
    memory = await only(operational)
    assert (memory.confidence, memory.updated_at) == (0.8, clock.now)
    assert receipt.outcome is ReceiptOutcome.REINFORCED
    assert receipt.reason


@pytest.mark.requirement("R-OPS-6")
async def test_a_session_reinforces_a_memory_once(operational: OperationalMemory) -> None:
    """Saying it ten times in one session is one witness."""
    await ingest(operational, session(JELLYFIN, session_id="a"))
    receipts = await ingest(operational, session(*[PARAPHRASE] * 10, session_id="b"))
    assert [receipt.outcome for receipt in receipts] == ["reinforced"] + ["unchanged"] * 9
    assert (await only(operational)).confidence == 0.8


@pytest.mark.requirement("OPS-09.1")
async def test_reinforcement_ends_at_one(operational: OperationalMemory) -> None:
    """Confidence never exceeds 1.0."""
    for number in range(6):
        await ingest(operational, session(JELLYFIN, session_id=f"s-{number}"))
    assert (await only(operational)).confidence == 1.0


@pytest.mark.requirement("OPS-09.2")
async def test_another_category_is_another_memory(operational: OperationalMemory) -> None:
    """Same service, other category: no comparison."""
    await ingest(
        operational, session(JELLYFIN, "[MEMORY:behavior:jellyfin] Takes 60s to start after restart")
    )
    assert len(await operational.list_memories()) == 2


@pytest.mark.requirement("OPS-10.1", "R-OPS-6")
async def test_a_contradiction_weakens_without_refreshing(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """0.8 becomes 0.6 and keeps its time; the new memory starts at 0.7."""
    old = await added(
        operational,
        category="dependency",
        service="caddy",
        observation="Must be started after WireGuard",
        confidence=0.8,
    )
    clock.advance(days=1)
    (receipt,) = await ingest(
        operational, session("[MEMORY:dependency:caddy] Can be started independently of WireGuard")
    )
    weakened = await operational.get(old.id)
    assert (weakened.confidence, weakened.active, weakened.updated_at) == (0.6, True, old.updated_at)
    assert (receipt.outcome, receipt.confidence) == (ReceiptOutcome.CREATED, 0.7)
    (effect,) = receipt.contradicted
    assert (effect.memory_id, effect.confidence_before, effect.confidence_after) == (old.id, 0.8, 0.6)
    assert effect.reason


@pytest.mark.requirement("OPS-10.2")
async def test_a_contradiction_below_the_threshold_deactivates(operational: OperationalMemory) -> None:
    """0.4 becomes 0.2, which is inactive."""
    old = await added(
        operational,
        category="dependency",
        service="caddy",
        observation="Must be started after WireGuard",
        confidence=0.4,
    )
    await ingest(operational, session("[MEMORY:dependency:caddy] Can be started independently of WireGuard"))
    weakened = await operational.get(old.id)
    assert (weakened.confidence, weakened.active) == (0.2, False)


@pytest.mark.requirement("R-OPS-5")
async def test_only_active_memories_take_part(operational: OperationalMemory) -> None:
    """What is inactive is neither reinforced nor contradicted."""
    old = await added(
        operational,
        category="timing",
        service="jellyfin",
        observation="Takes 60s to start after restart",
        confidence=0.1,
    )
    (receipt,) = await ingest(operational, session(PARAPHRASE))
    assert receipt.outcome is ReceiptOutcome.CREATED
    assert (await operational.get(old.id)).confidence == 0.1


@pytest.mark.requirement("R-OPS-5")
async def test_every_verdict_is_explained_in_the_history(operational: OperationalMemory) -> None:
    """Who changed a memory, when, in which session, from what to what, and why."""
    await ingest(operational, session(JELLYFIN, session_id="a"))
    await ingest(operational, session(PARAPHRASE, session_id="b"))
    memory = await only(operational)
    created, reinforced = await operational.history(memory.id)
    assert (created.kind, created.actor) == (ChangeKind.CREATED, "agent")
    assert reinforced.kind is ChangeKind.REINFORCED
    assert reinforced.before == {"confidence": 0.7}
    assert reinforced.after == {"confidence": 0.8}
    assert reinforced.reason
    assert reinforced.session_id != created.session_id


async def test_reading_a_transcript_again_changes_nothing(operational: OperationalMemory) -> None:
    """Also with a contradiction in it, and also when it is read a third time."""
    data = session(
        JELLYFIN, "[EVENT:warning:jellyfin] Slow", "[COOLDOWN:restart:jellyfin] hung", session_id="a"
    )
    data += session(PARAPHRASE, "[MEMORY:timing:jellyfin] Takes 600s to start after restart", session_id="b")
    await ingest(operational, data)
    before = await operational.list_memories()
    for _ in range(2):
        receipts = await ingest(operational, data)
        assert {receipt.outcome for receipt in receipts} == {ReceiptOutcome.REPEATED}
    assert await operational.list_memories() == before
    assert len(await operational.sessions.list()) == 2
    assert len(await operational.events.list()) == 1
    assert len(await operational.cooldowns.list()) == 1


async def test_a_transcript_read_to_the_middle_is_completed(operational: OperationalMemory) -> None:
    """What a killed reader took is not taken again; the rest is."""
    lines = session(JELLYFIN, "[MEMORY:behavior:jellyfin] Locks its database").splitlines(keepends=True)
    await ingest(operational, b"".join(lines[:2]))
    receipts = await ingest(operational, b"".join(lines))
    assert [receipt.outcome for receipt in receipts] == ["repeated", "created"]
    (stored,) = await operational.sessions.list()
    assert stored.status is SessionStatus.COMPLETED


@pytest.mark.requirement("OPS-20.1")
async def test_a_session_keeps_how_it_ended(operational: OperationalMemory, clock: ManualClock) -> None:
    """Result, cost, turns, duration, status; without a result it was interrupted."""
    await ingest(operational, session("hello", session_id="good"))
    await ingest(operational, encode(init("bad"), result(session_id="bad", is_error=True)))
    await ingest(operational, encode(init("killed"), says("hm", session_id="killed")))
    killed, bad, good = await operational.sessions.list()
    assert [one.status for one in (good, bad, killed)] == ["completed", "failed", "interrupted"]
    assert (good.response, good.cost_usd, good.num_turns, good.duration_ms) == ("done", 0.02, 3, 1500)
    assert (good.agent_session_id, good.model, good.trigger) == ("good", "claude-x", "ingest")
    assert good.started_at == good.ended_at == clock.now


@pytest.mark.requirement("OPS-20.2", "OPS-20.3")
async def test_events_and_cooldowns_are_recorded(operational: OperationalMemory) -> None:
    """With level or action, service, text and session."""
    receipts = await ingest(
        operational,
        session(
            "[EVENT:critical:postgres] Disk full\n[EVENT:info] All checked", "[COOLDOWN:restart:caddy] hung"
        ),
        tiers=(3,),
    )
    assert [receipt.outcome for receipt in receipts] == ["recorded"] * 3
    info, critical = await operational.events.list()
    assert (critical.level, critical.service, critical.message) == ("critical", "postgres", "Disk full")
    assert (info.level, info.service) == ("info", None)
    (cooldown,) = await operational.cooldowns.list()
    assert (cooldown.action, cooldown.service, cooldown.reason, cooldown.tier) == (
        "restart",
        "caddy",
        "hung",
        3,
    )
    assert await operational.events.list(session_id=critical.session_id) == [info, critical]


async def test_damaged_lines_are_reported_and_harm_nothing(operational: OperationalMemory) -> None:
    """The markers around them are stored."""
    data = encode(init(), "{cut", says(JELLYFIN)) + b"\xff\xfe\x00\n" + encode(result())
    receipts = await ingest(operational, data)
    assert [receipt.kind for receipt in receipts] == [ReceiptKind.LINE, ReceiptKind.MEMORY, ReceiptKind.LINE]
    assert "line 2" in receipts[0].reason


async def test_text_before_any_init_has_a_session_too(operational: OperationalMemory) -> None:
    """A stream that was cut at its start still says which session it is of."""
    await ingest(operational, encode(says(JELLYFIN, session_id="late"), result(session_id="late")))
    (stored,) = await operational.sessions.list()
    assert stored.agent_session_id == "late"
    assert (await only(operational)).session_id == stored.id


async def test_a_secret_is_not_learned(operational: OperationalMemory) -> None:
    """The receipt says what it looked like, and does not repeat it."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    data = session(f"[MEMORY:behavior:gitea] Token is {secret}")
    (receipt,) = await ingest(operational, data)
    assert receipt.outcome is ReceiptOutcome.REJECTED
    assert secret not in str(receipt)
    assert await operational.list_memories() == []
    (allowed,) = await ingest(operational, data, allow_secrets=True)
    assert allowed.outcome is ReceiptOutcome.CREATED


async def test_an_event_or_a_cooldown_is_recorded_without_its_secret(operational: OperationalMemory) -> None:
    """An outage is not lost, and the next session does not repeat the restart; reading again changes nothing."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    data = session(f"[EVENT:critical:gitea] 401 with {secret}\n[COOLDOWN:restart:gitea] hung with {secret}")
    event, cooldown = await ingest(operational, data)
    assert [receipt.outcome for receipt in (event, cooldown)] == [ReceiptOutcome.RECORDED] * 2
    assert cooldown.reason.startswith("text appears to contain a secret (")
    (stored,) = await operational.events.list()
    (held,) = await operational.cooldowns.list()
    assert (stored.message, held.reason) == (event.text, cooldown.text)
    assert (stored.message, held.reason) == (
        "401 with [hidden: GitHub token]",
        "hung with [hidden: GitHub token]",
    )
    again = await ingest(operational, data)
    assert [receipt.outcome for receipt in again] == [ReceiptOutcome.REPEATED] * 2
    assert secret not in str([event, cooldown, *again])


@pytest.mark.parametrize("keyword", ["EVENT:info", "COOLDOWN:restart"])
async def test_a_secret_as_a_service_is_refused(operational: OperationalMemory, keyword: str) -> None:
    """A record without its service would be about all services."""
    (receipt,) = await ingest(operational, session(f"[{keyword}:sk-abc123def456] hung"))
    assert receipt.outcome is ReceiptOutcome.REJECTED
    assert "sk-abc123def456" not in str(receipt)
    assert [await operational.events.list(), await operational.cooldowns.list()] == [[], []]


@pytest.mark.parametrize(
    ("spoken", "hidden"),
    [
        ("[MEMORY:wrong:caddy] The password: hunter2 secret9 works", "hunter2 secret9"),
        ("[MEMORY:sk-abc123def456:caddy] Restarts in 60s", "sk-abc123def456"),
        ("[MEMORY:timing:sk abc ghp_abc123def456] Restarts in 60s", "ghp_abc123def456"),
        ("[MEMORY:timing:sk-abc123def456] Restarts in 60s", "sk-abc123def456"),
        ("[MEMORY:timing " + "word " * 34 + "Zx9Q" * 20, "Zx9Q"),
        ("[EVENT:info] " + "a " * 1500 + "[EVENT:warning] token: x1y2z3", "x1y2z3"),
    ],
)
async def test_a_marker_that_is_rejected_shows_no_secret(
    operational: OperationalMemory, caplog: pytest.LogCaptureFixture, spoken: str, hidden: str
) -> None:
    """Neither in its text, nor as the category or service that is none, nor where the text is cut, nor in the log."""
    receipts = await ingest(operational, session(spoken))
    assert ReceiptOutcome.REJECTED in {receipt.outcome for receipt in receipts}
    assert hidden not in str(receipts)
    assert hidden not in caplog.text
    assert caplog.text


@pytest.mark.parametrize(
    ("written", "hidden"),
    [
        ("The key is sk-abc123def456", "sk-abc123def456"),
        ("Use:\nsk-abc123def456 and", "sk-abc123def456"),
        ('He wrote {"password": "hunter2 secret9"}', "hunter2"),
        ("An em dash \u2014ghp_abc123def456 and", "ghp_abc123def456"),
    ],
)
async def test_a_damaged_line_shows_no_secret(
    operational: OperationalMemory, caplog: pytest.LogCaptureFixture, written: str, hidden: str
) -> None:
    """Cut in the middle, it is JSON with escapes right before words."""
    cut = encode(says(written)).partition(hidden.encode())[0] + hidden.encode()
    receipts = await ingest(operational, encode(init()) + cut + b"\n" + encode(result()))
    assert [receipt.kind for receipt in receipts] == [ReceiptKind.LINE]
    assert hidden not in str(receipts)
    assert hidden not in caplog.text
    assert "[hidden: " in receipts[0].text


async def test_twenty_sessions_at_once_learn_one_memory(operational: OperationalMemory) -> None:
    """Deciding and writing is one step: nobody creates what somebody else just did."""
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(ingest(operational, session(JELLYFIN, session_id=f"s-{number}")))
    memory = await only(operational)
    assert memory.confidence == 1.0


@pytest.fixture
async def elsewhere(database: Settings, clock: ManualClock) -> AsyncIterator[OperationalMemory]:
    """The same memory, opened a second time, as another process has it."""
    async with OperationalMemory.open(database, clock=clock) as memory:
        yield memory


@pytest.mark.requirement("OPS-13.2", "OPS-13.3")
async def test_edits_at_once_are_all_kept(
    operational: OperationalMemory, elsewhere: OperationalMemory
) -> None:
    """One changes the text and the other the confidence: neither takes back what the other did."""
    for number in range(20):
        memory = await added(operational, category="timing", observation="Starts slowly")
        text = f"Starts within {number} s"
        await asyncio.gather(
            operational.edit([memory.id], observation=text),
            elsewhere.edit([memory.id], confidence=0.9),
        )
        edited = await operational.get(memory.id)
        assert (edited.observation, edited.confidence) == (text, 0.9)


@pytest.mark.requirement("OPS-09.1", "OPS-13.2")
async def test_an_edit_takes_back_no_reinforcement(
    operational: OperationalMemory, elsewhere: OperationalMemory
) -> None:
    """The agent learns while an operator corrects the wording."""
    for number in range(10):
        service = f"service-{number}"
        memory = await added(
            operational, category="timing", service=service, observation="Takes 60s to start after restart"
        )
        learned = f"[MEMORY:timing:{service}] Takes 60 seconds to start after a restart"
        await asyncio.gather(
            operational.ingest(chunks(session(learned, session_id=service))),
            *[
                elsewhere.edit(
                    [memory.id], observation=f"Takes {'about ' * (turn % 2)}60s to start after restart"
                )
                for turn in range(8)
            ],
        )
        assert (await operational.get(memory.id)).confidence == 0.8


async def test_learning_edits_deletion_and_decay_wait_in_one_order(
    operational: OperationalMemory, elsewhere: OperationalMemory, clock: ManualClock
) -> None:
    """What locks many memories at once never ends in a deadlock, in whatever order ids are named."""
    subject = "to start after restart"
    same = [await operational.add(category="timing", observation=f"Takes 60s {subject}") for _ in range(5)]
    others = [
        await operational.add(category="timing", observation=f"Takes {60 + n}0s {subject}", confidence=1.0)
        for n in range(20)
    ]
    backwards = [memory.id for memory in reversed([*same, *others])]
    clock.advance(days=30)
    for number in range(8):
        clock.advance(days=7)
        wrong = [await operational.add(category="timing", observation="Restarts itself") for _ in range(5)]
        await asyncio.gather(
            operational.ingest(
                chunks(session(f"[MEMORY:timing] Takes 60s {subject}", session_id=f"s-{number}"))
            ),
            elsewhere.edit(backwards, confidence=1.0),
            elsewhere.upkeep.decay(),
            operational.edit(backwards, confidence=0.9),
            elsewhere.delete([memory.id for memory in reversed(wrong)]),
        )
    assert {memory.id for memory in await operational.list_memories()} == set(backwards)


@pytest.mark.requirement("OPS-11.1")
async def test_a_fresh_memory_does_not_decay(operational: OperationalMemory, clock: ManualClock) -> None:
    """Nothing happens within 30 days, nor before a week after them has passed."""
    memory = await added(operational, category="timing", observation="x")
    for days in (15, 15, 6):
        clock.advance(days=days)
        assert await operational.upkeep.decay() == []
    assert await operational.get(memory.id) == memory


@pytest.mark.requirement("TRU-03.4")
async def test_a_memory_that_was_seen_before_goes_on_decaying_from_there(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """The confidence that an import brings contains the decay until today."""
    seen_at = clock() - timedelta(days=46)
    memory = (
        await operational.add(category="timing", observation="Takes 60 s", confidence=0.6, updated_at=seen_at)
    ).memory
    assert memory.updated_at == seen_at
    assert await operational.upkeep.decay() == []
    clock.advance(days=7)
    (effect,) = await operational.upkeep.decay()
    assert (effect.confidence_before, effect.confidence_after) == (0.6, 0.5)


async def test_a_memory_is_not_seen_in_the_future(operational: OperationalMemory, clock: ManualClock) -> None:
    """A wrong clock of another machine does not delay its decay."""
    later = clock() + timedelta(days=300)
    added = await operational.add(category="timing", observation="Takes 60 s", updated_at=later)
    assert added.memory.updated_at == clock()
    with pytest.raises(InvalidInputError, match="updated_at"):
        await operational.add(
            category="timing", observation="Takes 70 s", updated_at=later.replace(tzinfo=None)
        )


@pytest.mark.requirement("OPS-11.2", "R-OPS-7")
async def test_a_stale_memory_loses_a_tenth_a_week_once(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """After 44 days 0.2, however often the check ran, and the time of the last update stays."""
    memory = await added(operational, category="timing", observation="x", confidence=0.9)
    clock.advance(days=44)
    (effect,) = await operational.upkeep.decay()
    assert (effect.confidence_before, effect.confidence_after) == (0.9, 0.7)
    for _ in range(3):
        assert await operational.upkeep.decay() == []
    decayed = await operational.get(memory.id)
    assert (decayed.confidence, decayed.updated_at) == (0.7, memory.updated_at)
    clock.advance(days=7)
    (effect,) = await operational.upkeep.decay()
    assert effect.confidence_after == 0.6


@pytest.mark.requirement("OPS-11.3")
async def test_decay_deactivates(operational: OperationalMemory, clock: ManualClock) -> None:
    """0.4 is 0.2 after 44 days, and inactive."""
    memory = await added(operational, category="timing", observation="x", confidence=0.4)
    clock.advance(days=44)
    await operational.upkeep.decay()
    stale = await operational.get(memory.id)
    assert (stale.confidence, stale.active) == (0.2, False)


async def test_reinforcement_starts_the_weeks_anew(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """The grace of 30 days counts from the last update."""
    await ingest(operational, session(JELLYFIN, session_id="a"))
    clock.advance(days=44)
    await operational.upkeep.decay()
    await ingest(operational, session(JELLYFIN, session_id="b"))
    clock.advance(days=36)
    assert await operational.upkeep.decay() == []
    clock.advance(days=1)
    (effect,) = await operational.upkeep.decay()
    assert effect.confidence_after == 0.5


async def test_a_clock_that_jumps_destroys_nothing_twice(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """Back and forth over the same weeks charges them once."""
    await operational.add(category="timing", observation="x", confidence=0.9)
    clock.advance(days=44)
    await operational.upkeep.decay()
    clock.advance(days=-44)
    assert await operational.upkeep.decay() == []
    clock.advance(days=44)
    assert await operational.upkeep.decay() == []


@pytest.mark.requirement("OPS-06.1", "OPS-15.1", "OPS-19.1", "OPS-06.3")
async def test_the_next_prompt_holds_what_was_learned(operational: OperationalMemory) -> None:
    """Header, services as headings with general last, one bullet a memory."""
    await operational.add(
        category="timing", service="jellyfin", observation="Takes 60s to start after restart", confidence=0.9
    )
    await operational.add(
        category="behavior",
        service="jellyfin",
        observation="First restart always fails due to DB lock",
        confidence=0.8,
    )
    await ingest(operational, session("[MEMORY:remediation] DNS checks sometimes fail transiently"))
    block = await operational.context()
    assert block.text == (
        "## Operational Memory (3 memories, ~70 tokens)\n"
        "\n"
        "### jellyfin\n"
        "- [timing] Takes 60s to start after restart (confidence: 0.9)\n"
        "- [behavior] First restart always fails due to DB lock (confidence: 0.8)\n"
        "\n"
        "### general\n"
        "- [remediation] DNS checks sometimes fail transiently (confidence: 0.7)"
    )
    assert block.tokens == 70 == len(block.text) // 4


@pytest.mark.requirement("OPS-10.1", "OPS-15.1")
@pytest.mark.parametrize("services", [[], ["caddy"]])
async def test_the_prompt_says_which_memory_was_contradicted(
    operational: OperationalMemory, services: list[str]
) -> None:
    """The correction may have less confidence than the old memory; the mark tells which of the two holds."""
    old, new = "Must be started after WireGuard", "Can be started independently of WireGuard"
    await operational.add(category="dependency", service="caddy", observation=old, confidence=1.0)
    await ingest(operational, session(f"[MEMORY:dependency:caddy] {new}"))
    marked = f"- [dependency] {old} (confidence: 0.8) (contradicted later)"
    lines = (await operational.context(services=services)).text.splitlines()
    assert lines[-2:] == [marked, f"- [dependency] {new} (confidence: 0.7)"]


@pytest.mark.parametrize("gone", ["reinforced", "edited", "deleted", "inactive"])
async def test_a_memory_that_holds_again_is_not_marked(operational: OperationalMemory, gone: str) -> None:
    """The memory was seen or edited since its correction, or no prompt shows the correction any more."""
    old = await added(operational, category="timing", service="caddy", observation="Takes 3s to reload")
    (corrected,) = await ingest(operational, session("[MEMORY:timing:caddy] Takes 9s to reload"))
    assert corrected.record_id is not None
    assert "(contradicted later)" in (await operational.context()).text
    match gone:
        case "reinforced":
            await ingest(operational, session("[MEMORY:timing:caddy] Takes 3s to reload", session_id="s-2"))
        case "edited":
            await operational.edit([old.id], confidence=0.9)
        case "deleted":
            await operational.delete([corrected.record_id])
        case _:
            await operational.edit([corrected.record_id], confidence=0.1)
    (line,) = [each for each in (await operational.context()).text.splitlines() if "3s to reload" in each]
    assert line.endswith(")")
    assert "contradicted" not in line


@pytest.mark.requirement("OPS-06.2")
async def test_nothing_known_is_no_block(operational: OperationalMemory) -> None:
    """An empty text, not an empty heading."""
    assert (await operational.context()).text == ""


@pytest.mark.requirement("OPS-08.2", "OPS-16.1")
async def test_what_is_weak_or_inactive_is_not_shown(operational: OperationalMemory) -> None:
    """Below 0.3, or inactive at whatever confidence."""
    kept = await added(operational, category="timing", observation="kept", confidence=0.3)
    await operational.add(category="timing", observation="weak", confidence=0.2)
    off = await added(operational, category="timing", observation="off", confidence=0.1)
    await operational.edit([off.id], confidence=0.3)  # at the threshold it stays what it was
    assert (await operational.get(off.id)).active is False
    block = await operational.context()
    assert block.memory_ids == (kept.id,)


@pytest.mark.requirement("OPS-07.1", "R-OPS-3")
async def test_the_most_trusted_fit_the_budget(operational: OperationalMemory) -> None:
    """The block with its header stays within the budget, and counts what it leaves out."""
    for number in range(50):
        await operational.add(
            category="behavior",
            service=f"service-{number % 7}",
            observation=f"Observation {number} " + "word " * 75,
            confidence=0.3 + number / 100,
        )
    block = await operational.context()
    assert len(block.text) <= 8000
    assert 0 < len(block.memory_ids) < 50
    shown = [await operational.get(memory_id) for memory_id in block.memory_ids]
    left_out = [memory for memory in await operational.list_memories() if memory not in shown]
    assert min(memory.confidence for memory in shown) > max(memory.confidence for memory in left_out)
    assert block.text.startswith(
        f"## Operational Memory ({len(shown)} of 50 memories, ~{block.tokens:,} tokens)\n"
    )


@pytest.mark.requirement("OPS-19.2")
async def test_a_service_that_is_checked_is_present(operational: OperationalMemory) -> None:
    """However many memories of other services are trusted more."""
    slow = "slow " * 20
    wanted = await added(operational, category="timing", service="Jellyfin", observation=slow, confidence=0.4)
    for number in range(300):
        await operational.add(category="behavior", service="other", observation=f"{number} " + "x " * 40)
    assert wanted.id not in (await operational.context()).memory_ids
    block = await operational.context(services=["jellyfin"])
    assert block.memory_ids[0] == wanted.id
    assert "### Jellyfin" in block.text


@pytest.mark.requirement("OPS-13.1")
async def test_an_operator_adds_a_memory(operational: OperationalMemory) -> None:
    """With the values given, no session, active."""
    memory = await added(
        operational,
        category="maintenance",
        service="postgres",
        observation="Needs manual VACUUM FULL weekly",
        confidence=0.9,
    )
    assert memory == await operational.get(memory.id)
    assert (memory.session_id, memory.active, memory.confidence) == (None, True, 0.9)


@pytest.mark.requirement("OPS-13.2", "R-OPS-8")
async def test_a_new_text_changes_no_confidence(operational: OperationalMemory, clock: ManualClock) -> None:
    """Text and time change, confidence and activity stay."""
    memory = await added(operational, category="timing", observation="old", confidence=0.2)
    clock.advance(hours=1)
    (edited,) = await operational.edit([memory.id], observation="new")
    assert (edited.observation, edited.confidence, edited.active) == ("new", 0.2, False)
    assert edited.updated_at == clock.now
    assert edited.created_at == memory.created_at


@pytest.mark.requirement("OPS-13.3", "OPS-16.3", "R-OPS-8")
async def test_confidence_decides_activity(operational: OperationalMemory, clock: ManualClock) -> None:
    """Below 0.3 off, above 0.3 on again and shown."""
    memory = await added(operational, category="timing", observation="x")
    (off,) = await operational.edit([memory.id], confidence=0.29)
    assert not off.active
    clock.advance(hours=1)
    (on,) = await operational.edit([memory.id], confidence=0.95)
    assert (on.active, on.confidence, on.updated_at) == (True, 0.95, clock.now)
    assert "(confidence: 0.95)" in (await operational.context()).text


@pytest.mark.requirement("OPS-08.3")
async def test_confidence_is_clamped(operational: OperationalMemory) -> None:
    """1.5 is saved as 1.0, -1 as 0.0."""
    memory = await added(operational, category="timing", observation="x", confidence=-1)
    assert (memory.confidence, memory.active) == (0.0, False)
    (edited,) = await operational.edit([memory.id], confidence=1.5)
    assert edited.confidence == 1.0


@pytest.mark.requirement("OPS-13.4", "OPS-13.5")
async def test_deletion_is_for_good(operational: OperationalMemory) -> None:
    """Rows go, ids are not used again, and the history forgets the words."""
    ids = [(await operational.add(category="timing", observation=f"jotting{n}")).id for n in range(5)]
    assert await operational.delete(ids) == ids
    assert await operational.list_memories() == []
    history = [change for memory_id in ids for change in await operational.history(memory_id)]
    assert {change.kind for change in history} == {ChangeKind.CREATED, ChangeKind.DELETED}
    assert "jotting" not in str(history)
    assert (await operational.add(category="timing", observation="x")).id > max(ids)


async def test_one_unknown_id_and_nothing_happens(operational: OperationalMemory) -> None:
    """Neither a deletion nor an edit is done by half."""
    memory = await added(operational, category="timing", observation="x")
    with pytest.raises(NotFoundError, match="999"):
        await operational.delete([memory.id, 999])
    with pytest.raises(NotFoundError, match="999"):
        await operational.edit([memory.id, 999], confidence=0.1)
    assert await operational.get(memory.id) == memory


@pytest.mark.requirement("OPS-16.2", "OPS-17.1", "OPS-17.2", "OPS-17.3")
async def test_memories_are_searched_filtered_and_sorted(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """By text in any case and script, by service, category and activity; grouped or ranked."""
    rows = [
        ("caddy", "dependency", "Braucht WIREGUARD, öffnet Port 100%", 0.5),
        (None, "remediation", "Retry DNS", 0.9),
        ("Adguard", "behavior", "Returns 302", 0.2),
        ("caddy", "timing", "Slow_start", 0.8),
    ]
    for service, category, text, value in rows:
        await operational.add(service=service, category=category, observation=text, confidence=value)
        clock.advance(minutes=1)

    async def found(**wanted: object) -> list[str]:
        memories = await operational.list_memories(MemoryFilter(**wanted))  # type: ignore[arg-type]
        return [memory.observation.split()[0] for memory in memories]

    assert await found() == ["Returns", "Slow_start", "Braucht", "Retry"]
    assert await found(sort="confidence") == ["Retry", "Slow_start", "Braucht", "Returns"]
    assert await found(sort="recency") == ["Slow_start", "Returns", "Retry", "Braucht"]
    assert await found(service="CADDY") == ["Slow_start", "Braucht"]
    assert await found(general=True) == ["Retry"]
    assert await found(category="behavior") == ["Returns"]
    assert await found(active=False) == ["Returns"]
    assert await found(search="wireguard") == ["Braucht"]
    assert await found(search="ÖFFNET") == ["Braucht"]
    assert await found(search="100%") == ["Braucht"]
    assert await found(search="0%x") == []
    assert await found(search="w_s") == ["Slow_start"]
    assert await found(sort="recency", limit=2, offset=1) == ["Returns", "Retry"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"category": "misc"}, 'category: expected one of timing, .*got "misc"'),
        ({"service": "my service"}, "service: expected 1 to 100 letters"),
        ({"observation": "  "}, "observation: expected text of 1 to 2000"),
        ({"observation": "x" * 2001}, "observation: .*2001 characters"),
        ({"confidence": float("nan")}, "confidence: expected a number"),
    ],
)
async def test_bad_input_is_refused_by_field(
    operational: OperationalMemory, values: dict[str, object], message: str
) -> None:
    """The error names field, expectation and value; nothing is written."""
    good = {"category": "timing", "observation": "x"}
    with pytest.raises(InvalidInputError, match=message):
        await operational.add(**(good | values))  # type: ignore[arg-type]
    assert await operational.list_memories() == []


@pytest.mark.parametrize("number", [2**40, 10**20])
async def test_a_number_that_no_row_can_have_is_refused(operational: OperationalMemory, number: int) -> None:
    """An id with a digit too many is an error that names it, whatever the database."""
    with pytest.raises((InvalidInputError, NotFoundError), match=str(number)):
        await operational.edit([number], confidence=0.5)
    with pytest.raises((InvalidInputError, NotFoundError), match=str(number)):
        await operational.reviews.get(number)


async def test_an_operator_may_not_store_a_secret_by_accident(operational: OperationalMemory) -> None:
    """Refused without repeating it; allowed when asked for."""
    with pytest.raises(SecretRefusedError) as caught:
        await operational.add(category="behavior", observation="password: hunter2secret")
    assert "hunter2" not in str(caught.value)
    key = "sk-abcdef1234567890"
    with pytest.raises(SecretRefusedError, match="service") as caught:
        await operational.add(category="behavior", service=key, observation="x")
    assert key not in str(caught.value)
    await operational.add(category="behavior", observation="password: hunter2secret", allow_secrets=True)
    await operational.add(category="behavior", service=key, observation="x", allow_secrets=True)


async def test_who_asked_is_in_the_history(operational: OperationalMemory) -> None:
    """The actor of the request, else the operator."""
    with request_context(actor="joe"):
        memory = await added(operational, category="timing", observation="x")
    await operational.edit([memory.id], confidence=0.5)
    assert [change.actor for change in await operational.history(memory.id)] == ["joe", "operator"]


@pytest.mark.parametrize("sql", ["'; DROP TABLE memories; --", '"; --', "%' OR 1=1", "\\", "\u0000x"])
async def test_sql_in_text_is_text(operational: OperationalMemory, sql: str) -> None:
    """Whatever is stored comes back, less NUL."""
    memory = await added(operational, category="timing", observation=f"{sql} y")
    found = await operational.list_memories(MemoryFilter(search=sql))
    assert [one.id for one in found] == [memory.id]


async def test_a_closed_memory_says_so(database: Settings) -> None:
    """Like one whose database cannot be reached."""
    async with OperationalMemory.open(database) as memory:
        pass
    for call in (memory.list_memories(), memory.add(category="timing", observation="x")):
        with pytest.raises(StorageUnavailableError, match="closed"):
            await call


async def test_a_text_is_no_list_of_ids(operational: OperationalMemory) -> None:
    """Its digits would be the ids of other memories; nothing is changed or deleted."""
    kept = await added(operational, category="timing", observation="x")
    for wrong in (str(kept.id), kept.id, [str(kept.id)], None):
        with pytest.raises(InvalidInputError, match="ids: expected a list of whole numbers"):
            await operational.delete(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="ids: expected a list of whole numbers"):
            await operational.edit(wrong, confidence=0.1)  # type: ignore[arg-type]
    assert await operational.list_memories() == [kept]


async def test_lists_refuse_what_does_not_exist(operational: OperationalMemory) -> None:
    """A page, a category or an order; SQLite would take -1 for all."""
    for wrong in (0, -1, 10**30, None, "5"):
        for list_rows in (
            operational.reviews.list,
            operational.sessions.list,
            operational.events.list,
            operational.cooldowns.list,
        ):
            with pytest.raises(InvalidInputError, match="limit: expected a whole number from 1"):
                await list_rows(limit=wrong)  # type: ignore[arg-type]
    for field, wrong in (("limit", -1), ("offset", -1), ("category", "timming"), ("sort", "age")):
        with pytest.raises(InvalidInputError, match=f"{field}: expected "):
            MemoryFilter(**{field: wrong})  # type: ignore[arg-type]


async def test_odd_characters_survive(operational: OperationalMemory) -> None:
    """Emoji, other scripts, and half an emoji as U+FFFD."""
    data = session("[MEMORY:behavior:jellyfin] 启动慢 🐢 \ud83d")
    await ingest(operational, data)
    assert (await only(operational)).observation == "启动慢 🐢 \N{REPLACEMENT CHARACTER}"


async def test_a_file_holds_sessions_one_after_the_other(operational: OperationalMemory) -> None:
    """Another id in an init begins another session; an init with the same id resumes."""
    data = encode(
        init("a"), says("one", session_id="a"), result(session_id="a"),
        init("a"), says("two", session_id="a"), result("again", session_id="a"),
        init("b"), says("three", session_id="b"),
    )  # fmt: skip
    reports = await operational.ingest(chunks(data, size=7))
    assert [report.session.agent_session_id for report in reports] == ["a", "b"]
    assert [report.session.status for report in reports] == ["completed", "interrupted"]
    assert reports[0].session.response == "again"


async def test_nothing_is_no_session(operational: OperationalMemory) -> None:
    """An empty transcript holds none."""
    assert await operational.ingest(chunks(b"\n\n")) == []
    assert await operational.sessions.list() == []


@pytest.mark.requirement("OPS-20.1")
@pytest.mark.parametrize(
    "data", [b"half a line\n", '{"type": "system"}\n'.encode("utf-16"), b"\x00\x01\n\x02"]
)
async def test_an_unreadable_transcript_is_an_error(operational: OperationalMemory, data: bytes) -> None:
    """UTF-16, binary data and prose are refused, and make no session."""
    with pytest.raises(InvalidInputError, match="stream-json in UTF-8"):
        await operational.ingest(chunks(data))
    assert await operational.sessions.list() == []


@pytest.mark.requirement("OPS-03.3", "OPS-20.1")
async def test_the_example_holds_what_its_readme_says(operational: OperationalMemory) -> None:
    """Three sessions; one memory reinforced, one contradicted, one marker rejected, one line damaged."""
    example = Path(__file__).parents[3] / "examples" / "ops-sessions.jsonl"
    reports = await operational.ingest(chunks(example.read_bytes()), tiers=(1, 2, 3))
    receipts = [receipt for report in reports for receipt in report.receipts]
    assert [report.session.tier for report in reports] == [1, 2, 3]
    assert Counter((receipt.kind.value, receipt.outcome.value) for receipt in receipts) == {
        ("memory", "created"): 11,
        ("memory", "reinforced"): 1,
        ("event", "recorded"): 9,
        ("cooldown", "recorded"): 1,
        ("marker", "rejected"): 1,
        ("line", "rejected"): 1,
    }
    (effect,) = (effect for receipt in receipts for effect in receipt.contradicted)
    assert "WireGuard" in effect.observation
    assert all("postgres.md" not in memory.observation for memory in await operational.list_memories())


@pytest.mark.requirement("TRU-02.3")
async def test_the_block_says_which_day_tomorrow_was(
    operational: OperationalMemory, clock: ManualClock
) -> None:
    """The observation stays as the marker says it; a repetition on another day makes the day uncertain."""
    marker = "[MEMORY:maintenance:nas] Disk swap tomorrow at noon"
    await ingest(operational, session(marker))
    assert (await only(operational)).observation == "Disk swap tomorrow at noon"
    clock.advance(days=3)
    shown = "- [maintenance] Disk swap tomorrow (2026-03-02) at noon (confidence: 0.7)"
    assert shown in (await operational.context()).text
    await ingest(operational, session(marker))
    assert "Disk swap tomorrow at noon (confidence: 0.8)" in (await operational.context()).text
