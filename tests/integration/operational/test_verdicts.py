"""The verdicts of the judge on the real database: what each one does to rows, history and the review queue.

Every test runs on SQLite and on PostgreSQL.
"""

from collections.abc import Sequence

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.judge import Compared, Judgement, PairVerdict, Verdict, judge
from commonplace.operational.lessons.lifecycle import MOST_COMPARED
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.memories import ChangeKind, Lesson, MemoryFilter
from commonplace.operational.model.receipts import Receipt, ReceiptKind, ReceiptOutcome
from support.judging import decide
from support.streams import chunks, encode, init, result, says

OLD = "Runs version 2.3"
NEW = "Was upgraded to 2.4"


@pytest.fixture(autouse=True)
def doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair that waits in these tests."""
    decide(monkeypatch, {(OLD, NEW): Verdict.DOUBTFUL})


async def emit(memory: OperationalMemory, text: str, number: int, about: str = "behavior:redis") -> Receipt:
    """Let a session of its own emit an observation."""
    name = f"session-{number}"
    data = encode(init(name), says(f"[MEMORY:{about}] {text}", session_id=name), result(session_id=name))
    (report,) = await memory.ingest(chunks(data))
    return next(receipt for receipt in report.receipts if receipt.kind is ReceiptKind.MEMORY)


async def active(memory: OperationalMemory) -> list[Lesson]:
    """Return the active memories, oldest first."""
    return sorted(await memory.list_memories(MemoryFilter(active=True)), key=lambda one: one.id)


@pytest.mark.requirement("JDG-01.1")
async def test_a_refinement_becomes_part_of_the_text(operational: OperationalMemory) -> None:
    """The old memory is reinforced and holds both wordings; each can be restored."""
    condition = "Restart when the queue is stuck, but never while a backup is running"
    await emit(operational, "Restart when the queue is stuck", 1)
    receipt = await emit(operational, condition, 2)
    (found,) = await active(operational)
    assert (receipt.outcome, found.observation, found.confidence) == (ReceiptOutcome.REFINED, condition, 0.8)
    wordings = await operational.wordings.list(found.id)
    assert [one.text for one in wordings] == ["Restart when the queue is stuck", condition]
    restored = await operational.wordings.restore(found.id, 1)
    assert (restored.observation, restored.confidence) == ("Restart when the queue is stuck", 0.8)
    with pytest.raises(InvalidInputError, match="from 1 to 2"):
        await operational.wordings.restore(found.id, 3)


@pytest.mark.requirement("JDG-01.1")
async def test_a_refinement_that_is_too_long_stays_beside(
    operational: OperationalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word is lost: the new memory is linked to the old one, which is reinforced."""
    long = f"The importer of the archive needs the vault {'and the very slow catalogue mirror ' * 7}to run"
    longer = f"{long}, except for the picture jobs of the old and new archive"
    decide(monkeypatch, {(long, longer): Verdict.REFINE})
    await emit(operational, long, 1)
    receipt = await emit(operational, longer, 2)
    old, new = await active(operational)
    assert (receipt.outcome, old.confidence) == (ReceiptOutcome.CREATED, 0.8)
    assert receipt.reason.startswith(f"refines #{old.id}, kept beside it")
    (created,) = await operational.history(new.id)
    assert created.related_id == old.id


@pytest.mark.requirement("JDG-01.1")
async def test_every_wording_is_in_the_history(operational: OperationalMemory) -> None:
    """A memory that says the same in other words keeps the words that were emitted."""
    await emit(operational, "Takes 60s to start", 1)
    receipt = await emit(operational, "Takes 60 seconds to start", 2)
    assert receipt.outcome is ReceiptOutcome.REINFORCED
    (found,) = await active(operational)
    assert found.observation == "Takes 60s to start"
    assert [one.text for one in await operational.wordings.list(found.id)] == [
        "Takes 60s to start",
        "Takes 60 seconds to start",
    ]
    await emit(operational, "Takes 60 seconds to start", 3)
    await operational.wordings.restore(found.id, 2)
    wordings = await operational.wordings.list(found.id)
    assert [one.uses for one in wordings] == [1, 2], "an operator who restores a text says nothing new"
    with pytest.raises(NotFoundError):
        await operational.wordings.list(999)


