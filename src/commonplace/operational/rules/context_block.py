"""The block of memories in the next session's system prompt."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Final

from commonplace.core.budgets import CHARS_PER_TOKEN, budget_chars, estimate_tokens
from commonplace.core.clock import parse_timestamp
from commonplace.core.confidence import to_decimal
from commonplace.language.day_spans import names_days
from commonplace.language.relative_days import with_dates
from commonplace.operational.model.context import LessonCandidate, MemoryContext
from commonplace.operational.model.markers import GENERAL
from commonplace.prompts.data_lines import data_line

TITLE: Final = "## Operational Memory"
_MARKER: Final = re.compile(r"\[(?=\s*(?:MEMORY|EVENT|COOLDOWN)\s*[:\]])", re.IGNORECASE)
SHORTEST_BULLET_CHARS: Final = len("\n- [timing] x (confidence: 0.3)")
"""The size of a memory whose observation is one character long."""


def render_heading(name: str) -> str:
    """Return the heading of a service's group."""
    return f"### {name}"


def render_bullet(candidate: LessonCandidate, zone: tzinfo = UTC, *, dated: bool = False) -> str:
    """Return a memory as one line of data without markers; words such as "tomorrow" get the date that they meant.

    A marker in an observation loses its bracket, so that an agent that repeats the block does not store it again. A
    contradicted memory is marked, because it may still have more confidence than the memory that contradicts it. A
    dated line says when the memory was last seen or edited.
    """
    observation = _MARKER.sub("(", data_line(_with_dates(candidate, zone)))
    mark = " (contradicted later)" if candidate.correction is not None else ""
    seen = f", as of {parse_timestamp(candidate.updated_at).astimezone(zone):%Y-%m-%d}" if dated else ""
    standing = f"confidence: {format_confidence(candidate.confidence)}{seen}"
    return f"- [{candidate.category}] {observation} ({standing}){mark}"


def _with_dates(candidate: LessonCandidate, zone: tzinfo) -> str:
    """Return an observation with dates, unless it was repeated or edited on another day and may mean that day.

    The observation is stored as the marker says it (OPS-05), so its dates are found when it is shown.
    """
    if not names_days(candidate.observation):
        return candidate.observation
    created, updated = (
        parse_timestamp(each).astimezone(zone) for each in (candidate.created_at, candidate.updated_at)
    )
    is_same_day = created.date() == updated.date()
    return with_dates(candidate.observation, created) if is_same_day else candidate.observation


def format_confidence(confidence: float) -> str:
    """Return a confidence with one decimal, or two if it needs them: 0.9, 0.95."""
    value = to_decimal(confidence).quantize(Decimal("0.01"))
    return str(value).removesuffix("0")


class BlockBuilder:
    """A builder that takes memories within a budget, in the order in which they are offered, and renders them.

    Args:
        eligible: The number of all active memories, for the header.
        budget_tokens: The budget for the whole block with its header; with 0 or less, no memory fits.
        holds: Whether a text is in quarantine; such a memory is not shown.
        zone: The time zone that decides which day "tomorrow" was.
        dates: Whether each line says when its memory was last seen or edited.
    """

    def __init__(
        self,
        *,
        eligible: int,
        budget_tokens: int,
        holds: Callable[[str], bool] = lambda _: False,
        zone: tzinfo = UTC,
        dates: bool = False,
    ) -> None:
        self._eligible = eligible
        self._holds = holds
        self._zone = zone
        self._dates = dates
        self._budget_tokens = budget_tokens
        longest_header = f"{TITLE} ({eligible} of {eligible} memories, ~{budget_tokens:,} tokens)"
        self._room = budget_chars(budget_tokens) - len(longest_header)
        self._bullets: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._ids: list[int] = []

    @property
    def room(self) -> int:
        """The length in characters of the longest observation that could still fit; 0 or less if none fits."""
        return self._room - SHORTEST_BULLET_CHARS + 1

    def offer(self, candidate: LessonCandidate) -> None:
        """Take a memory if it fits together with its service's heading; skip taken and quarantined memories."""
        if len(candidate.observation) > self.room:
            return
        if candidate.correction is not None and self._holds(candidate.correction):
            candidate = replace(candidate, correction=None)
        name = candidate.service or GENERAL
        key = name.casefold()
        bullet = render_bullet(candidate, self._zone, dated=self._dates)
        cost = len(bullet) + 1
        if key not in self._bullets:
            cost += len(f"\n\n{render_heading(name)}")
        if cost > self._room or candidate.id in self._ids or self._holds(candidate.observation):
            return
        self._room -= cost
        self._bullets.setdefault(key, []).append(bullet)
        self._names.setdefault(key, name)
        self._ids.append(candidate.id)

    def build(self) -> MemoryContext:
        """Render the memories that were taken."""
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
    """Return the header with the size of the whole block, including the header's own digits."""
    count = f"{shown}" if shown == eligible else f"{shown} of {eligible}"
    noun = "memory" if count == "1" else "memories"
    tokens, header = -1, ""
    while True:
        header = f"{TITLE} ({count} {noun}, ~{max(tokens, 0):,} tokens)"
        size = -(-(len(header) + body_chars) // CHARS_PER_TOKEN)
        if size <= tokens:
            return header
        tokens = size
