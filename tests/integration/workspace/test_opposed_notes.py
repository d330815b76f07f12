"""Notes that repeat, reword or oppose others, as hosts and processes store them."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.judge import Verdict
from commonplace.workspace import NotePair, WorkspaceMemory, call_tool
from support.judging import both_ways, decide

NEVER, REWORDED, AFTER = (
    "Never deploy on Fridays",
    "Don't deploy on Fridays",
    "Deploy on Fridays after 14:00",
)


@pytest.fixture(autouse=True)
def verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two texts say the same."""
    decide(monkeypatch, both_ways(Verdict.SAME, NEVER, REWORDED))


@pytest.fixture
async def memory(tmp_path: Path, clock: ManualClock) -> AsyncIterator[WorkspaceMemory]:
    """The memory of an empty workspace."""
    async with WorkspaceMemory.open(workspace=tmp_path, clock=clock) as opened:
        yield opened


async def fill(memory: WorkspaceMemory, clock: ManualClock, *texts: str) -> None:
    """Store texts, a minute apart."""
    for text in texts:
        await memory.store(text)
        clock.advance(minutes=1)


async def waiting(memory: WorkspaceMemory) -> list[tuple[str, str]]:
    """Return the ids of the pairs that wait."""
    return [(each.older.id, each.newer.id) for each in await memory.reviews.list()]


@pytest.mark.requirement("TRU-05", "TRU-05.2")
async def test_a_retried_call_stores_once(memory: WorkspaceMemory) -> None:
    """The answer has the same id, and says so; the file keeps its bytes."""
    arguments = {"text": NEVER, "tags": ["deploy"]}
    assert await call_tool(memory, "memory_store", arguments) == {"ok": True, "id": "m-1"}
    before = memory.path.read_bytes()
    again = {"ok": True, "id": "m-1", "repeated": True, "note": "m-1 was there already."}
    assert await call_tool(memory, "memory_store", arguments) == again
    assert await call_tool(memory, "memory_store", {"text": "never  deploy on Fridays"}) == again
    assert memory.path.read_bytes() == before
    await memory.delete("m-1")
    assert await call_tool(memory, "memory_store", arguments) == {"ok": True, "id": "m-2"}


@pytest.mark.requirement("TRU-05.2", "WSP-11.1")
async def test_two_memories_that_store_at_once_store_once(tmp_path: Path) -> None:
    """The lock covers the comparison."""
    async with (
        WorkspaceMemory.open(workspace=tmp_path) as one,
        WorkspaceMemory.open(workspace=tmp_path) as other,
    ):
        receipts = await asyncio.gather(*(each.store(NEVER) for each in (one, other) * 5))
        assert {each.id for each in receipts} == {"m-1"}
        assert [each.repeated for each in receipts].count(False) == 1


