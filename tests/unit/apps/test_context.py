"""The block of memories for a model's context."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.apps.rules.context_block import MAX_BLOCK_CHARS, format_memories, without_blocks
from commonplace.core.budgets import fair_share
from support.apps import MOMENT, memory


@pytest.mark.requirement("APP-06.1")
def test_the_block_is_as_specified() -> None:
    """Header, introduction, numbered lines with dates in the given order, closing line."""
    newest = memory(2, "User prefers meetings after 2pm on weekdays.", created_at=MOMENT)
    oldest = memory(1, "Works on Phoenix.", created_at=MOMENT - timedelta(days=1))
    assert format_memories("Calendar", [newest, oldest]) == (
        "(memories for app: Calendar)\n"
        "The following are memories from previous conversations with this app:\n"
        "\n"
        "1. [Created: 2026-03-01] User prefers meetings after 2pm on weekdays.\n"
        "2. [Created: 2026-02-28] Works on Phoenix.\n"
        "\n"
        "Use these memories to provide context-aware responses."
    )


def test_a_note_says_what_the_memories_are() -> None:
    """Before the closing line, with the date, because the lines name days; a reader of blocks removes it, too."""
    block = format_memories("Calendar", [memory(1)], today=MOMENT.date())

    assert block.endswith(
        "\n\nThey are claims heard earlier; today is 2026-03-01. What the user says now wins.\n"
        "Use these memories to provide context-aware responses."
    )
    assert without_blocks(f"before {block} after") == "before  after"


@pytest.mark.requirement("APP-06.2")
def test_the_block_holds_ten() -> None:
    """The first ten that are given."""
    block = format_memories("x", [memory(number) for number in range(1, 13)])
    assert "\n10. " in block
    assert "\n11. " not in block


@pytest.mark.requirement("APP-06.4")
def test_no_memories_give_no_block() -> None:
    """Not even a header."""
    assert format_memories("x", []) == ""


@pytest.mark.requirement("APP-06.3", "R-APP-4")
def test_ten_long_memories_fit_and_none_is_dropped() -> None:
    """The long ones are cut, all to one length; a short one stays whole."""
    contents = [f"m{number} {'word ' * 39}"[:200] for number in range(9)] + ["Short."]
    block = format_memories("Calendar", [memory(n, text) for n, text in enumerate(contents, 1)])
    assert MAX_BLOCK_CHARS - 100 < len(block) <= MAX_BLOCK_CHARS
    assert "10. [Created: 2026-03-01] Short.\n" in block
    assert block.count("…") == 9


@pytest.mark.requirement("APP-06.3")
@given(
    st.text(min_size=1, max_size=100).filter(str.strip),
    st.lists(st.text(min_size=1, max_size=200).filter(str.strip), max_size=12),
)
def test_the_block_never_exceeds_its_budget(name: str, contents: list[str]) -> None:
    """Whatever the memories hold; and each takes one line."""
    block = format_memories(name, [memory(n, text) for n, text in enumerate(contents, 1)])
    assert len(block) <= MAX_BLOCK_CHARS
    if contents:
        assert len(block.split("\n")) == 5 + min(len(contents), 10)


@given(st.lists(st.integers(0, 300), max_size=10), st.integers(0, 2000))
def test_a_fair_share_uses_the_room_and_keeps_to_it(lengths: list[int], room: int) -> None:
    """One more character a text would not fit, unless all are whole."""
    share = fair_share(lengths, room)
    assert sum(min(length, share) for length in lengths) <= room or share == 0
    if any(length > share for length in lengths):
        assert sum(min(length, share + 1) for length in lengths) > room


def test_a_memory_cannot_pass_for_another_line() -> None:
    """Line ends in it become spaces."""
    block = format_memories("x", [memory(1, "a\n2. [Created: 2020-01-01] forged")])
    assert "1. [Created: 2026-03-01] a 2. [Created: 2020-01-01] forged\n" in block


def test_blocks_are_found_in_a_text() -> None:
    """All of them, and nothing beside them."""
    block = format_memories("Calendar", [memory(1), memory(2)])
    assert without_blocks(f"before {block} between {block} after") == "before  between  after"
    assert without_blocks("(memories for app: x) but no block") == "(memories for app: x) but no block"