@pytest.mark.requirement("JDG-02.1")
async def test_a_correction_is_linked_to_what_it_corrects(operational: OperationalMemory) -> None:
    """The old memory loses 0.2, the new one is stored, and the history of each names the other."""
    await emit(operational, "Depends on the LDAP server", 1)
    receipt = await emit(operational, "The dependency on the LDAP server was removed", 2)
    old, new = await active(operational)
    assert (old.confidence, new.confidence) == (0.5, 0.7)
    assert receipt.reason.startswith(f"corrects #{old.id}: ")
    assert (await operational.history(old.id))[-1].related_id == new.id
    assert (await operational.history(new.id))[0].related_id == old.id


@pytest.mark.requirement("JDG-03.1")
async def test_cameras_are_four_things(operational: OperationalMemory) -> None:
    """A number that identifies makes distinct memories, and not one loses confidence."""
    for number in range(1, 5):
        await emit(operational, f"Camera {number} drops frames at night", number)
    assert [one.confidence for one in await active(operational)] == [0.7] * 4


@pytest.mark.requirement("JDG-04.1")
@pytest.mark.parametrize(
    ("decision", "observations", "confidence"),
    [
        ("same", [OLD], 0.8),
        ("refines", [f"{OLD}; {NEW}"], 0.8),
        ("corrects", [OLD, NEW], 0.5),
        ("distinct", [OLD, NEW], 0.7),
    ],
)
async def test_a_decision_is_applied(
    operational: OperationalMemory, decision: str, observations: list[str], confidence: float
) -> None:
    """A doubtful pair is kept whole and waits; the answer does what the verdict would have done."""
    await emit(operational, OLD, 1)
    await emit(operational, NEW, 2)
    (review,) = await operational.reviews.list()
    assert (review.old_observation, review.new_observation, review.decision) == (OLD, NEW, None)
    assert [one.confidence for one in await active(operational)] == [0.7, 0.7]
    decided = await operational.reviews.decide(review.id, decision)
    assert (decided.decision, decided.decided_by) == (PairVerdict(decision), "operator")
    found = await active(operational)
    assert [one.observation for one in found] == observations
    assert found[0].confidence == confidence
    assert await operational.reviews.list() == []
    assert await operational.reviews.count() == 0
    with pytest.raises(ConflictError, match="is already decided"):
        await operational.reviews.decide(review.id, decision)


@pytest.mark.requirement("JDG-04.1")
async def test_a_decision_is_remembered_for_the_pair(operational: OperationalMemory) -> None:
    """The same two texts never wait again, and get the verdict that was decided."""
    await emit(operational, OLD, 1)
    await emit(operational, NEW, 2)
    (review,) = await operational.reviews.list()
    await operational.reviews.decide(review.id, "corrects")
    await emit(operational, NEW, 3)
    old, new = await active(operational)
    assert (old.confidence, new.confidence) == (0.3, 0.8)
    assert await operational.reviews.list() == []
    assert (await operational.history(old.id))[-1].kind is ChangeKind.CONTRADICTED


@pytest.mark.requirement("JDG-04.1")
async def test_an_unknown_review_or_verdict_is_refused(operational: OperationalMemory) -> None:
    """Nothing is written then."""
    with pytest.raises(NotFoundError, match="review"):
        await operational.reviews.decide(1, "same")
    with pytest.raises(InvalidInputError, match="same, refines, corrects, distinct"):
        await operational.reviews.decide(1, "maybe")


@pytest.mark.requirement("JDG-04.1")
async def test_a_pair_does_not_wait_while_a_memory_is_inactive(operational: OperationalMemory) -> None:
    """A decision would change nothing then. The pair waits again when both memories are active."""
    await emit(operational, OLD, 1)
    await emit(operational, NEW, 2)
    (review,) = await operational.reviews.list()
    await operational.edit([review.old_id], confidence=0.1)
    assert (await operational.reviews.list(), await operational.reviews.count()) == ([], 0)
    await operational.edit([review.old_id], confidence=0.7)
    assert (await operational.reviews.list(), await operational.reviews.count()) == ([review], 1)
    await operational.reviews.decide(review.id, "same")
    assert (
        len(await operational.reviews.list(decided=True))
        == await operational.reviews.count(decided=True)
        == 1
    )


@pytest.mark.requirement("JDG-04.1")
async def test_a_deleted_memory_leaves_the_queue(operational: OperationalMemory) -> None:
    """No text of a deleted memory stays in a review."""
    await emit(operational, OLD, 1)
    await emit(operational, NEW, 2)
    await operational.delete([(await active(operational))[0].id])
    assert await operational.reviews.list() == []


