"""The lines that show the events of a session: texts, tool calls and the result.

Long lines are cut, and secrets are masked.
"""

import re
from typing import Final, assert_never

from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, plural, trim_to
from commonplace.operational.model.output import MAX_OUTPUT_CHARS, OutputKind, Shown
from commonplace.operational.model.stream import (
    EXCERPT_CHARS,
    AssistantText,
    CliNotice,
    Damaged,
    SessionResult,
    SessionStarted,
    StreamEvent,
    ToolResult,
    ToolUse,
)

_CUT_WORD: Final = re.compile(r"\S+…\Z")
_CUT_BEFORE: Final = frozenset({"tool", "tool_result", "tool_error"})
"""Kinds whose text the stream reader has already cut."""


def shown_of(event: StreamEvent) -> Shown | None:
    """Return the line that shows an event, cut and without secrets; ``None`` if the event has none."""
    match event:
        case SessionStarted():
            return None
        case AssistantText():
            kind, text, key = OutputKind.TEXT, event.text, event.message_id
        case ToolUse():
            kind, text, key = OutputKind.TOOL, f"{event.name or 'tool'}: {event.summary}", event.id
        case ToolResult():
            kind = OutputKind.TOOL_ERROR if event.is_error else OutputKind.TOOL_RESULT
            text, key = event.excerpt, event.tool_use_id
        case CliNotice():
            kind, text, key = OutputKind.NOTICE, event.text, None
        case Damaged():
            text = f"line {event.line_number} cannot be read: {event.reason}"
            kind, key = OutputKind.NOTICE, None
        case SessionResult():
            kind, text, key = OutputKind.RESULT, describe_result(event), None
        case _:
            assert_never(event)
    return _shown(kind, text, key)


def notice(text: str) -> Shown:
    """Return a message of commonplace about a session."""
    return _shown(OutputKind.NOTICE, text)


def describe_result(result: SessionResult) -> str:
    """Return the result of a session in one line: outcome, failure, turns, duration and cost."""
    outcome = f"failed: {describe_failure(result)}" if result.is_error else result.subtype or "unknown"
    figures = [
        plural(result.turns, "turn") if result.turns is not None else "",
        f"{result.duration_ms / 1000:.1f} s" if result.duration_ms is not None else "",
        f"${result.cost_usd:.4f}" if result.cost_usd is not None else "",
    ]
    known = ", ".join(figure for figure in figures if figure)
    return f"{outcome} ({known})" if known else outcome


def describe_failure(result: SessionResult) -> str:
    """Return the kind of a failure and its reasons; the kind ``success`` of an API failure is left out."""
    kind = "" if result.subtype in {None, "success"} else f"{result.subtype}: "
    reasons = "; ".join(result.errors) or result.response or "no reason given"
    return f"{kind}{trim_to(reasons, MAX_OUTPUT_CHARS // 2)}"


def _shown(kind: OutputKind, text: str, key: str | None = None) -> Shown:
    limit = EXCERPT_CHARS if kind in _CUT_BEFORE else MAX_OUTPUT_CHARS
    cut = trim_to(clean_text(text).strip(), MAX_OUTPUT_CHARS)
    safe = mask_secrets(cut)
    if len(cut) >= limit // 2:
        # The last word of a cut text may be half of a secret, which the gate does not recognise.
        safe = _CUT_WORD.sub("…", safe)
    return Shown(kind=kind, text=safe, key=key)
