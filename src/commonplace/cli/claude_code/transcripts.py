"""Transcripts of Claude Code: what was said in a session, and a digest of it. Pure.

A transcript is a file of JSON lines. Prompts are ``user`` lines, answers ``assistant`` lines, one line for each block
of an answer; results of tools are ``user`` lines too. What hooks injected stands in ``attachment`` lines, which are
never read; an answer that quotes it loses the quotation.
Source: measured on Claude Code 2.1.197.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, cast

from commonplace.briefing import share_budget
from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, trim_to
from commonplace.llm.injected import without_injected

MAX_DIGEST_CHARS: Final = 6_000
MAX_EXCHANGES: Final = 12
"""The first and the latest of a long session; what it was about, and how it ended."""

MAX_LINE_CHARS: Final = 4_000_000
"""A longer line is a pasted file or picture, and is passed over."""

_SYNTHETIC: Final = "<synthetic>"
"""The model of an answer that the client made up, such as an error of the API."""

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COMMAND: Final = re.compile(r"\s*<(?:command-|local-command-|bash-)")

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something that was said.

    Attributes:
        id: Of its line; a copy of a session has the same ones.
        role: Who said it.
        text: What, without what memory had put there.
        said_at: When; ``None`` where the line does not say.
    """

    id: str
    role: Role
    text: str
    said_at: datetime | None


def read_messages(lines: Iterable[str]) -> Iterator[Message]:
    """Yield what user and assistant said, in order; lines of any other kind, and broken ones, are passed over."""
    for line in lines:
        if len(line) > MAX_LINE_CHARS:
            continue
        try:
            record: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and (message := _message(cast("dict[str, Any]", record))):
            yield message


def digest(messages: Sequence[Message]) -> str:
    """Return what an episode should keep of some messages: prompts, and the last words of the answer to each.

    Secrets are masked. Where it would be too long, the first exchange and the latest ones stay, and long texts are cut,
    all to the same length.

    Returns:
        At most 6,000 characters; empty where there is no prompt.
    """
    exchanges = _exchanges(messages)
    if not exchanges:
        return ""
    left_out = len(exchanges) - MAX_EXCHANGES
    if left_out > 0:
        exchanges = [exchanges[0], *exchanges[1 - MAX_EXCHANGES :]]
    labelled = [
        (label, mask_secrets(text))
        for exchange in exchanges
        for label, text in zip(("User: ", "Assistant: "), exchange, strict=True)
        if text
    ]
    note = f"[{left_out} exchanges left out]" if left_out > 0 else ""
    overhead = len(note) + sum(len(label) + 2 for label, _ in labelled)
    shares = share_budget([len(text) for _, text in labelled], MAX_DIGEST_CHARS - overhead)
    paragraphs = [
        f"{label}{trim_to(text, share)}" for (label, text), share in zip(labelled, shares, strict=True)
    ]
    if note:
        paragraphs.insert(1 + bool(exchanges[0][1]), note)
    # A label at the end of one text and the beginning of the next can look like a secret together.
    return trim_to(mask_secrets("\n\n".join(paragraphs)), MAX_DIGEST_CHARS)


def _exchanges(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return each prompt with the last text of the answer to it."""
    found: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "user":
            found.append((message.text, ""))
        elif found:
            found[-1] = (found[-1][0], message.text)
    return found


def _message(record: Mapping[str, Any]) -> Message | None:
    role, inner = record.get("type"), record.get("message")
    if role not in ("user", "assistant") or not isinstance(inner, dict):
        return None
    if any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary", "toolUseResult")):
        return None
    body = cast("dict[str, Any]", inner)
    raw = _text(body.get("content"))
    if body.get("model") == _SYNTHETIC or (role == "user" and _COMMAND.match(raw)):
        return None
    text = clean_text(_REMINDER.sub("", without_injected(raw))).strip()
    if not text:
        return None
    return Message(id=str(record.get("uuid")), role=role, text=text, said_at=_moment(record.get("timestamp")))


def _text(content: object) -> str:
    """Return the text of a message: the content itself, or that of its text blocks; a result of a tool has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [
        cast("dict[str, Any]", block) for block in cast("list[object]", content) if isinstance(block, dict)
    ]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _moment(value: object) -> datetime | None:
    try:
        return parse_timestamp(value) if isinstance(value, str) else None
    except InvalidInputError:
        return None
