"""The review queue and the wordings of a memory on the command line."""

import asyncio

import pytest

from commonplace.core.settings import Settings
from commonplace.operational.memory import OperationalMemory
from support.commands import CommandLine
from support.judging import make_pair_wait
from support.streams import encode, init, result, says

OLD = "Runs version 2.3"
NEW = "Was upgraded to 2.4"
CONDITION = "Restart when the queue is stuck, but never while a backup is running"


def emit(commonplace: CommandLine, *texts: str) -> None:
    """Ingest one session for each text."""
    for number, text in enumerate(texts):
        name = f"session-{number}"
        marker = says(f"[MEMORY:behavior:redis] {text}", session_id=name)
        data = encode(init(name), marker, result(session_id=name))
        assert commonplace("ops", "ingest", "-", stdin=data).status == 0


async def doubt(commonplace: CommandLine) -> None:
    """Let a pair wait in the home of the command."""
    settings = Settings(home=commonplace.home, workspace=commonplace.directory)
    async with OperationalMemory.open(settings) as memory:
        await make_pair_wait(memory, OLD, NEW)


@pytest.mark.requirement("JDG-04.1")
def test_a_doubtful_pair_is_decided_and_taken_back(commonplace: CommandLine) -> None:
    """The decision lowers the old memory; undo restores it and the pair waits again."""
    asyncio.run(doubt(commonplace))
    listed = commonplace("review")
    assert OLD in listed.out
    assert NEW in listed.out
    assert "VERDICT (a pair: same, refines, corrects or distinct)" in " ".join(listed.out.split())
    (waiting,) = commonplace("review", "--json").json["items"]
    number, old = waiting["id"], int(waiting["sides"][0]["id"])
    assert waiting["verdicts"] == ["same", "refines", "corrects", "distinct"]
    decided = commonplace("review", number, "corrects", "--json").json
    assert (decided["id"], decided["verdict"], decided["undoable"]) == (number, "corrects", True)
    assert decided["item"]["decision"]["verdict"] == "corrects"
    memories = commonplace("ops", "list", "--json").json["memories"]
    assert {one["id"]: one["confidence"] for one in memories}[old] == 0.5
    assert commonplace("review").out == "No memory waits for a decision.\n"
    assert "decided by" in commonplace("review", "--decided").out
    assert commonplace("review", number, "undo").status == 0
    assert commonplace("review", "--decided").out == "No decisions yet.\n"
    memories = commonplace("ops", "list", "--json").json["memories"]
    assert {one["id"]: one["confidence"] for one in memories}[old] == 0.7
    assert commonplace("review", "--json").json["count"] == 1


@pytest.mark.requirement("JDG-04.1")
@pytest.mark.parametrize(
    ("verdict", "old", "new"),
    [
        ("same", "confidence 0.8, active", "confidence 0.7, inactive: no prompt shows it"),
        ("corrects", "confidence 0.5, active", "confidence 0.7, active"),
    ],
)
def test_a_decision_says_what_it_changed(commonplace: CommandLine, verdict: str, old: str, new: str) -> None:
    """Both memories are printed with their confidence after the decision; a second decision names the way out."""
    asyncio.run(doubt(commonplace))
    (waiting,) = commonplace("review", "--json").json["items"]
    number = waiting["id"]
    old_id, new_id = (side["id"] for side in waiting["sides"])
    told = commonplace("review", number, verdict).out
    assert told.splitlines()[-2:] == [f"   o:{old_id}: {old}", f"   o:{new_id}: {new}"]
    again = commonplace("review", number, "distinct")
    assert again.status == 1
    assert "is already decided. To decide it again, undo the decision first." in again.err
    assert commonplace("review", number, "undo").out.splitlines()[-2:] == [
        f"   o:{old_id}: confidence 0.7, active",
        f"   o:{new_id}: confidence 0.7, active",
    ]


@pytest.mark.requirement("JDG-04.1")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("1", "perhaps"), "expected same, refines, corrects, distinct or undo for 1, got perhaps"),
        (("1",), "expected same, refines, corrects, distinct or undo for 1, got nothing"),
        (("k1", "forget"), "expected same, refines, corrects, distinct or undo for k1, got forget"),
        (("f:3k7q2",), "expected confirm, forget or undo for f:3k7q2, got nothing"),
        (("f:3k7q2+f:9x2vd", "forget"), "expected same, distinct or undo for f:3k7q2+f:9x2vd, got forget"),
        (("x:3k7q2", "forget"), 'f:3k7q2+n:4h1tz, or the id of a flagged memory such as o:12, got "x:3k7q2"'),
        (("zz", "same"), "a number, k and a number, a short id such as f:3k7q2, two short ids"),
        (("1", "--model"), "expected no ID with --model"),
    ],
)
def test_wrong_usage_is_status_2(commonplace: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    """The message lists what the ID accepts, or the forms of IDs."""
    done = commonplace("review", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())


@pytest.mark.requirement("JDG-04.1")
@pytest.mark.parametrize("arguments", [("7", "same"), ("--model",)])
def test_a_wrong_use_is_refused_in_one_line(commonplace: CommandLine, arguments: tuple[str, ...]) -> None:
    """An unknown pair, and no model."""
    asyncio.run(doubt(commonplace))
    done = commonplace("review", *arguments)
    assert done.status == 1
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


@pytest.mark.requirement("JDG-01.1")
def test_every_wording_is_listed_and_can_be_restored(commonplace: CommandLine) -> None:
    """A refined lesson keeps its first text."""
    emit(commonplace, "Restart when the queue is stuck", CONDITION)
    steps = commonplace("history", "o:1", "--json").json["steps"]
    assert ["Restart when the queue is stuck" in steps[0]["text"], CONDITION in steps[-1]["text"]] == [
        True
    ] * 2
    assert commonplace("edit", "o:1", "Restart when the queue is stuck").status == 0
    assert "  before: " + CONDITION in commonplace("undo").out + commonplace("edit", "o:1", "x").out
    assert commonplace("history", "o:9").err == "error: no lesson with id o:9\n"
