"""Reader of the claude CLI's stream-json output, from lines to typed events.

Facts that shape the reader, each measured on the CLI:

- ``system/init`` follows hook lines if there are hooks, and comes again on each resume.
- Each content block has its own ``assistant`` line; the lines of one message share its id and do not repeat blocks.
- The ``result`` line repeats the last text. It is the session's response and is never read for markers.
- ``stream_event`` lines hold pieces of blocks that also come complete; they are skipped, like all unknown types.
- An API failure comes as an ``assistant`` line of the model ``<synthetic>``: text of the CLI, not of the agent.
- A subagent's texts come only if the host asks for them. They are assistant text blocks of the same session and may
  hold markers. Its report is a tool result and may not.
- A session that was killed has no ``result`` line.

No input raises an error: an unreadable line becomes a :class:`Damaged` event, and a field of an unexpected type counts
as missing. The standard ``json`` module accepts the lone surrogate escapes that JavaScript writes when it cuts an emoji
in two; stricter parsers would refuse such a line with its markers.
"""

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import islice
from typing import Final, cast

from commonplace.core.decoding import decode_text
from commonplace.core.secrets import masked_excerpt
from commonplace.core.text import clean_text, trim_to
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
from commonplace.operational.transcript.lines import MAX_LINE_BYTES, LineSplitter, TranscriptLine

MAX_ID_CHARS: Final = 200
"""Longer identifiers and names are ignored."""

_MAX_COUNT: Final = 2**53
_MAX_NAMES: Final = 1_000
_SUMMARY_FIELDS: Final = 8
_CLI_MODEL: Final = "<synthetic>"
_LOOK_AHEAD: Final = 4
_JSON: Final = json.JSONDecoder()
_ESCAPE: Final = re.compile(r"\\+(?:u[0-9A-Fa-f]{4}|[nrtbf\"/])")
"""Escape sequences; the letter of an escape would hide the start of the next word."""


class StreamReader:
    """Turns pieces of stream-json output into events as they come.

    The same bytes give the same events, however they are cut into pieces.

    Args:
        max_line_bytes: The longest line that is read; longer lines are reported as damaged.

    Attributes:
        skipped_lines: The number of valid lines without events: unknown types, hooks, thinking, prompts.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._lines = LineSplitter(max_line_bytes=max_line_bytes)
        self.skipped_lines = 0

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next piece and return the events of the lines that it completes, in order."""
        return self._read(self._lines.feed(chunk))

    def close(self) -> list[StreamEvent]:
        """Return the events of a last line without newline; a line that was cut off is damaged."""
        return self._read(self._lines.close())

    def _read(self, lines: list[TranscriptLine]) -> list[StreamEvent]:
        found: list[StreamEvent] = []
        for line in lines:
            events = decode_line(line)
            self.skipped_lines += not events and not line.data.isspace() and line.size > 0
            found.extend(events)
        return found


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[list[StreamEvent]]:
    """Yield the events that each piece of a stream completes, and at the end those of a last line."""
    reader = StreamReader()
    async for chunk in chunks:
        yield reader.feed(chunk)
    yield reader.close()


def decode_line(line: TranscriptLine) -> list[StreamEvent]:
    """Return the events of a line; empty lines and unknown types have no events."""
    text = decode_text(line.data).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").strip()
    if line.too_long:
        return [_damaged(line, text, f"line of {line.size} bytes is too long")]
    if not text:
        return []
    try:
        value, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError) as error:
        reason = f"not JSON: {error}" if isinstance(error, ValueError) else "nested too deeply"
        return [_damaged(line, text, reason)]
    if not isinstance(value, dict) or end < len(text):
        return [_damaged(line, text, "not one JSON object")]
    return _record_events(cast("dict[str, object]", value))


def _damaged(line: TranscriptLine, text: str, reason: str) -> Damaged:
    plain = _ESCAPE.sub(" ", text[: EXCERPT_CHARS * _LOOK_AHEAD])
    return Damaged(
        line_number=line.number,
        reason=reason,
        excerpt=masked_excerpt(clean_text(plain).strip(), EXCERPT_CHARS),
    )


