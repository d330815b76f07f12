"""The prompts of the three tiers."""

from pathlib import Path

import pytest

from commonplace.core.errors import InvalidInputError
from commonplace.operational.model.markers import CooldownMarker, MemoryCategory, MemoryMarker
from commonplace.operational.rules.markers import parse_markers
from commonplace.operational.run.prompt import MEMORY_HEADING, TIER_PROMPTS, load_tier_prompt


def section(prompt: str) -> str:
    """Return the section on memory recording."""
    _, heading, rest = prompt.partition(f"\n{MEMORY_HEADING}\n")
    return heading + rest.split("\n## ")[0]


@pytest.mark.requirement("OPS-14.1")
def test_tier_1_explains_form_categories_and_examples() -> None:
    """Both forms, all five categories, and at least three examples that our own parser accepts."""
    text = section(load_tier_prompt(1))
    assert "[MEMORY:category] observation" in text
    assert "[MEMORY:category:service] observation" in text
    assert all(f"`{category}`" in text for category in MemoryCategory)
    examples = [marker for marker in parse_markers(text) if isinstance(marker, MemoryMarker)]
    assert len(examples) >= 3
    assert {example.service is None for example in examples} == {True, False}


@pytest.mark.requirement("OPS-14.2", "OPS-14.3", "OPS-04")
@pytest.mark.parametrize("tier", [2, 3])
def test_higher_tiers_have_the_same_instructions(tier: int) -> None:
    """Not a character differs from tier 1."""
    assert section(load_tier_prompt(tier)) == section(load_tier_prompt(1))
    assert section(load_tier_prompt(tier))


@pytest.mark.requirement("OPS-20.2")
@pytest.mark.parametrize("tier", [1, 2, 3])
def test_every_tier_explains_events(tier: int) -> None:
    """Both forms and the three levels."""
    prompt = load_tier_prompt(tier)
    assert "[EVENT:level:service] message" in prompt
    assert all(f"| `{level}` |" in prompt for level in ("info", "warning", "critical"))


@pytest.mark.requirement("OPS-20.3")
def test_only_tier_3_may_act_and_explains_cooldowns() -> None:
    """The form that the parser accepts stands where actions are allowed."""
    shown = [m for m in parse_markers(load_tier_prompt(3)) if isinstance(m, CooldownMarker)]
    assert [marker.action for marker in shown] == ["restart", "redeployment"]
    assert "COOLDOWN" not in load_tier_prompt(1) + load_tier_prompt(2)


def test_an_operators_own_prompt_is_used(tmp_path: Path) -> None:
    """A directory replaces the packaged prompts; a byte order mark does no harm."""
    (tmp_path / TIER_PROMPTS[2]).write_text(f"# Ours\n\n{MEMORY_HEADING}\n\nWrite.\n", encoding="utf-8-sig")
    assert load_tier_prompt(2, tmp_path) == f"# Ours\n\n{MEMORY_HEADING}\n\nWrite.\n"


@pytest.mark.parametrize("tier", [0, 4, -1])
def test_there_are_three_tiers(tier: int) -> None:
    """Another tier is refused by name."""
    with pytest.raises(InvalidInputError, match="tier: expected 1, 2 or 3"):
        load_tier_prompt(tier)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "readable tier1-observe.md"),
        (b"\xff\xfe", "tier1-observe.md is UTF-8 text"),
        (b"# Ours\n\nNo word on recording.\n", "has a section '## Memory Recording'"),
        (b"", "has a section '## Memory Recording'"),
    ],
)
def test_a_prompt_that_cannot_serve_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    """Missing, not text, or without the section that every tier must have (OPS-14)."""
    if content is not None:
        (tmp_path / TIER_PROMPTS[1]).write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        load_tier_prompt(1, tmp_path)
