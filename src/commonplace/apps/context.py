"""The block of memories that a model is shown when a conversation of an app is in focus. Pure.

Source: APP-06, R-APP-4. A memory takes one line, whatever it holds, so that no text can pass for another line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from commonplace.apps.memories import MAX_MEMORIES, Memory
from commonplace.core.text import collapse_whitespace, trim_to

MAX_BLOCK_CHARS: Final = 2000

_INTRODUCTION: Final = "The following are memories from previous conversations with this app:"
_CLOSING: Final = "Use these memories to provide context-aware responses."
_BLOCK: Final = re.compile(
    rf"\(memories for app: [^\n]*\)\s*{re.escape(_INTRODUCTION)}(?:(?!\(memories for app: ).)*?{re.escape(_CLOSING)}",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """A block, empty where there is nothing to tell, and the memories in it, newest first."""

    text: str
    memories: tuple[Memory, ...]


def format_memories(app_name: str, memories: Sequence[Memory]) -> str:
    """Return the block of an app; empty where it has no memories.

    Args:
        app_name: What the app is called.
        memories: Newest first; the first ten count.

    Returns:
        At most 2,000 characters. Where whole memories would take more, the longest are shortened, all to the
        same length, so that each of the ten stays.
    """
    shown = memories[:MAX_MEMORIES]
    if not shown:
        return ""
    header = f"(memories for app: {collapse_whitespace(app_name)})\n{_INTRODUCTION}\n\n"
    closing = f"\n\n{_CLOSING}"
    leads = [f"{place}. [Created: {one.created_at:%Y-%m-%d}] " for place, one in enumerate(shown, 1)]
    texts = [collapse_whitespace(one.content) for one in shown]
    room = MAX_BLOCK_CHARS - len(header) - len(closing) - sum(len(lead) + 1 for lead in leads)
    longest = fair_share([len(text) for text in texts], room)
    lines = [f"{lead}{trim_to(text, longest)}" for lead, text in zip(leads, texts, strict=True)]
    return header + "\n".join(lines) + closing


def shown_to_user(memories: Sequence[Memory], limit: int) -> list[Memory]:
    """Return which memories a user's conversation is shown, in their order.

    The user's own and the common ones have half of the places each, by importance; what one of them leaves, the other
    takes.
    """
    by_importance = sorted(memories, key=lambda memory: -(memory.metadata.importance or 0.0))
    own = [memory for memory in by_importance if memory.user_id is not None]
    common = [memory for memory in by_importance if memory.user_id is None]
    reserved = (*own[: limit // 2], *common[: limit // 2])
    rest = [memory for memory in by_importance if memory not in reserved]
    shown = (*reserved, *rest)[:limit]
    return [memory for memory in memories if memory in shown]


def fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the greatest length to which texts can be cut so that together they fit into the room.

    Short texts leave what they do not need to the longer ones. The longest length where all fit as they are.
    """
    left, share = room, 0
    for place, length in enumerate(sorted(lengths)):
        share = max(0, left) // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def without_blocks(text: str) -> str:
    """Return a text without the blocks of memories in it: what was recalled is not learned as new."""
    return _BLOCK.sub("", text)
