"""The block of facts and rules that goes into a prompt, within its budget. Pure.

Each section first takes its best memories, up to its reserve, so that facts cannot crowd out rules. Then memories are
taken in the order of their scores over both sections, until nothing more fits; one that does not fit is passed over, so
that a long one cannot keep out the short ones behind it. What is shown of a memory is one line, whatever is in it.
Source: KNW-20, KNW-34.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from commonplace.core.budgets import budget_chars
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.kinds import Fact, MemoryType, Rule

CONTEXT_HEADER: Final = "# Memory Context\n"
NOTE: Final = (
    "Noted in earlier sessions; today is {today}. Facts are claims heard earlier, less certain with age: what the user "
    "says now wins. Rules are the user's wishes and lessons: follow them where they fit; 0.00 means untried. "
    "To correct a fact, store the right one under the same subject and predicate.\n"
)
"""The text names no tool, because a host may offer the memory under other names."""

NOTE_FROM_CHARS: Final = 1_000
"""A smaller budget is left to the memories."""

HEADINGS: Final[Mapping[MemoryType, str]] = {
    MemoryType.FACT: "\n## Key Facts\n",
    MemoryType.RULE: "\n## Active Rules\n",
}
"""In the order of the sections."""

MAX_LINES: Final = 20
"""Source: KNW-20.3."""

_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of writing: they can make a line look like another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionQuota:
    """Upper limit and reserve of a section.

    Attributes:
        items: The most lines.
        share: The most of the whole budget, 0.0 to 1.0, heading included.
        reserve: Lines that the other section cannot take.
    """

    items: int = 20
    share: float = 1.0
    reserve: int = 5

    def __post_init__(self) -> None:
        for name in ("items", "reserve"):
            if getattr(self, name) < 0:
                raise InvalidInputError(name, "a whole number from 0", getattr(self, name))
        if not 0.0 <= self.share <= 1.0:
            raise InvalidInputError("share", "a number from 0.0 to 1.0", self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuotas:
    """Quotas of the sections. Source: KNW-34.2."""

    facts: SectionQuota = SectionQuota()
    rules: SectionQuota = SectionQuota()


DEFAULT_QUOTAS: Final = ContextQuotas()


class _Section:
    """The lines of a section, and what it may still take."""

    def __init__(self, memory_type: MemoryType, quota: SectionQuota, budget: int) -> None:
        self._heading = HEADINGS[memory_type]
        self._items = quota.items
        self._room = int(budget * quota.share)
        self._lines: dict[int, str] = {}

    def take(self, place: int, line: str, room: int) -> int:
        """Add a line if it fits both the section and the room left; return the characters that it took."""
        cost = len(line) + (0 if self._lines else len(self._heading))
        if len(self._lines) >= self._items or cost > min(self._room, room):
            return 0
        self._lines[place] = line
        self._room -= cost
        return cost

    def render(self) -> str:
        """Return the heading and the lines in the order of their places."""
        return (
            "".join([self._heading, *(line for _, line in sorted(self._lines.items()))])
            if self._lines
            else ""
        )


def render_context(
    memories: Sequence[Fact | Rule],
    *,
    token_budget: int,
    today: date,
    limit: int = MAX_LINES,
    quotas: ContextQuotas = DEFAULT_QUOTAS,
    with_note: bool = True,
) -> str:
    """Render recalled facts and rules.

    Args:
        memories: The best first.
        token_budget: A token is four characters.
        today: For the note.
        limit: The most lines.
        quotas: What each section may take.
        with_note: Whether to say what the lines are, if there is room.

    Returns:
        Markdown of at most ``token_budget * 4`` characters; empty where not even the header fits.
    """
    budget = budget_chars(token_budget)
    if budget < len(CONTEXT_HEADER):
        return ""
    sections = {
        MemoryType.FACT: _Section(MemoryType.FACT, quotas.facts, budget),
        MemoryType.RULE: _Section(MemoryType.RULE, quotas.rules, budget),
    }
    note = NOTE.format(today=today.isoformat()) if with_note and budget >= NOTE_FROM_CHARS else ""
    room = budget - len(CONTEXT_HEADER) - len(note)
    lines = 0
    for place in _order_of_taking(memories, quotas):
        if lines == limit:
            break
        memory = memories[place]
        took = sections[memory.memory_type].take(place, render_line(memory), room)
        room -= took
        lines += took > 0
    body = "".join(section.render() for section in sections.values())
    return f"{CONTEXT_HEADER}{note}{body}" if body else CONTEXT_HEADER


def _order_of_taking(memories: Sequence[Fact | Rule], quotas: ContextQuotas) -> list[int]:
    """Return the places of the memories: those in reserve first, then the others, each in the order of their scores."""
    left = {MemoryType.FACT: quotas.facts.reserve, MemoryType.RULE: quotas.rules.reserve}
    reserved: list[int] = []
    for place, memory in enumerate(memories):
        if left[memory.memory_type] > 0:
            left[memory.memory_type] -= 1
            reserved.append(place)
    others = set(range(len(memories))).difference(reserved)
    return [*reserved, *sorted(others)]


def render_line(memory: Fact | Rule) -> str:
    """Return a fact or rule as one line, in the form of the specification; a fact with its confidence of today."""
    content = _one_line(memory.content)
    if isinstance(memory, Rule):
        standing = f"maturity: {memory.maturity}, effectiveness: {memory.effectiveness_score:.2f}"
        return f"- {content} ({standing})\n"
    subject, predicate = _bracketed(memory.subject), _bracketed(memory.predicate)
    return f"- {subject} {predicate}: {content} (confidence: {memory.effective_confidence:.2f})\n"


def _bracketed(text: str) -> str:
    """Return a text in brackets that it cannot close itself."""
    return f"[{_one_line(text).replace('[', '(').replace(']', ')')}]"


def _one_line(text: str) -> str:
    return _UNSEEN.sub("", collapse_whitespace(text))
