"""The prompt for the digest of an ended conversation, and the reading of the answer. Pure.

The prompt contains the conversation as data. A sentence that looks like a secret is left out of the memory.
Source: APP-02, R-APP-4, R-APP-5.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import zip_longest
from typing import Any, Final

from commonplace.apps.context import without_blocks
from commonplace.apps.conversations import Message, require_message
from commonplace.apps.memories import MAX_CONTENT_CHARS
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.secrets import find_secret, mask_secrets
from commonplace.core.text import clean_text, collapse_whitespace, is_blank, trim_to
from commonplace.core.zones import zone_name
from commonplace.language.sentences import split_sentences
from commonplace.llm.extractive import read_turns, take_notes
from commonplace.prompts.fence import data_notice, fence

MAX_SENTENCES: Final = 4
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

_MARKDOWN: Final = re.compile(r"\*{1,3}|__|`+|^\s*(?:#{1,6}|>|[-*•])\s+", re.MULTILINE)
_LABEL: Final = re.compile(
    r"^(?:here(?: is|'s) (?:the|a|your) )?(?:(?:concise|new|updated) )*"
    r"(?:memory(?: record)?|summary|digest|answer)\s*(?:[:\-\u2013\u2014]|\n|$)\s*",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'` "
_NOTHING: Final = re.compile(
    r"(?:none|null|n/?a|no memory(?: needed| record| created| to create)?)\W*$"
    r"|none\s*[.:;,!\u2013\u2014(-]|no memory (?:needed|is needed|was created|record)\b"
    r"|nothing\W*$|\(none\)"
    r"|(?:es gibt |hier (?:ist|gibt es) )?nichts (?:\w+ ){0,2}(?:erinner|merken|behalten|festhalten|notier)\w*"
    r"|(?:no hay )?nada (?:\w+ ){0,2}(?:recordar|guardar|anotar|memorable|relevante|destacable)\b"
    r"|(?:il n'y a )?rien (?:\w+ ){0,2}(?:retenir|memoriser|mémoriser|noter|signaler)\b"
    r"|(?:there (?:is|was)|(?:the|this) conversation (?:contain|ha|hold|include)\w*|i (?:see|found|find))?\s*"
    r"(?:nothing|no(?:thing)? \w+(?: \w+)?)"
    r"(?: (?:is|was|here|in|of|the|this|that|conversation|seems|appears|to|be|really|particularly))* "
    r"(?:worth|notable|noteworthy|memorable|to remember|needs? to be remembered)\b",
    re.IGNORECASE,
)
_REFUSAL: Final = re.compile(
    r"(?:(?:i'm|i am) (?:very |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^,.]*)?[,.]?\s*(?:but )?"
    r"i(?:'m| am)? ?(?:can(?:no|')?t|cannot|won't|will not|do not|don't|unable|not able|must decline|decline)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCreationRequest:
    """A conversation to digest.

    Attributes:
        app_id: The app that it belongs to.
        conversation_id: The source of the memory.
        messages: The messages in order.
        conversation_summary: The host's summary, or an empty text.
        user_id: The user whose space receives the memory; ``None`` for the app's common space.
        ended_at: When the conversation ended (aware), if known.
    """

    app_id: str
    conversation_id: str
    messages: tuple[Message, ...]
    conversation_summary: str = ""
    user_id: str | None = None
    ended_at: datetime | None = None

    @classmethod
    def from_sides(
        cls,
        *,
        app_id: str,
        conversation_id: str,
        user_messages: Sequence[str],
        assistant_messages: Sequence[str],
        conversation_summary: str = "",
    ) -> "MemoryCreationRequest":
        """Build a request from the messages of each side; the user begins, and the sides take turns."""
        turns = zip_longest(user_messages, assistant_messages)
        said = [
            require_message(role, text)
            for turn in turns
            for role, text in zip(("user", "assistant"), turn, strict=True)
            if text is not None
        ]
        return cls(
            app_id=app_id,
            conversation_id=conversation_id,
            messages=tuple(said),
            conversation_summary=conversation_summary,
        )

    @property
    def chars(self) -> int:
        """The length of the conversation, which determines its cost in energy."""
        return sum(len(message.content) for message in self.messages)

    def to_json(self) -> str:
        """Return the JSON text for the queue, with its secrets masked."""
        said = [{"role": message.role, "content": mask_secrets(message.content)} for message in self.messages]
        ended_at = None if self.ended_at is None else format_timestamp(self.ended_at)
        return json.dumps(
            {
                "messages": said,
                "summary": mask_secrets(self.conversation_summary),
                "user_id": self.user_id,
                "ended_at": ended_at,
            }
        )

    @classmethod
    def from_json(cls, app_id: str, conversation_id: str, text: str) -> "MemoryCreationRequest":
        """Read the JSON text of the queue."""
        values: dict[str, Any] = json.loads(text)
        ended_at = values.get("ended_at")
        return cls(
            app_id=app_id,
            conversation_id=conversation_id,
            messages=tuple(Message(**message) for message in values["messages"]),
            conversation_summary=values["summary"],
            user_id=values["user_id"],
            ended_at=None if ended_at is None else parse_timestamp(ended_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The text of a memory from a model's answer.

    Attributes:
        content: The memory's text; ``None`` if nothing is worth keeping, or all of it looks like secrets.
        secrets: The kinds of secrets in the sentences that were left out.
        refused: Whether the model refused to answer.
    """

    content: str | None
    secrets: tuple[str, ...] = ()
    refused: bool = False


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


