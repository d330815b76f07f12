"""Transcripts of Claude Code: the messages of a session, and a digest of them. Pure.

A transcript is a file of JSON lines. Prompts are ``user`` lines, answers ``assistant`` lines, one line for each block
of an answer; results of tools are ``user`` lines too. The output of hooks is in ``attachment`` lines, which are never
read; an answer that quotes it loses the quotation.
Source: measured on Claude Code 2.1.197.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, cast

from commonplace.core.budgets import share_budget
from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.secrets import mask_secrets
from commonplace.core.text import clean_text, trim_to
from commonplace.llm.injected import without_injected

MAX_DIGEST_CHARS: Final = 6_000
MAX_EXCHANGES: Final = 12
"""A long session keeps its first exchange and its latest ones."""

MAX_LINE_CHARS: Final = 4_000_000
"""Longer lines are pasted files or pictures and are skipped."""

_SYNTHETIC: Final = "<synthetic>"
"""The model of an answer by the client itself, such as an API error."""

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COMMAND: Final = re.compile(r"\s*<(?:command-|local-command-|bash-)")

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a session.

    Attributes:
        id: The id of the line; a copied session has the same ids.
        role: The author.
        text: The text, without blocks that commonplace injected.
        said_at: The time; ``None`` if the line has none.
    """

    id: str
    role: Role
    text: str
    said_at: datetime | None


def read_messages(lines: Iterable[str]) -> Iterator[Message]:
    """Yield the messages of user and assistant in order; skip other lines and damaged ones."""
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
    """Return the text of an episode: prompts, and the last text of the answer to each.

    Secrets are masked. A digest that would be too long keeps the first exchange and the latest ones, and cuts long
    texts to the same length.

    Returns:
        At most 6,000 characters; empty if there is no prompt.
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
    # The end of one text and the label of the next can look like a secret together.
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
    """Return the text of a message, or of its text blocks; a tool result has none."""
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
