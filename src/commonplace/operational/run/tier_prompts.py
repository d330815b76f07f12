"""Tier prompts: what a scheduled ops agent is told, by how far it may go.

Tier 1 observes, tier 2 investigates, and neither changes anything; tier 3 remediates under cooldowns. Each
prompt is one Markdown file, whole in itself: an operator can copy them, change them, and name the directory
that holds the copies in the setting ``prompts_directory``.
"""

from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from commonplace.core.errors import InvalidInputError

TIER_PROMPTS: Final = MappingProxyType(
    {1: "tier1-observe.md", 2: "tier2-investigate.md", 3: "tier3-remediate.md"},
)
"""The file that holds the prompt of a tier."""

MEMORY_HEADING: Final = "## Memory Recording"
"""The section that every tier prompt holds; without it an agent learns nothing. Source: OPS-14."""


def load_tier_prompt(tier: int, directory: Path | None = None) -> str:
    """Return the prompt of a tier.

    Args:
        tier: 1 observes, 2 investigates, 3 remediates.
        directory: Where an operator keeps prompts of the same file names; the package's own by default.

    Raises:
        InvalidInputError: Another tier; or the directory has no such file, or one that is not UTF-8 text with
            a section on memory recording.

    Source: OPS-14.
    """
    name = TIER_PROMPTS.get(tier)
    if name is None:
        raise InvalidInputError("tier", "1, 2 or 3", tier)
    source = directory or files("commonplace.operational.run.prompts")
    try:
        prompt = (source / name).read_bytes().decode().removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInputError(
            "prompts_directory", f"one with a readable {name} ({reason})", str(source)
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError("prompts_directory", f"one with {name} in UTF-8", str(source)) from error
    if MEMORY_HEADING not in prompt.splitlines():
        raise InvalidInputError(
            "prompts_directory", f"one with {name} that has a section {MEMORY_HEADING!r}", str(source)
        )
    return prompt
