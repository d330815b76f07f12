"""Endings of a marker: which memory they name, and what is left of the observation."""

from datetime import UTC, datetime

import pytest

from commonplace.judge import Verdict
from commonplace.operational.model.markers import MemoryCategory
from commonplace.operational.model.memories import Lesson
from commonplace.operational.rules.endings import read_ending

STARTS = "Takes 60s to start after an update; wait before the first probe"
SLOW = "Takes long to stop (about 2 min)"
RAID = "RAID check"


def lessons(*texts: str) -> list[Lesson]:
    """Return active memories with ids from 1."""
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    return [
        Lesson(
            id=number,
            category=MemoryCategory.TIMING,
            service="jellyfin",
            observation=text,
            confidence=0.7,
            tier=1,
            session_id=1,
            active=True,
            created_at=moment,
            updated_at=moment,
        )
        for number, text in enumerate(texts, 1)
    ]


@pytest.mark.requirement("JDG-07", "JDG-07.1")
@pytest.mark.parametrize(
    ("observation", "told", "number", "verdict"),
    [
        ("Takes 90s to start (was: Takes 60s to start)", "Takes 90s to start", 1, Verdict.CORRECT),
        ("Takes 90s to start (WAS: takes  60s …)", "Takes 90s to start", 1, Verdict.CORRECT),
        ("Stops at once (was: Takes long to stop (about 2 min)).", "Stops at once", 2, Verdict.CORRECT),
        ("Runs on Mondays (was: RAID check)", "Runs on Mondays", 3, Verdict.CORRECT),
        ("Takes 60s to start after an update (again)", "Takes 60s to start after an update", 1, Verdict.SAME),
        ("takes long to stop (Again).", "takes long to stop", 2, Verdict.SAME),
    ],
)
def test_an_ending_names_one_memory(observation: str, told: str, number: int, verdict: Verdict) -> None:
    """By its first words, whatever their case and spacing; the observation is kept without the ending."""
    ending = read_ending(observation, lessons(STARTS, SLOW, RAID))
    assert ending is not None
    assert ending.remark == ""
    saying = ending.saying
    assert saying is not None
    assert (saying.observation, saying.memory.id, saying.judgement.verdict) == (told, number, verdict)
    assert saying.judgement.reason in {
        f"The agent says that it corrects #{number}.",
        f"The agent says that it confirms #{number}.",
    }


@pytest.mark.requirement("JDG-07.1")
@pytest.mark.parametrize(
    ("observation", "ending"),
    [
        ("Takes 90s to start (was: Needs Redis)", "(was: Needs Redis)"),
        ("Takes 90s (was: Takes)", "(was: Takes)"),
        ("Something else entirely (again)", "(again)"),
        ("Something else entirely ( AGAIN ).", "( AGAIN )."),
    ],
)
def test_an_ending_that_names_no_memory_is_a_part_of_the_text(observation: str, ending: str) -> None:
    """One word names no memory. The receipt says so, whether memories are known or not."""
    for known in (lessons(STARTS, SLOW, RAID), []):
        read = read_ending(observation, known)
        assert read is not None
        assert read.saying is None
        assert read.remark == (
            f"{ending} names no active lesson of its service and category, so it is a part of the text."
        )


@pytest.mark.requirement("JDG-07.1")
@pytest.mark.parametrize(
    "observation",
    [
        "Takes 90s to start",
        "Restart fails again",
        "Fails (again) after midnight",
        "(again)",
        "(was: Takes 60s to start)",
    ],
)
def test_other_texts_have_no_ending(observation: str) -> None:
    """Nor has one that says nothing before it."""
    assert read_ending(observation, lessons(STARTS, SLOW, RAID)) is None


@pytest.mark.requirement("JDG-07.1")
def test_two_memories_with_the_same_beginning_are_not_told_apart() -> None:
    """More words name one of them."""
    known = lessons("Takes 60s to start", "Takes 60s to stop")
    several = read_ending("Takes 5s (was: Takes 60s to)", known)
    assert several is not None
    assert several.saying is None
    assert several.remark == (
        "(was: Takes 60s to) names 2 active lessons of its service and category, so it is a part of the text."
    )
    one = read_ending("Takes 5s (was: Takes 60s to stop)", known)
    assert one is not None
    assert one.saying is not None
    assert one.saying.memory.id == 2
