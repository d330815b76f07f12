"""The ``[Memories]`` block: selection and rendering of the memories that a model call sees. Pure.

Source: WSP-07, WSP-08, R-WSP-4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, Final, assert_never, cast

from commonplace import judge
from commonplace.prompts.data_lines import data_line
from commonplace.workspace.model.config import InjectMode, MemoryConfig
from commonplace.workspace.model.memories import Note, age_key
from commonplace.workspace.rules.relevance import rank
from commonplace.workspace.rules.repetition import text_of

HEADER: Final = "[Memories]"
FALLBACK_COUNT: Final = 5
"""Number of newest memories that are shown if no memory has a score. Source: WSP-07.4."""

Message = Mapping[str, Any]
"""A chat message: ``role``, and ``content`` as text or as a list of parts with ``text``."""

_SYSTEM_ROLES = frozenset({"system", "developer"})
_BRACKETS = str.maketrans("()", "[]")


def select(
    memories: Sequence[Note],
    message: str,
    config: MemoryConfig,
    now: datetime,
    *,
    holds: Callable[[str], bool] = lambda _: False,
) -> tuple[Note, ...]:
    """Return the memories that a model call sees, newest first.

    Candidates are ordered by score, then newest first; in mode ``recent_only``, and if no memory has a score, only by
    age. They are taken in this order until the count or the character budget is reached. The first memory that does
    not fit ends the selection, so that a worse or older memory never replaces a better or newer one. A memory that says
    in other words what a better or newer one says is left out.

    ``memories`` go from oldest to newest; ``message`` is the last user message. ``holds`` returns whether a text is
    left out. It takes long, so only texts that would be shown are checked.
    """

    def allowed(candidates: Iterable[Note]) -> Iterator[Note]:
        showable = (memory for memory in candidates if not holds(memory.text))
        return judge.without_repetitions(showable, text_of)

    newest_first = allowed(reversed(memories))
    match config.inject_mode:
        case InjectMode.OFF:
            candidates: Iterable[Note] = ()
        case InjectMode.RECENT_ONLY:
            candidates = newest_first
        case InjectMode.RELEVANT:
            scored = allowed(found.memory for found in rank(memories, message, now))
            best = next(scored, None)
            candidates = islice(newest_first, FALLBACK_COUNT) if best is None else chain([best], scored)
        case _ as unreachable:
            assert_never(unreachable)
    return tuple(sorted(_within_budget(candidates, config), key=age_key, reverse=True))


def render(memories: Iterable[Note], *, dates: bool = False) -> str:
    """Return the block with the memories in the given order; an empty text if there are no memories.

    Each memory is one line, ``- (m-2, infra) Project uses PostgreSQL 16``, with its id and first tag, and is
    data: see :func:`~commonplace.prompts.data_lines.data_line`. With ``dates``, the day on which the memory was stored
    follows the tag, which is not the specified form.
    """
    bullets = [f"- ({_label(memory, dates=dates)}) {data_line(memory.text)}" for memory in memories]
    return "\n".join([HEADER, *bullets]) if bullets else ""


def last_user_message(messages: Sequence[Message]) -> str:
    """Return the text of the last user message that has text; tool results do not count."""
    for message in reversed(messages):
        if message.get("role") == "user" and (text := _text_of(message)):
            return text
    return ""


def insert_block(messages: Sequence[Message], block: str) -> list[Message]:
    """Return the messages with the block right after the leading system messages.

    A block from an earlier call is removed, so that blocks do not accumulate in a conversation.

    Source: WSP-07.5.
    """
    kept = [message for message in messages if not _is_block(message)]
    if not block:
        return kept
    position = 0
    while position < len(kept) and kept[position].get("role") in _SYSTEM_ROLES:
        position += 1
    return [*kept[:position], {"role": "system", "content": block}, *kept[position:]]


def _within_budget(candidates: Iterable[Note], config: MemoryConfig) -> Iterable[Note]:
    left = config.max_inject_chars
    for count, memory in enumerate(candidates):
        left -= len(memory.text)
        if left < 0 or count == config.max_inject_count:
            return
        yield memory


def _label(memory: Note, *, dates: bool) -> str:
    tags = [data_line(tag).translate(_BRACKETS) for tag in memory.tags[:1]]
    return ", ".join([memory.id, *tags, *([f"{memory.created_at:%Y-%m-%d}"] if dates else [])])


def _is_block(message: Message) -> bool:
    return message.get("role") in _SYSTEM_ROLES and _text_of(message).startswith(f"{HEADER}\n- (m-")


def _text_of(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[object]", content)
    texts = [cast("Message", part).get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))
