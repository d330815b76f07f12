"""The block of memories in the next session's system prompt.

Memories are chosen by confidence across all services until the budget is spent, then grouped by service, general
memories last. A memory that does not fit is skipped, so that a long memory does not exclude shorter ones. The block
with its header never exceeds the budget; if no memory fits, the block is empty. Source: OPS-06, OPS-07, OPS-15,
R-OPS-3, R-OPS-4.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from commonplace.core.budgets import CHARS_PER_TOKEN, budget_chars, estimate_tokens
from commonplace.core.confidence import ACTIVE_THRESHOLD, to_decimal
from commonplace.operational.statements import OperationalStatements
from commonplace.operational.transcript.markers import GENERAL
from commonplace.prompts.data_lines import data_line
from commonplace.storage.rows import read_row

TITLE: Final = "## Operational Memory"
_MARKER: Final = re.compile(r"\[(?=\s*(?:MEMORY|EVENT|COOLDOWN)\s*[:\]])", re.IGNORECASE)
SHORTEST_BULLET_CHARS: Final = len("\n- [timing] x (confidence: 0.3)")
"""The size of a memory whose observation is one character long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that the block could show.

    Attributes:
        service: ``None`` for a general memory.
        updated_at: As stored.
        correction: The text of the active memory that contradicted this one after it was last seen or edited.
    """

    id: int
    service: str | None
    category: str
    observation: str
    confidence: float
    updated_at: str
    correction: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The block of memories and its figures.

    Attributes:
        text: Markdown without a newline at its end; empty if no memory is shown.
        memory_ids: The memories shown, most trusted first.
        eligible: The number of active memories, including those in quarantine. It does not depend on the budget.
    """

    text: str
    memory_ids: tuple[int, ...]
    eligible: int
    tokens: int
    budget_tokens: int


async def build_memory_context(
    sql: OperationalStatements,
    *,
    budget_tokens: int,
    services: Sequence[str] = (),
    holds: Callable[[str], bool] = lambda _: False,
) -> MemoryContext:
    """Read memories until the budget is spent, and render them.

    ``sql`` is one consistent view, so that its pages fit together. The memories of ``services`` are chosen first. A
    memory for whose text ``holds`` returns true is in quarantine and not shown.
    """
    builder = BlockBuilder(
        eligible=await sql.count_eligible(threshold=float(ACTIVE_THRESHOLD)),
        budget_tokens=budget_tokens,
        holds=holds,
    )
    if services:
        await _offer(sql, builder, services=f",{','.join(services).lower()},")
    await _offer(sql, builder, services="")
    return builder.build()


async def _offer(sql: OperationalStatements, builder: "BlockBuilder", *, services: str) -> None:
    """Offer memories page by page while there is room; ``services`` as in the statement ``eligible``."""
    last: Candidate | None = None
    while builder.room > 0:
        # The remaining room is smaller than a page of memories, so the rest need not be read.
        page = builder.room // SHORTEST_BULLET_CHARS + 1
        rows = await sql.eligible(
            threshold=float(ACTIVE_THRESHOLD),
            max_chars=builder.room,
            services=services,
            after_confidence=last.confidence if last else 2.0,
            after_updated_at=last.updated_at if last else "",
            after_id=last.id if last else 0,
            limit=page,
        )
        for row in rows:
            last = read_row(Candidate, row)
            builder.offer(last)
        if len(rows) < page:
            return


def render_heading(name: str) -> str:
    """Return the heading of a service's group."""
    return f"### {name}"


def render_bullet(candidate: Candidate) -> str:
    """Return a memory as one line of data without markers.

    A marker in an observation loses its bracket, so that an agent that repeats the block does not store it again. A
    contradicted memory is marked, because it may still have more confidence than the memory that contradicts it.
    """
    observation = _MARKER.sub("(", data_line(candidate.observation))
    mark = " (contradicted later)" if candidate.correction is not None else ""
    return f"- [{candidate.category}] {observation} (confidence: {format_confidence(candidate.confidence)}){mark}"


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
    """

    def __init__(
        self, *, eligible: int, budget_tokens: int, holds: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._eligible = eligible
        self._holds = holds
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

    def offer(self, candidate: Candidate) -> None:
        """Take a memory if it fits together with its service's heading; skip taken and quarantined memories."""
        if len(candidate.observation) > self.room:
            return
        if candidate.correction is not None and self._holds(candidate.correction):
            candidate = replace(candidate, correction=None)
        name = candidate.service or GENERAL
        key = name.casefold()
        bullet = render_bullet(candidate)
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
