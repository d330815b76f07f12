"""The prompt for the digest of an ended conversation. Pure.

The prompt contains the conversation as data. Source: APP-02, R-APP-5.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.digests import MemoryCreationRequest
from commonplace.apps.rules.context_block import without_blocks
from commonplace.core.text import trim_to
from commonplace.core.zones import zone_name
from commonplace.llm.extractive import read_turns, take_notes
from commonplace.prompts.fence import data_notice, fence

MAX_TRANSCRIPT_CHARS: Final = 24_000
"""Notes replace the middle of a longer conversation: the request stands first, the result last."""

MAX_NOTES_CHARS: Final = 1_500

MAX_MESSAGE_CHARS: Final = 4_000

_TASK: Final = """You are a memory creation assistant. Analyze this conversation and create a concise memory record.

Focus on:
- Key facts and information
- User preferences or patterns
- Important decisions or outcomes
- Lessons learned or insights

Format: Single paragraph, 2-4 sentences, factual and concise, at most {chars} characters in all. \
Leave out passwords, keys and tokens. If nothing is worth remembering, answer with the one word NONE."""

_DATED: Final = (
    'Conversation of {day}. Write dates in place of "today" and "next week", in the language of the user.'
)
_KNOWN: Final = (
    "Memories so far. Do not repeat them. If the conversation corrects one, give the new value and name the one it "
    "replaces:"
)


def creation_prompt(
    request: MemoryCreationRequest,
    *,
    whole: bool = False,
    now: datetime,
    zone: tzinfo = UTC,
    known: Sequence[str] = (),
) -> str:
    """Return the prompt for a conversation's memory.

    Args:
        request: The conversation.
        whole: Keep the whole conversation. Otherwise long messages are shortened, and notes that take no model replace
            the middle of a long conversation.
        now: The current time, which dates a conversation without a known end.
        zone: The time zone of the date.
        known: The memories that the conversation could see.
    """
    day = f"{(request.ended_at or now).astimezone(zone):%a %Y-%m-%d} ({zone_name(zone)})"
    tags = ("conversation", "summary", *(["memories"] if known else []))
    parts = [_TASK.format(chars=MAX_CONTENT_CHARS), _DATED.format(day=day), data_notice(*tags)]
    if known:
        parts.append(f"{_KNOWN}\n{fence(chr(10).join(f'- {text}' for text in known), 'memories')}")
    if request.conversation_summary.strip():
        parts.append(f"Summary:\n{fence(request.conversation_summary.strip(), 'summary')}")
    lines = _lines(request.messages, None if whole else MAX_MESSAGE_CHARS)
    head, tail, left_out = (lines, (), 0) if whole else _ends(lines)
    parts.append(f"Conversation:\n{fence(chr(10).join(head), 'conversation')}")
    if left_out:
        middle = take_notes(read_turns("\n".join(lines[len(head) : len(head) + left_out])), MAX_NOTES_CHARS)
        notes = f"\nNotes of them:\n{fence(middle, 'conversation')}\nThe end:" if middle else ""
        parts.append(f"({left_out} messages left out){notes}\n{fence(chr(10).join(tail), 'conversation')}")
    return "\n\n".join((*parts, "Create memory:"))


def _lines(messages: Sequence[Message], most: int | None) -> list[str]:
    """Return each message with its speaker; further lines are indented, so that they cannot pass for a speaker's."""
    return [
        f"{message.role}: {text if most is None else trim_to(text, most)}".replace("\n", "\n  ")
        for message in messages
        if (text := _spoken(message))
    ]


def _ends(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str], int]:
    """Return the beginning and the end of a conversation, and the number of lines left out between them."""
    if sum(map(len, lines)) <= MAX_TRANSCRIPT_CHARS:
        return lines, (), 0
    head = _fitting(lines, MAX_TRANSCRIPT_CHARS // 2)
    tail = _fitting(lines[:head:-1], MAX_TRANSCRIPT_CHARS // 2)
    return lines[:head], lines[len(lines) - tail :], len(lines) - head - tail


def _spoken(message: Message) -> str:
    return without_blocks(message.content).strip()


def _fitting(lines: Iterable[str], room: int) -> int:
    count = 0
    for line in lines:
        room -= len(line)
        if room < 0:
            break
        count += 1
    return count
