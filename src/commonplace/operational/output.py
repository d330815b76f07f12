"""Output of a session, for people who watch it: texts, tool calls and the result.

Lines are stored as they come and read by number, so that another process can follow. Long lines are cut, secrets are
masked, and only the newest lines of each session are kept.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, assert_never

from commonplace.core.clock import format_timestamp
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, plural, trim_to
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.stream import (
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
from commonplace.storage.rows import Noun

MAX_OUTPUT_CHARS: Final = 8_000
"""Longer texts are cut."""

KEPT_LINES: Final = 2_000
"""Number of newest lines kept of a session, because its end matters more than its beginning."""

KEPT_SESSIONS: Final = 500
"""Sessions whose lines are kept. Older ones keep their result and their memories."""

_CUT_WORD: Final = re.compile(r"\S+…\Z")
_CUT_BEFORE: Final = frozenset({"tool", "tool_result", "tool_error"})
"""Kinds whose text the stream reader has already cut."""


class OutputKind(StrEnum):
    """The kind of a line."""

    TEXT = "text"
    """Text that the agent wrote."""
    TOOL = "tool"
    """A tool call: its name and the start of its input."""
    TOOL_RESULT = "tool_result"
    TOOL_ERROR = "tool_error"
    NOTICE = "notice"
    """A message of the CLI or of commonplace: failures, time-outs, damaged lines, standard error."""
    RESULT = "result"
    """The result of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLine(Noun):
    """A stored line; ``seq`` counts from 1 in its session, ``text`` may hold line breaks."""

    seq: int
    kind: OutputKind
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A line to show; ``key`` is the id of its event in the stream, if it has one."""

    kind: OutputKind
    text: str
    key: str | None = None


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


class Fingerprints:
    """Names for the markers and lines of one session, so that reading its transcript again stores nothing twice."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str | None, ...]] = Counter()

    def of(self, *parts: str | None) -> str:
        """Return a name made of some parts and the number of earlier occurrences of the same parts."""
        self._seen[parts] += 1
        return hashlib.sha256(repr((*parts, self._seen[parts])).encode()).hexdigest()[:32]


async def store(
    sql: OperationalStatements, session_id: int, lines: Sequence[tuple[Shown, str]], now: datetime
) -> None:
    """Store lines, each with its fingerprint, and delete the oldest ones beyond the limit."""
    last = 0
    for shown, fingerprint in lines:
        seq = await sql.insert_output(
            session_id=session_id,
            kind=shown.kind.value,
            text=shown.text,
            fingerprint=fingerprint,
            moment=format_timestamp(now),
        )
        last = seq or last
    if last > KEPT_LINES:
        await sql.trim_output(session_id=session_id, up_to=last - KEPT_LINES)


def _shown(kind: OutputKind, text: str, key: str | None = None) -> Shown:
    limit = EXCERPT_CHARS if kind in _CUT_BEFORE else MAX_OUTPUT_CHARS
    cut = trim_to(clean_text(text).strip(), MAX_OUTPUT_CHARS)
    safe = mask_secrets(cut)
    if len(cut) >= limit // 2:
        # The last word of a cut text may be half of a secret, which the gate does not recognise.
        safe = _CUT_WORD.sub("…", safe)
    return Shown(kind=kind, text=safe, key=key)