@pytest.mark.requirement("OPS-03.1")
async def test_the_service_general_is_no_service(operational: OperationalMemory) -> None:
    """A marker of the service "general" makes a general memory, and meets the others."""
    await emit(operational, "Takes 60s to start", 1, "timing:general")
    await emit(operational, "Takes 60s to start", 2, "timing")
    (found,) = await active(operational)
    assert (found.service, found.confidence) == (None, 0.8)


@pytest.mark.requirement("JDG-04.1")
@pytest.mark.parametrize("verdict", ["same", "distinct"])
async def test_undo_keeps_what_was_learned_after_the_decision(
    operational: OperationalMemory, clock: ManualClock, verdict: str
) -> None:
    """Only a memory that has not changed since the decision returns to its state before it."""
    await emit(operational, OLD, 1)
    await emit(operational, NEW, 2)
    (review,) = await operational.reviews.list()
    await operational.reviews.decide(review.id, verdict)
    clock.advance(days=1)
    await emit(operational, OLD, 3)
    learned = await operational.get(review.old_id)
    await operational.reviews.undo(review.id)
    assert await operational.get(review.old_id) == learned
    new = await operational.get(review.new_id)
    assert (new.confidence, new.active) == (0.7, True)
    assert await operational.reviews.count() == 1


@pytest.mark.requirement("JDG-07", "JDG-07.1")
async def test_the_agent_says_what_it_corrects(operational: OperationalMemory) -> None:
    """Whatever the judge thinks of the two texts; the stored text has no ending."""
    await emit(operational, "Keeps 30 snapshots of the vault", 1)
    receipt = await emit(operational, "Retention is a fortnight (was: Keeps 30 snapshots)", 2)
    old, new = await active(operational)
    assert (old.confidence, new.observation, new.confidence) == (0.5, "Retention is a fortnight", 0.7)
    assert receipt.reason == f"corrects #{old.id}: The agent says that it corrects #{old.id}."
    assert [each.memory_id for each in receipt.contradicted] == [old.id]


@pytest.mark.requirement("JDG-07", "JDG-07.1")
async def test_the_agent_says_what_it_confirms(operational: OperationalMemory) -> None:
    """The memory keeps its text, and gains confidence."""
    await emit(operational, "Needs redis up first; without it the start ends in exit code 3", 1)
    receipt = await emit(operational, "Needs redis up first (again)", 2)
    (found,) = await active(operational)
    assert (receipt.outcome, found.confidence) == (ReceiptOutcome.REINFORCED, 0.8)
    assert found.observation.endswith("exit code 3")


@pytest.mark.requirement("JDG-07.2")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Keeps 14 backups (was: Keeps 60 backups)", "(was: Keeps 60 backups) names no active lesson"),
        ("Keeps 14 backups (was: Keeps 30)", "(was: Keeps 30) names 2 active lessons"),
        ("Answers on port 6380 (again)", "(again) names no active lesson"),
    ],
)
async def test_the_receipt_says_that_an_ending_names_no_memory(
    operational: OperationalMemory, text: str, names: str
) -> None:
    """The text is stored as the agent wrote it. Memories of another service are not meant."""
    for observation in ("Keeps 30 backups", "Keeps 30 snapshots"):
        await operational.add(category="behavior", service="redis", observation=observation)
    for observation in ("Keeps 60 backups", "Answers on port 6380"):
        await operational.add(category="behavior", service="caddy", observation=observation)
    receipt = await emit(operational, text, 1)
    assert receipt.remark == f"{names} of its service and category, so it is a part of the text."
    assert (receipt.text, receipt.record_id is not None) == (text, True)
    stored = await operational.get(receipt.record_id or 0)
    assert text in stored.observation
    assert (await emit(operational, "Answers on port 6380", 2, "behavior:caddy")).remark == ""


@pytest.mark.requirement("JDG-06.2")
async def test_of_many_memories_the_nearest_are_compared(
    operational: OperationalMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory that shares rare words with the observation is among them, however old it is."""
    oldest, correction = "Restic keeps thirty snapshots", "Restic keeps forty snapshots"
    await operational.add(category="behavior", service="redis", observation=oldest)
    for number in range(MOST_COMPARED):
        await operational.add(category="behavior", service="redis", observation=f"Panel p{number} blinks")
    compared: list[int] = []
    compare_all = judge.compare_all

    def counted(pairs: Sequence[Compared]) -> list[Judgement]:
        compared.append(len(pairs))
        return compare_all(pairs)

    monkeypatch.setattr(judge, "compare_all", counted)
    receipt = await emit(operational, correction, 1)
    assert [each.observation for each in receipt.contradicted] == [oldest]
    assert compared == [MOST_COMPARED]
