"""Events of the claude CLI's stream-json output."""

from dataclasses import dataclass
from typing import Final

EXCERPT_CHARS: Final = 500
"""The characters kept of a tool's input, of its output, and of a damaged line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """The ``init`` line of a session; a resume repeats it with the same id."""

    session_id: str | None
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantText:
    """A complete text block of the agent, the only event that may hold markers (OPS-03).

    Attributes:
        text: The text without NUL and lone surrogates; may hold many lines.
        session_id: The session that the line names.
        message_id: The id that the blocks of one message share.
    """

    text: str
    session_id: str | None
    message_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call; ``summary`` holds the first plain fields of its input, up to 500 characters."""

    id: str | None
    name: str | None
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call; ``excerpt`` is the start of its text, up to 500 characters."""

    tool_use_id: str | None
    is_error: bool
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CliNotice:
    """A message of the CLI, such as an API failure; ``error`` is the kind of failure, if named."""

    text: str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """The ``result`` line at the end of a run.

    Attributes:
        subtype: ``success``, ``error_max_turns``, ``error_during_execution``, …
        is_error: Whether the run failed; also true with ``success`` if the API failed.
        errors: Reasons for a failure, if the CLI names them.
        duration_ms: Wall-clock time.
    """

    subtype: str | None
    is_error: bool
    response: str | None
    errors: tuple[str, ...]
    cost_usd: float | None
    turns: int | None
    duration_ms: int | None
    session_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A line that cannot be read; ``excerpt`` is its start, up to 500 characters, with secrets masked."""

    line_number: int
    reason: str
    excerpt: str


StreamEvent = SessionStarted | AssistantText | ToolUse | ToolResult | CliNotice | SessionResult | Damaged
