"""What a session of the agent is started with: command line, environment, and what it is told.

The tier prompt, the environment block and the block of memories go into ``--append-system-prompt``; the prompt
itself only says to begin. It holds nothing that others wrote, because the CLI opens ``@/path`` in a prompt. In
the system prompt it does not (measured on Claude Code 2.1.197).
"""

import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to, visible
from commonplace.operational.cooldowns import Cooldown
from commonplace.operational.run.tier_prompts import MEMORY_HEADING, load_tier_prompt

MAX_ARGUMENT_BYTES: Final = 128 * 1024 - 1
"""What Linux lets one argument of a program be."""

COOLDOWN_WINDOW: Final = timedelta(hours=24)
"""Actions that are older are not told: nothing cools down for longer than a day."""

COOLDOWNS_SHOWN: Final = 20
_REASON_CHARS: Final = 200
_OURS: Final = frozenset(
    {
        "--output-format",
        "--input-format",
        "--append-system-prompt",
        "--append-system-prompt-file",
    }
)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A session that is to run.

    Attributes:
        executable: The ``claude`` program.
        tier: 1, 2 or 3.
        prompt: The tier prompt.
        services: What it will check; their memories are chosen first.
        arguments: Further arguments of the CLI.
        trigger: Why it runs.
        timeout_s: How long it may take; ``None`` for as long as it likes.
        grace_s: How long it has to end after SIGINT, and again after SIGTERM, before it is killed.
        environ: The environment that it starts from.
        directory: Where it runs; ``None`` for the current directory.
    """

    executable: Path
    tier: int
    prompt: str
    services: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    trigger: str = "manual"
    timeout_s: float | None = None
    grace_s: float = 10.0
    environ: Mapping[str, str]
    directory: Path | None = None

    @property
    def task(self) -> str:
        """The prompt of the session, as opposed to its system prompt."""
        asked = f" Check these services: {', '.join(self.services)}." if self.services else ""
        return f"Begin your tier {self.tier} session now.{asked}"


def find_claude(named: str | None, environ: Mapping[str, str]) -> Path:
    """Return the claude CLI: a path or the name of a program, else ``claude``, on the path of the environment.

    Raises:
        InvalidInputError: It is not there, or cannot be executed.
    """
    found = shutil.which(named or "claude", path=environ.get("PATH"))
    if found is None:
        expected = "the claude CLI (npm install -g @anthropic-ai/claude-code), or its path with --claude"
        raise InvalidInputError("claude", expected, named or "no claude on the PATH")
    return Path(found).absolute()


def load_prompt(tier: int, file: Path | None = None, *, directory: Path | None = None) -> str:
    """Return the prompt of a tier, or what a file says in its place.

    A file without a section on memory recording gets the one that is shipped: without it, nothing is learned.

    Args:
        tier: 1, 2 or 3.
        file: In place of the tier's prompt.
        directory: Where an operator keeps prompts for the tiers; those that are shipped by default.

    Raises:
        InvalidInputError: The file is not readable UTF-8 text, or empty; the directory has no such prompt for the
            tier; or there is no such tier.
    """
    if file is None:
        return load_tier_prompt(tier, directory)
    shipped = load_tier_prompt(tier)
    try:
        text = file.read_bytes().decode().removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError("prompt", "a readable file in UTF-8", f"{file}: {error}") from None
    if not text:
        raise InvalidInputError("prompt", "a file with text", str(file))
    if MEMORY_HEADING in text.splitlines():
        return text
    return f"{text}\n\n{shipped[shipped.index(MEMORY_HEADING) :]}"


def require_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return further arguments of the CLI, or refuse those that would undo ours.

    Raises:
        InvalidInputError: One of them is set by commonplace, or the first is no option: a prompt beside ours.
    """
    if arguments and not arguments[0].startswith("-"):
        raise InvalidInputError(
            "arguments", "options of the claude CLI, such as -- --model haiku", arguments[0]
        )
    for argument in arguments:
        if argument.partition("=")[0] in _OURS:
            raise InvalidInputError("arguments", "none of those that commonplace sets itself", argument)
    return tuple(arguments)


def render_environment(now: datetime, services: Sequence[str], cooldowns: Sequence[Cooldown]) -> str:
    """Return what a session is told about its surroundings: time, services, and actions that may cool down.

    Args:
        now: The present.
        services: What it will check.
        cooldowns: Actions, newest first; those of the last day are told, 20 at most.
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
    """Join what goes into ``--append-system-prompt``; memories that no argument could hold are left out.

    Raises:
        InvalidInputError: The prompt alone is too long.
    """
    bare = clean_text(f"{prompt.strip()}\n\n{environment}")
    size = len(bare.encode())
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidInputError("prompt", f"at most {MAX_ARGUMENT_BYTES} bytes", f"{size} bytes")
    whole = f"{bare}\n\n{clean_text(memories)}" if memories else bare
    if len(whole.encode()) > MAX_ARGUMENT_BYTES:
        log.warning(
            "the session runs without its memories: they are too long for an argument; lower the budget"
        )
        return bare
    return whole


def build_command(request: RunRequest, system_prompt: str) -> list[str]:
    """Return the command line; the operator's own arguments come last, some of them take all that follows."""
    return [
        str(request.executable),
        "-p",
        request.task,
        *("--output-format", "stream-json"),
        "--verbose",
        *("--append-system-prompt", system_prompt),
        *request.arguments,
    ]


def _action(action: Cooldown) -> str:
    reason = visible(trim_to(collapse_whitespace(action.reason), _REASON_CHARS))
    said = f": {reason}" if reason else ""
    return f"- {action.created_at:%Y-%m-%d %H:%M} UTC {action.action} of {action.service} (tier {action.tier}){said}"
