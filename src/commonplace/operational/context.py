"""The block of memories that goes into the next session's system prompt.

Memories are taken by confidence over all services until the budget is spent, then shown grouped by service, the
general ones last. A memory that does not fit is passed over, so that a long one cannot keep out the short ones
behind it. The block, header included, never exceeds the budget; where not one memory fits, there is no block.
Source: OPS-06, OPS-07, OPS-15, R-OPS-3, R-OPS-4.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from commonplace.core.budgets import CHARS_PER_TOKEN, budget_chars, estimate_tokens
from commonplace.core.confidence import to_decimal
from commonplace.core.text import collapse_whitespace, visible
from commonplace.operational.transcript.markers import GENERAL

TITLE: Final = "## Operational Memory"
_MARKER: Final = re.compile(r"\[(?=\s*(?:MEMORY|EVENT|COOLDOWN)\s*[:\]])", re.IGNORECASE)
SHORTEST_BULLET_CHARS: Final = len("\n- [timing] x (confidence: 0.3)")
"""What a memory takes whose observation is one character long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that could be shown; ``service`` is ``None`` for a general one, ``updated_at`` as it is stored."""

    id: int
    service: str | None
    category: str
    observation: str
    confidence: float
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The block, and what is in it.

    Attributes:
        text: Markdown without a newline at its end; empty where nothing is shown.
        memory_ids: The memories shown, in the order of their choice.
        eligible: How many could have been shown.
        tokens: Estimated size of the text.
        budget_tokens: What it had to fit.
    """

    text: str
    memory_ids: tuple[int, ...]
    eligible: int
    tokens: int
    budget_tokens: int


def render_heading(name: str) -> str:
    """Return the heading of a service's group."""
    return f"### {name}"


def render_bullet(candidate: Candidate) -> str:
    """Return one memory as one line that teaches nothing.

    No line break in an observation can make a second line, and a marker quoted in one is no longer a marker: an agent
    that repeats the block must not be taken to have learned it again.
    """
    observation = visible(_MARKER.sub("(", collapse_whitespace(candidate.observation)))
    return f"- [{candidate.category}] {observation} (confidence: {format_confidence(candidate.confidence)})"


def format_confidence(confidence: float) -> str:
    """Return a confidence with as many decimals as it needs, one at least, two at most: 0.9, 0.95."""
    value = to_decimal(confidence).quantize(Decimal("0.01"))
    text = str(value)
    return text.removesuffix("0")


class BlockBuilder:
    """Chooses memories for a budget, in the order in which they are offered, and renders them.

    Args:
        eligible: How many memories are eligible altogether; the header counts them.
        budget_tokens: For the whole block, header included; 0 and less hold nothing.
    """

    def __init__(self, *, eligible: int, budget_tokens: int) -> None:
        self._eligible = eligible
        self._budget_tokens = budget_tokens
        longest_header = f"{TITLE} ({eligible} of {eligible} memories, ~{budget_tokens:,} tokens)"
        self._room = budget_chars(budget_tokens) - len(longest_header)
        self._bullets: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._ids: list[int] = []

    @property
    def room(self) -> int:
        """The longest observation, in characters, that could still fit; 0 and less where none can."""
        return self._room - SHORTEST_BULLET_CHARS + 1

    def offer(self, candidate: Candidate) -> None:
        """Take a memory if it fits, heading of its service included; one that was taken already is passed over."""
        name = candidate.service or GENERAL
        key = name.casefold()
        bullet = render_bullet(candidate)
        cost = len(bullet) + 1
        if key not in self._bullets:
            cost += len(f"\n\n{render_heading(name)}")
        if cost > self._room or candidate.id in self._ids:
            return
        self._room -= cost
        self._bullets.setdefault(key, []).append(bullet)
        self._names.setdefault(key, name)
        self._ids.append(candidate.id)

    def build(self) -> MemoryContext:
        """Render what was taken."""
        text = self._render()
        return MemoryContext(
            text=text,
            memory_ids=tuple(self._ids),
            eligible=self._eligible,
            tokens=estimate_tokens(text),
            budget_tokens=self._budget_tokens,
        )

    def _render(self) -> str:
        if not self._ids:
            return ""
        general_last = sorted(self._bullets, key=lambda key: (key == GENERAL, key))
        groups = ["\n".join([render_heading(self._names[key]), *self._bullets[key]]) for key in general_last]
        body = "".join(f"\n\n{group}" for group in groups)
        return f"{_header(len(self._ids), self._eligible, len(body))}{body}"


def _header(shown: int, eligible: int, body_chars: int) -> str:
    """Return the header with the size of the block that it stands in; its own digits count too."""
    count = f"{shown}" if shown == eligible else f"{shown} of {eligible}"
    noun = "memory" if count == "1" else "memories"
    tokens, header = -1, ""
    while True:
        header = f"{TITLE} ({count} {noun}, ~{max(tokens, 0):,} tokens)"
        size = -(-(len(header) + body_chars) // CHARS_PER_TOKEN)
        if size <= tokens:
            return header
        tokens = size
