"""A run of a CLI to its end, with files instead of pipes.

With files, a descendant that keeps a pipe open cannot delay the end, a prompt can have any length, and process lists
do not show the prompt.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.text import clean_text
from commonplace.llm.process_tree import kill_tree

_OF_A_SESSION: Final = re.compile(
    r"CLAUDECODE|CLAUDE_PROJECT_DIR|CLAUDE_ENV_FILE|CLAUDE_CODE_(SESSION_ID|CHILD_SESSION|ENTRYPOINT)|GEMINI_CLI"
)
"""Variables that tell a CLI that it runs inside a session; the CLIs that we start do not."""

_BUSY_STATUSES: Final = frozenset({408, 409, 429})
_FIRST_SERVER_FAULT: Final = 500
_OUT_OF_REACH: Final = (
    *("Unable to connect", "Connection error", "Connection to the API was lost", "Connection dropped"),
    "timed out",
    *("stream disconnected", "error sending request", "high demand", "usage limit"),
    *("fetch failed", "terminated", "ECONNRESET"),
)
"""Messages of claude, Codex and Gemini CLI about a busy or unreachable API, or an account over its limit."""

_NO_ACCESS_STATUSES: Final = frozenset({401, 402, 404})
_NO_ACCESS: Final = (
    "Not logged in",
    *("Missing environment variable", "codex login", "model is not supported"),
    *("GEMINI_API_KEY", "Auth method", "authenticat", "ModelNotFound"),
)
"""Messages of claude, Codex and Gemini CLI about a missing login or an unknown model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The exit status of the CLI, and its standard output and standard error."""

    status: int
    out: str
    err: str


def outside_a_session(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables of a session."""
    return {name: value for name, value in environ.items() if not _OF_A_SESSION.fullmatch(name)}


def is_unavailable(status: int | None, text: str) -> bool:
    """Return whether an error result says that the API is busy, failing or unreachable.

    Args:
        status: The HTTP status of the API; ``None`` if the API did not answer.
        text: The text of the result, used if there is no status. Source: measured with Claude Code 2.1.197
            and 2.1.330, Codex 0.169 and Gemini CLI 0.61.
    """
    if status is None:
        return any(sign in text for sign in _OUT_OF_REACH)
    return status in _BUSY_STATUSES or status >= _FIRST_SERVER_FAULT


def is_without_access(status: int | None, text: str) -> bool:
    """Return whether an error result says that the key, the account or the model's name is refused.

    The arguments are those of :func:`is_unavailable`.
    """
    if status is None:
        return any(sign in text for sign in _NO_ACCESS)
    return status in _NO_ACCESS_STATUSES


async def run_cli(
    command: Sequence[str], *, prompt: str, scratch: Path, directory: Path, environ: Mapping[str, str]
) -> Printed:
    """Run a CLI once; cancelling kills it and its descendants.

    ``scratch`` is an empty directory for its input and output, which the caller removes. ``environ`` is complete.

    Raises:
        OSError: The CLI cannot be started.
    """
    (scratch / "prompt").write_text(clean_text(prompt), encoding="utf-8")
    with (
        (scratch / "prompt").open("rb") as stdin,
        (scratch / "out").open("wb") as stdout,
        (scratch / "err").open("wb") as stderr,
    ):
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=directory,
            env=dict(environ),
            start_new_session=True,
        )
        try:
            status = await process.wait()
        finally:
            if process.returncode is None:
                kill_tree(process.pid)
                await process.wait()
    return Printed(
        status=status,
        out=(scratch / "out").read_text(encoding="utf-8", errors="replace"),
        err=(scratch / "err").read_text(encoding="utf-8", errors="replace"),
    )