@pytest.mark.requirement("TRU-05", "TRU-05.3", "WSP-01.4")
async def test_every_wording_is_kept_and_one_is_shown(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """In the block; a search, which is for words, finds each."""
    await fill(memory, clock, NEVER)
    receipt = await memory.store(REWORDED)
    assert ([each.id for each in receipt.same], receipt.opposed) == (["m-1"], ())
    assert await memory.context("deploy on fridays") == f"[Memories]\n- (m-2) {REWORDED}"
    assert (await memory.search("fridays")).count == 2
    assert await memory.context("may we never deploy on fridays?") == f"[Memories]\n- (m-1) {NEVER}"


@pytest.mark.requirement("TRU-05", "TRU-05.4")
async def test_opposed_notes_wait(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """Both are kept and shown; the pair says why."""
    await fill(memory, clock, NEVER)
    answer = await call_tool(memory, "memory_store", {"text": AFTER})
    assert (answer["id"], answer["opposed"]) == ("m-2", ["m-1"])
    assert "commonplace review w:1-w:2 same|refines|corrects|distinct" in answer["note"]
    (pair,) = await memory.reviews.list()
    assert (pair.older.text, pair.newer.text, pair.decision) == (NEVER, AFTER, None)
    assert pair.reason.endswith('only the old text says "Never"; only the new text says "after 14:00".')
    assert pair.since == clock()
    assert (await memory.context("deploy on fridays")).count("- (m-") == 2


@pytest.mark.requirement("TRU-05.4", "TRU-05.5")
@pytest.mark.parametrize(
    ("verdict", "left"),
    [("same", ["m-2"]), ("corrects", ["m-2"]), ("refines", ["m-2", "m-1"]), ("distinct", ["m-2", "m-1"])],
)
async def test_a_decision_is_applied_remembered_and_undone(
    memory: WorkspaceMemory, clock: ManualClock, verdict: str, left: list[str]
) -> None:
    """The older note goes, or both stay; an undo brings the line back as it was."""
    await fill(memory, clock, NEVER, AFTER)
    before = await memory.search()
    decided = await memory.reviews.decide("m-1", "w:2", verdict)
    assert (decided.decision, decided.decided_by, decided.decided_at) == (verdict, "operator", clock())
    assert [each.id for each in (await memory.search()).memories] == left
    assert (await memory.reviews.list(), await memory.reviews.list(decided=True)) == ([], [decided])
    with pytest.raises(ConflictError, match="already decided"):
        await memory.reviews.decide("m-1", "m-2", verdict)
    undone = await memory.reviews.undo("m-1", "m-2")
    assert (undone.decision, await waiting(memory)) == (None, [("m-1", "m-2")])
    assert await memory.search() == before
    with pytest.raises(ConflictError, match="not decided yet"):
        await memory.reviews.undo("m-1", "m-2")


@pytest.mark.requirement("TRU-05.5")
async def test_nobody_is_asked_twice(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """About two texts that both hold; a correction that was taken back is a new question."""
    await fill(memory, clock, NEVER, AFTER)
    await memory.reviews.decide("m-1", "m-2", "distinct")
    await memory.delete("m-1")
    assert (await memory.store(NEVER)).opposed == ()
    await memory.delete("m-2")
    assert (await memory.store(AFTER)).opposed == ()
    assert await waiting(memory) == []


@pytest.mark.requirement("TRU-05.5")
async def test_what_holds_again_waits_again(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """A value that went back and forth: each change is a line, and the last one is in question."""
    await fill(memory, clock, NEVER, AFTER, NEVER)
    assert (await memory.search()).count == 3
    assert await waiting(memory) == [("m-2", "m-3")]
    await memory.reviews.decide("m-2", "m-3", "corrects")
    await fill(memory, clock, AFTER)
    assert ("m-3", "m-4") in await waiting(memory)


@pytest.mark.requirement("TRU-05.4")
async def test_a_changed_or_deleted_note_waits_no_more(memory: WorkspaceMemory, clock: ManualClock) -> None:
    """And an edited note is compared again."""
    await fill(memory, clock, NEVER, AFTER)
    await memory.edit("m-2", "The build server is h-7")
    assert await waiting(memory) == []
    await memory.edit("m-2", AFTER)
    assert await waiting(memory) == [("m-1", "m-2")]
    await memory.delete("m-2")
    assert await waiting(memory) == []
    with pytest.raises(NotFoundError, match="w:1-w:2"):
        await memory.reviews.decide("m-1", "m-2", "same")
    with pytest.raises(InvalidInputError, match="verdict"):
        await memory.reviews.decide("m-1", "m-2", "maybe")
    with pytest.raises(InvalidInputError, match="id"):
        await memory.reviews.decide("x", "m-2", "same")


@pytest.mark.requirement("TRU-05.4")
async def test_a_damaged_pair_costs_only_itself(
    memory: WorkspaceMemory, clock: ManualClock, tmp_path: Path
) -> None:
    """A torn last line swallows no pair; a pair that cannot be written does not fail the store."""
    await fill(memory, clock, NEVER)
    pairs = memory.path.with_name("pairs.jsonl")
    assert not pairs.exists()
    pairs.write_bytes(b'{"older": "torn')
    await fill(memory, clock, AFTER)
    assert await waiting(memory) == [("m-1", "m-2")]
    pairs.unlink()
    pairs.mkdir()
    receipt = await memory.store(NEVER)
    assert (receipt.id, receipt.repeated) == ("m-3", False)
    lines = [json.loads(line) for line in memory.path.read_text().splitlines()]
    assert [set(line) for line in lines] == [{"id", "scope", "text", "tags", "ts"}] * 3
    async with WorkspaceMemory.open(workspace=tmp_path) as other:
        assert (await other.search()).count == 3


@pytest.mark.requirement("TRU-05.4")
async def test_notes_that_an_undo_would_restore_can_be_erased(
    memory: WorkspaceMemory, clock: ManualClock
) -> None:
    """The file of pairs holds their text until then."""
    await fill(memory, clock, NEVER, AFTER)
    decided: NotePair = await memory.reviews.decide("m-1", "m-2", "corrects")
    pairs = memory.path.with_name("pairs.jsonl")
    assert NEVER in pairs.read_text()
    assert await memory.reviews.deleted() == [decided.older]
    assert await memory.reviews.erase([decided.older]) == 1
    assert (NEVER in pairs.read_text(), await memory.reviews.deleted()) == (False, [])
    assert await memory.reviews.erase([decided.older]) == 0
