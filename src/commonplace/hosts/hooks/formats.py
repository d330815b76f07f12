"""Formats of transcripts: one parser for each host. Pure.

A transcript is a file of JSON lines; the keys of a line show which host wrote it. A parser returns the message of a
line, or ``None`` for a line of another kind: a tool result, a setting, text inserted by the host or a hook.
Source: measured on Claude Code 2.1.197, Codex 0.169, Gemini CLI 0.61 and opencode 1.18; Cursor's format is taken from
published transcripts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text
from commonplace.prompts.injected import without_injected

Role = Literal["user", "assistant"]
Record = Mapping[str, Any]

_SYNTHETIC: Final = "<synthetic>"
"""The model name of messages by Claude Code itself, such as API errors."""

_INSERTED: Final = re.compile(
    r"<(system-reminder|hook_context|session_context)>.*?(?:</\1>|\Z)|</?user_query>", re.DOTALL
)
"""Text that a host adds to a message: reminders, the output of hooks, the state of the workspace, marks of a prompt."""

_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)

_COMMAND: Final = re.compile(r"\s*<(?:command-|local-command-|bash-)")
_INTERRUPTED: Final = re.compile(r"\s*\[Request interrupted by user[^\]]*\]\s*")
"""A line that Claude Code writes in the name of the user who interrupted it."""
_CODEX_CONTEXT: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command)\b|# AGENTS\.md )"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMessage:
    """A message of a session.

    Attributes:
        id: The id of the line; a copied session has the same ids.
        text: The text, without blocks that commonplace injected.
        said_at: The time; ``None`` if the line has none.
    """

    id: str
    role: Role
    text: str
    said_at: datetime | None


def parse(record: Record, place: int) -> TranscriptMessage | None:
    """Return the message of a line; a message without an id gets the number of the line as its id."""
    parser = next((parser for fits, parser in _FORMATS if fits(record)), None)
    message = parser(record, place) if parser else None
    if message is None:
        return None
    text = clean_text(_INSERTED.sub("", without_injected(message.text))).strip()
    return (
        TranscriptMessage(id=message.id, role=message.role, text=text, said_at=message.said_at)
        if text
        else None
    )


def _claude(record: Record, place: int) -> TranscriptMessage | None:
    """Prompts are ``user`` lines, answers ``assistant`` lines, one for each block; tool results are ``user`` too."""
    del place
    if any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary", "toolUseResult")):
        return None
    inner = cast("Record", record["message"])
    text = _text(inner.get("content"), ("text",))
    if inner.get("model") == _SYNTHETIC:
        return None
    if record["type"] == "user" and (_COMMAND.match(text) or _INTERRUPTED.fullmatch(text)):
        return None
    return _message(record.get("type"), text, record.get("uuid"), _moment(record.get("timestamp")))


def _codex(record: Record, place: int) -> TranscriptMessage | None:
    """Messages are ``response_item`` lines; the context that Codex adds has the role of the user as well."""
    payload = cast("Record", record["payload"])
    if record.get("type") != "response_item" or payload.get("type") != "message":
        return None
    text = _text(payload.get("content"), ("input_text", "output_text"))
    if payload.get("role") == "user" and _CODEX_CONTEXT.match(text):
        return None
    name = payload.get("id") or f"{record.get('timestamp')}:{place}"
    return _message(payload.get("role"), text, name, _moment(record.get("timestamp")))


def _gemini(record: Record, place: int) -> TranscriptMessage | None:
    """Messages stand in lines of their own; a first line with the context of the session is a change (``$set``)."""
    del place
    role = {"user": "user", "gemini": "assistant"}.get(str(record.get("type")))
    text = _text(record.get("content"), (None, "text"))
    return _message(role, text, record.get("id"), _moment(record.get("timestamp")))


def _opencode(record: Record, place: int) -> TranscriptMessage | None:
    """Messages as opencode's API gives them, and our plugin writes them; synthetic parts come from plugins."""
    del place
    info = cast("Record", record["info"])
    parts = [
        cast("Record", part)
        for part in cast("Sequence[object]", record["parts"])
        if isinstance(part, dict) and not cast("Record", part).get("synthetic")
    ]
    time = info.get("time")
    created = cast("Record", time).get("created") if isinstance(time, dict) else None
    said_at = datetime.fromtimestamp(created / 1000, UTC) if isinstance(created, (int, float)) else None
    text = _text(parts, ("text",))
    is_prompt = info.get("role") == "user"
    return _message(
        info.get("role"), without_shell_quotes(text) if is_prompt else text, info.get("id"), said_at
    )


def without_shell_quotes(prompt: str) -> str:
    """Return a prompt without the quotes around it: ``opencode run`` puts a word of the command line in them.

    It does so with each word that has a space, so a prompt of several such words stays as it is.
    """
    quoted = _QUOTED.fullmatch(prompt)
    return quoted[1].replace('\\"', '"') if quoted else prompt


def _cursor(record: Record, place: int) -> TranscriptMessage | None:
    """Messages have neither id nor time."""
    inner = cast("Record", record["message"])
    text = _text(inner.get("content"), ("text",))
    return _message(record.get("role"), text, f"line {place}", None)


def _message(role: object, text: str, name: object, said_at: datetime | None) -> TranscriptMessage | None:
    if role not in ("user", "assistant"):
        return None
    return TranscriptMessage(id=str(name), role=role, text=text, said_at=said_at)


_FORMATS: Final[
    Sequence[tuple[Callable[[Record], bool], Callable[[Record, int], TranscriptMessage | None]]]
] = (
    (lambda record: "payload" in record and isinstance(record["payload"], dict), _codex),
    (
        lambda record: isinstance(record.get("info"), dict) and isinstance(record.get("parts"), list),
        _opencode,
    ),
    (lambda record: "role" in record and isinstance(record.get("message"), dict), _cursor),
    (lambda record: "type" in record and isinstance(record.get("message"), dict), _claude),
    (lambda record: "type" in record and "content" in record, _gemini),
)
"""A test for the lines of each format, with the parser."""


def _text(content: object, types: Sequence[str | None]) -> str:
    """Return the text of a message, or of its blocks of some types; a tool result has no text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [cast("Record", block) for block in cast("list[object]", content) if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") in types]
    return "\n".join(text for text in texts if isinstance(text, str))


def _moment(value: object) -> datetime | None:
    try:
        return parse_timestamp(value) if isinstance(value, str) else None
    except InvalidInputError:
        return None
