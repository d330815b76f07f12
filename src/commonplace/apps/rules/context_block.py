"""The block of memories that a model sees when a conversation of an app is in focus. Pure.

Each memory takes exactly one line, so that no text can pass for another line. Source: APP-06, R-APP-4.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final

from commonplace.apps.model.bounds import MAX_MEMORIES
from commonplace.apps.model.memories import Digest
from commonplace.core.budgets import fair_share
from commonplace.core.text import trim_to
from commonplace.prompts.data_lines import data_line

MAX_BLOCK_CHARS: Final = 2000

_INTRODUCTION: Final = "The following are memories from previous conversations with this app:"
_NOTE: Final = "They are claims heard earlier; today is {today}. What the user says now wins."
_CLOSING: Final = "Use these memories to provide context-aware responses."
_BLOCK: Final = re.compile(
    rf"\(memories for app: [^\n]*\)\s*{re.escape(_INTRODUCTION)}(?:(?!\(memories for app: ).)*?{re.escape(_CLOSING)}",
    re.DOTALL,
)


def format_memories(app_name: str, memories: Sequence[Digest], *, today: date | None = None) -> str:
    """Return the block of an app; empty if there are no memories.

    Args:
        app_name: The display name of the app.
        memories: Newest first; the first ten count.
        today: The date in a note that explains the memories; no note if ``None``.

    Returns:
        At most 2,000 characters. If the memories are longer, the longest are cut to the same length, so that all ten
        stay.
    """
    shown = memories[:MAX_MEMORIES]
    if not shown:
        return ""
    header = f"(memories for app: {data_line(app_name)})\n{_INTRODUCTION}\n\n"
    note = "" if today is None else f"{_NOTE.format(today=today)}\n"
    closing = f"\n\n{note}{_CLOSING}"
    leads = [f"{place}. [Created: {one.created_at:%Y-%m-%d}] " for place, one in enumerate(shown, 1)]
    texts = [data_line(one.content) for one in shown]
    room = MAX_BLOCK_CHARS - len(header) - len(closing) - sum(len(lead) + 1 for lead in leads)
    longest = fair_share([len(text) for text in texts], room)
    lines = [f"{lead}{trim_to(text, longest)}" for lead, text in zip(leads, texts, strict=True)]
    return header + "\n".join(lines) + closing


def shown_to_user(memories: Sequence[Digest], limit: int) -> list[Digest]:
    """Return the memories that a user's conversation sees, in their order.

    The user's own memories and the common ones have half of the places each, by importance. Each half can use places
    that the other leaves free.
    """
    by_importance = sorted(memories, key=lambda memory: -(memory.metadata.importance or 0.0))
    own = [memory for memory in by_importance if memory.user_id is not None]
    common = [memory for memory in by_importance if memory.user_id is None]
    reserved = (*own[: limit // 2], *common[: limit // 2])
    rest = [memory for memory in by_importance if memory not in reserved]
    shown = (*reserved, *rest)[:limit]
    return [memory for memory in memories if memory in shown]


def without_blocks(text: str) -> str:
    """Return a text without blocks of memories, so that recalled memories are not learned again."""
    return _BLOCK.sub("", text)