def _record_events(record: dict[str, object]) -> list[StreamEvent]:
    match record.get("type"), record.get("subtype"):
        case "assistant", _:
            return _assistant_events(record)
        case "user", _:
            return _tool_results(record)
        case "result", _:
            return [_session_result(record)]
        case "system", "init":
            return [
                SessionStarted(
                    session_id=_name(record.get("session_id")),
                    model=_name(record.get("model")),
                )
            ]
        case _:
            return []


def _assistant_events(record: dict[str, object]) -> list[StreamEvent]:
    message = _object(record.get("message"))
    error = _name(record.get("error"))
    by_cli = message.get("model") == _CLI_MODEL or error is not None
    events: list[StreamEvent] = []
    for block in _blocks(message.get("content")):
        match block.get("type"):
            case "text":
                text = _text(block.get("text"))
                if text and by_cli:
                    events.append(CliNotice(text=text, error=error))
                elif text:
                    events.append(
                        AssistantText(
                            text=text,
                            session_id=_name(record.get("session_id")),
                            message_id=_name(message.get("id")),
                        )
                    )
            case "tool_use":
                summary = _summary(_object(block.get("input")))
                events.append(
                    ToolUse(id=_name(block.get("id")), name=_name(block.get("name")), summary=summary)
                )
            case _:
                pass
    return events


def _tool_results(record: dict[str, object]) -> list[StreamEvent]:
    return [
        ToolResult(
            tool_use_id=_name(block.get("tool_use_id")),
            is_error=block.get("is_error") is True,
            excerpt=_first_text(block.get("content")),
        )
        for block in _blocks(_object(record.get("message")).get("content"))
        if block.get("type") == "tool_result"
    ]


def _session_result(record: dict[str, object]) -> SessionResult:
    subtype = _name(record.get("subtype"))
    is_error = record.get("is_error")
    return SessionResult(
        subtype=subtype,
        is_error=is_error if isinstance(is_error, bool) else subtype != "success",
        response=_text(record.get("result")),
        errors=_texts(record.get("errors")),
        cost_usd=_amount(record.get("total_cost_usd")),
        turns=_count(record.get("num_turns")),
        duration_ms=_count(record.get("duration_ms")),
        session_id=_name(record.get("session_id")),
    )


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _blocks(value: object) -> list[dict[str, object]]:
    """Return content blocks; a plain string is one text block."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return clean_text(value) if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(clean_text(item) for item in islice(items, _MAX_NAMES) if isinstance(item, str))


def _name(value: object) -> str | None:
    """Return an identifier, or ``None`` if the value is not one."""
    if not isinstance(value, str) or len(value) > MAX_ID_CHARS:
        return None
    return value or None if value.isprintable() else clean_text(value)


def _count(value: object) -> int | None:
    number = _amount(value)
    return int(number) if number is not None and number <= _MAX_COUNT else None


def _amount(value: object) -> float | None:
    """Return a finite number that is not negative, or ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return float(value) if 0 <= value <= _MAX_COUNT else None
    return value if math.isfinite(value) and value >= 0 else None


def _excerpt(text: str) -> str:
    return trim_to(clean_text(text[: EXCERPT_CHARS + 1]).strip(), EXCERPT_CHARS)


def _summary(fields: dict[str, object]) -> str:
    plain = ((key, value) for key, value in fields.items() if isinstance(value, str | int | float))
    parts = (
        f"{key[:EXCERPT_CHARS]}: {str(value)[:EXCERPT_CHARS]}"
        for key, value in islice(plain, _SUMMARY_FIELDS)
    )
    return _excerpt(", ".join(parts))


def _first_text(content: object) -> str:
    return _excerpt(
        next((text for block in _blocks(content) if isinstance(text := block.get("text"), str)), "")
    )