def read_digest(text: str) -> Digest:
    """Return the memory in a model's answer; without content if the model found nothing or refused.

    The text is one paragraph of at most four sentences and 200 characters. It is cut after a sentence if the sentences
    before fill at least half, else at a word. Sentences that look like secrets are left out.
    """
    said = _MARKDOWN.sub("", clean_text(text)).strip().strip(_QUOTES)
    unlabelled = _LABEL.sub("", said).strip()
    plain = collapse_whitespace(unlabelled).strip(_QUOTES)
    first_line = unlabelled.partition("\n")[0].strip(_QUOTES)
    if not plain or _NOTHING.match(plain) or _NOTHING.match(first_line):
        return Digest(content=None)
    if _REFUSAL.match(plain.replace("\u2019", "'")):
        return Digest(content=None, refused=True)
    return _kept(plain)


def tidy_content(text: str) -> Digest:
    """Return a memory's text in the form of :func:`read_digest`, without looking for the words of a refusal."""
    return _kept(collapse_whitespace(clean_text(text)))


def _kept(plain: str) -> Digest:
    if is_blank(plain):
        return Digest(content=None)
    kept: list[str] = []
    secrets: list[str] = []
    for sentence in split_sentences(plain):
        spoken, found = _without_secrets(sentence)
        secrets += found
        if spoken:
            kept.append(spoken)
    # A secret may contain a mark that looks like the end of a sentence.
    whole = find_secret(" ".join(kept))
    if whole is not None:
        return Digest(content=None, secrets=(*secrets, whole.kind))
    return Digest(content=_shortened(kept[:MAX_SENTENCES]) or None, secrets=tuple(secrets))


def _without_secrets(sentence: str) -> tuple[str, list[str]]:
    """Return a sentence without the clauses that look like secrets, and the kinds of these secrets."""
    if find_secret(sentence) is None:
        return sentence, []
    clauses = [(clause, find_secret(clause)) for clause in sentence.split("; ")]
    found = [finding.kind for _, finding in clauses if finding is not None]
    kept = "; ".join(clause for clause, finding in clauses if finding is None)
    whole = find_secret(kept)
    return (kept, found) if whole is None and found else ("", found or [whole.kind if whole else ""])


def _shortened(sentences: Sequence[str]) -> str:
    text = " ".join(sentences)
    if len(text) <= MAX_CONTENT_CHARS:
        return text
    whole = ""
    for sentence in sentences:
        longer = f"{whole} {sentence}".strip()
        if len(longer) > MAX_CONTENT_CHARS:
            break
        whole = longer
    return whole if len(whole) >= MAX_CONTENT_CHARS // 2 else trim_to(text, MAX_CONTENT_CHARS)
