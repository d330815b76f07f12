"""System prompt of a session: the tier prompt, the environment and the block of memories.

Tier 1 observes, tier 2 investigates, and neither changes anything; tier 3 remediates under cooldowns. Each tier prompt
is one self-contained Markdown file. Operators can copy the files, change them, and set ``prompts_directory`` to the
directory of the copies. The whole text goes into ``--append-system-prompt``, or into a file with the setting
``prompt_by_file``.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, trim_to
from commonplace.operational.model.cooldowns import Cooldown
from commonplace.prompts.data_lines import data_line

TIER_PROMPTS: Final = MappingProxyType(
    {1: "tier1-observe.md", 2: "tier2-investigate.md", 3: "tier3-remediate.md"},
)
"""The file name of each tier's prompt."""

MEMORY_HEADING: Final = "## Memory Recording"
"""The section that every tier prompt needs; without it the agent prints no markers. Source: OPS-14."""

MAX_ARGUMENT_BYTES: Final = 128 * 1024 - 1
"""The maximum length of a program argument on Linux."""

COOLDOWN_WINDOW: Final = timedelta(hours=24)
"""Older actions are left out, because no cooldown is longer than a day."""

COOLDOWNS_SHOWN: Final = 20
_REASON_CHARS: Final = 200

log = logging.getLogger(__name__)


def load_tier_prompt(tier: int, directory: Path | None = None) -> str:
    """Return the prompt of a tier.

    ``directory`` has an operator's prompts under the same file names; ``None`` uses the built-in prompts.

    Raises:
        InvalidInputError: There is no such tier, or the directory has no readable UTF-8 file for it with a section on
            memory recording.

    Source: OPS-14.
    """
    name = TIER_PROMPTS.get(tier)
    if name is None:
        raise InvalidInputError("tier", "1, 2 or 3", tier)
    source = directory or files("commonplace.operational.run.prompts")
    try:
        prompt = _decoded((source / name).read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        expected = f"a directory with a readable {name} ({reason})"
        raise InvalidInputError("prompts_directory", expected, str(source)) from error
    except UnicodeDecodeError as error:
        expected = f"a directory whose {name} is UTF-8 text"
        raise InvalidInputError("prompts_directory", expected, str(source)) from error
    if MEMORY_HEADING not in prompt.splitlines():
        expected = f"a directory whose {name} has a section {MEMORY_HEADING!r}"
        raise InvalidInputError("prompts_directory", expected, str(source))
    return prompt


def load_prompt(tier: int, file: Path | None = None, *, directory: Path | None = None) -> str:
    """Return the prompt of a tier, or the text of a file in its place.

    A file without a section on memory recording gets the built-in section; otherwise the agent would print no markers.

    Raises:
        InvalidInputError: The file is empty or not readable UTF-8 text, or see :func:`load_tier_prompt`.
    """
    if file is None:
        return load_tier_prompt(tier, directory)
    shipped = load_tier_prompt(tier)
    try:
        text = _decoded(file.read_bytes()).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "another encoding"
        raise InvalidInputError("prompt", f"a readable file in UTF-8 ({reason})", str(file)) from None
    if not text:
        raise InvalidInputError("prompt", "a file with text", str(file))
    if MEMORY_HEADING in text.splitlines():
        return text
    return f"{text}\n\n{shipped[shipped.index(MEMORY_HEADING) :]}"


def render_environment(now: datetime, services: Sequence[str], cooldowns: Sequence[Cooldown]) -> str:
    """Return the section about the time, the services, and the actions of the last day.

    ``cooldowns`` are newest first; at most 20 are shown.
    """
    lines = ["## Environment", "", f"- Time: {now:%Y-%m-%d %H:%M} UTC"]
    if services:
        lines.append(f"- Services to check: {', '.join(services)}")
    recent = [action for action in cooldowns if now - action.created_at <= COOLDOWN_WINDOW]
    if recent:
        lines += ["", "## Recent actions (last 24 hours, newest first)", ""]
        lines += [_action(action) for action in recent[:COOLDOWNS_SHOWN]]
    return "\n".join(lines)


def build_system_prompt(prompt: str, environment: str, memories: str) -> str:
    """Join the parts of the system prompt; leave out the memories if they make it too long for an argument.

    Raises:
        InvalidInputError: The prompt is too long without memories.
    """
    bare = clean_text(f"{prompt.strip()}\n\n{environment}")
    size = len(bare.encode())
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidInputError("prompt", f"at most {MAX_ARGUMENT_BYTES} bytes", f"{size} bytes")
    whole = f"{bare}\n\n{clean_text(memories)}" if memories else bare
    if len(whole.encode()) > MAX_ARGUMENT_BYTES:
        log.warning("the session runs without its memories: their block is too long; lower the memory budget")
        return bare
    return whole


def _decoded(data: bytes) -> str:
    return data.decode().removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


def _action(action: Cooldown) -> str:
    reason = trim_to(data_line(action.reason), _REASON_CHARS)
    said = f": {reason}" if reason else ""
    return f"- {action.created_at:%Y-%m-%d %H:%M} UTC {action.action} of {action.service} (tier {action.tier}){said}"
