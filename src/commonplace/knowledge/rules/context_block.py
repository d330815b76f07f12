"""The block of facts and rules that goes into a prompt, within its budget. Pure.

Pinned memories come first and have their own limit; a pinned memory that is too long is shortened. Each other section
first takes its best memories, up to its reserve, so that facts cannot crowd out rules. Then memories of both sections
are taken in the order of their scores. The line of a long text shows an excerpt. A memory that does not fit is
skipped, so that it does not exclude shorter ones. Each memory takes one line. Short ids use the remaining room.
Source: KNW-20, KNW-34.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Final
from uuid import UUID

from commonplace.core.budgets import budget_chars
from commonplace.core.text import trim_to
from commonplace.knowledge.model.kinds import Fact, Memory, MemoryType, Rule
from commonplace.knowledge.model.quotas import BlockPart, ContextQuotas, SectionQuota
from commonplace.knowledge.model.short_ids import short_id
from commonplace.knowledge.rules.deduplication import is_outranked, same_words
from commonplace.knowledge.rules.excerpt import excerpt
from commonplace.knowledge.rules.occasions import without_occasions
from commonplace.knowledge.rules.passages import PassageSpan
from commonplace.knowledge.rules.safety import tells_of_danger
from commonplace.prompts.data_lines import data_line

CONTEXT_HEADER: Final = "# Memory Context\n"
NOTE: Final = (
    "Noted in earlier sessions; today is {today}. Facts are claims heard earlier, less certain with age: what the user "
    "says now wins. Rules are the user's wishes and lessons: follow them where they fit; 0.00 means untried. "
    "To correct a fact, store the right one under the same subject and predicate.\n"
)
"""The text names no tool, because a host may offer the memory under other names."""

IDS_NOTE: Final = (
    " A line ends with the id of its memory, such as [f:3k7q2]: pass it to the tools that confirm a memory, mark a "
    "rule as helpful or harmful, or forget a memory."
)
NOTE_FROM_CHARS: Final = 1_000
"""A smaller budget has no room for the note."""

BESIDE_CHARS: Final = 200
"""The maximum length of the text of another fact in a line."""

NONE_UNTIL: Final[Mapping[UUID, Fact]] = MappingProxyType({})
NONE_FOLDED: Final[Mapping[UUID, Sequence[Memory]]] = MappingProxyType({})
NO_PASSAGES: Final[Mapping[UUID, PassageSpan]] = MappingProxyType({})
NONE_OPPOSED: Final[Mapping[UUID, UUID]] = MappingProxyType({})

LONG_CHARS: Final = 1_500
"""A longer text of a recalled memory is shown as an excerpt, as is a shorter one that does not fit."""

EXCERPT_CHARS: Final = 600

LEAST_SHORTENED: Final = 80
"""The minimum length to which the text of a pinned memory is shortened."""


HEADINGS: Final[Mapping[BlockPart, str]] = {
    BlockPart.PINNED: "\n## Pinned\n",
    BlockPart.FACTS: "\n## Key Facts\n",
    BlockPart.RULES: "\n## Active Rules\n",
}
_PARTS: Final = {MemoryType.FACT: BlockPart.FACTS, MemoryType.RULE: BlockPart.RULES}

MAX_LINES: Final = 20
"""Source: KNW-20.3."""


MORE_LINES: Final = 60
"""The maximum number of lines that fill a budget beyond that: 80 lines take about the budget of a briefing."""

DEFAULT_QUOTAS: Final = ContextQuotas()
FILLING_QUOTAS: Final = ContextQuotas(
    facts=SectionQuota(items=MAX_LINES + MORE_LINES), rules=SectionQuota(items=MAX_LINES + MORE_LINES)
)
"""The quotas of a filled block, unless a host sets its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStyle:
    """The additions to the lines of a block.

    Attributes:
        note: Whether to explain the lines, if there is room; a caller that explains several blocks at once leaves the
            note out.
        ids: Whether lines end with a short id for feedback, such as ``[f:3k7q2]``, as far as there is room, and name
            the memories that they stand for: ``[f:3k7q2, also f:9m4xc]``, or another value of the same key, or a memory
            that it may contradict.
        dates: Whether lines show the date of the last confirmation of their memory.
        sources: Whether lines name the source of the memory.
        filled: Whether memories that are relevant to a prompt fill the budget, past the number of lines that the
            specification sets.
        by_use: Whether a recent use ranks a memory higher, as in the specified score.
    """

    note: bool = True
    ids: bool = False
    dates: bool = False
    sources: bool = False
    filled: bool = False
    by_use: bool = True


DEFAULT_STYLE: Final = BlockStyle()


class _Section:
    """The lines of a section, and its remaining room."""

    def __init__(self, part: BlockPart, quota: SectionQuota, budget: int) -> None:
        self._heading = HEADINGS[part]
        self._items = quota.items
        self._room = int(budget * quota.share)
        self._lines: dict[int, str] = {}

    def room_for_line(self, room: int) -> int:
        """Return the maximum length of another line, given the remaining room of the whole block."""
        if len(self._lines) >= self._items:
            return 0
        return min(self._room, room) - (0 if self._lines else len(self._heading))

    def take(self, place: int, line: str, room: int) -> int:
        """Add a line if the section and the block have room for it; return the number of characters that it took."""
        if len(line) > self.room_for_line(room):
            return 0
        cost = len(line) + (0 if self._lines else len(self._heading))
        self._lines[place] = line
        self._room -= cost
        return cost

    def extend(self, place: int, tail: str, room: int) -> int:
        """Add a text to the end of a line if there is room; return the number of characters that it took."""
        if len(tail) > min(self._room, room):
            return 0
        self._lines[place] = f"{self._lines[place][:-1]}{tail}\n"
        self._room -= len(tail)
        return len(tail)

    def render(self) -> str:
        """Return the heading and the lines in the order of their places."""
        lines = [line for _, line in sorted(self._lines.items())]
        return "".join([self._heading, *lines]) if lines else ""


class _Body:
    """The sections, and their remaining room together."""

    def __init__(
        self,
        budget: int,
        room: int,
        quotas: ContextQuotas,
        *,
        topic: str,
        today: date,
        style: BlockStyle,
        stale: Collection[UUID],
        until: Mapping[UUID, Fact],
        folded: Mapping[UUID, Sequence[Memory]],
        opposed: Mapping[UUID, UUID],
        passages: Mapping[UUID, PassageSpan],
    ) -> None:
        self._sections = {part: _Section(part, getattr(quotas, part), budget) for part in BlockPart}
        self._room = room
        self._topic = topic
        self._today = today
        self._style = style
        self._stale = stale
        self._until = until
        self._folded = folded
        self._opposed = opposed if style.ids else NONE_OPPOSED
        self._passages = passages
        self._equal: dict[Hashable, list[Memory]] = {}
        self.shown: list[tuple[BlockPart, int, Fact | Rule]] = []

    def take(self, part: BlockPart, place: int, memory: Fact | Rule) -> None:
        """Add the line of a memory to a section if it fits, with less of its text if the text is long."""
        line = self._line(memory)
        room = self._sections[part].room_for_line(self._room)
        text = self._shortened(part, memory, len(line) - room) if room > 0 else memory.content
        if text != memory.content:
            line = self._line(replace(memory, content=text))
        took = self._sections[part].take(place, line, self._room)
        if took:
            self._room -= took
            self.shown.append((part, place, memory))

    def _shortened(self, part: BlockPart, memory: Fact | Rule, excess: int) -> str:
        """Return the text for a line that is ``excess`` characters too long.

        A pinned memory keeps as much of its beginning as fits. Of a long fact, the passage about the topic is shown.
        Rules, and facts on which somebody's safety may depend, keep their beginning, which says whether the rest is
        wanted or forbidden.
        """
        text = _text_of(memory)
        if part is BlockPart.PINNED:
            length = len(text) - excess
            return trim_to(text, length) if excess > 0 and length >= LEAST_SHORTENED else text
        if excess <= 0 and len(text) <= LONG_CHARS:
            return text
        if isinstance(memory, Rule) or tells_of_danger(memory):
            return trim_to(text, EXCERPT_CHARS)
        return excerpt(text, self._topic, EXCERPT_CHARS, nearest=self._passages.get(memory.id))

    def _line(self, memory: Fact | Rule) -> str:
        return render_line(
            memory,
            today=self._today,
            with_date=self._style.dates,
            with_source=self._style.sources,
            is_stale=memory.id in self._stale,
            until=self._until.get(memory.id),
            others=self._others(memory) if self._style.ids else (),
            opposed=self._opposed.get(memory.id),
        )

    def _others(self, memory: Fact | Rule) -> Sequence[Memory]:
        """Return the other values of a key for which the line of a memory stands, but those that are less trusted."""
        folded = self._folded.get(memory.id)
        if not folded:
            return ()
        words = same_words(memory)
        return [each for each in folded if same_words(each) != words and not is_outranked(each, memory)]

    def fold(self, memory: Memory) -> None:
        """Note a memory whose words have a line already."""
        self._equal.setdefault(same_words(memory), []).append(memory)

    def _equals(self, memory: Memory) -> Iterable[Memory]:
        """Return a memory and those with its words that have no line, each once."""
        if not self._equal and not self._folded:
            return (memory,)
        words = same_words(memory)
        equal = [memory, *self._equal.get(words, ())]
        behind = [other for each in equal for other in self._folded.get(each.id, ())]
        same = [other for other in behind if same_words(other) == words]
        return {each.id: each for each in (*equal, *same)}.values()

    def add_ids(self) -> None:
        """Add short ids to the lines in the order in which they were taken, as far as there is room."""
        for part, place, memory in self.shown:
            own, *ids = [short_id(each.memory_type, each.id) for each in self._equals(memory)]
            for tail in (f" [{', also '.join([own, *ids])}]", f" [{own}]"):
                if took := self._sections[part].extend(place, tail, self._room):
                    self._room -= took
                    break

    def render(self) -> str:
        """Return the sections in their order."""
        return "".join(section.render() for section in self._sections.values())


def render_context(
    memories: Sequence[Fact | Rule],
    *,
    pinned: Sequence[Fact | Rule] = (),
    budget_tokens: int,
    today: date,
    topic: str = "",
    limit: int = MAX_LINES,
    quotas: ContextQuotas = DEFAULT_QUOTAS,
    style: BlockStyle = DEFAULT_STYLE,
    stale: Collection[UUID] = (),
    until: Mapping[UUID, Fact] = NONE_UNTIL,
    folded: Mapping[UUID, Sequence[Memory]] = NONE_FOLDED,
    opposed: Mapping[UUID, UUID] = NONE_OPPOSED,
    passages: Mapping[UUID, PassageSpan] = NO_PASSAGES,
    told: Callable[[UUID], object] | None = None,
) -> str:
    """Render pinned memories, and recalled facts and rules.

    Args:
        memories: The recalled memories, the best first.
        pinned: The pinned memories, the most important first. Of equal texts, the first is shown.
        budget_tokens: The budget in tokens of four characters.
        today: The date for the note.
        topic: The prompt, for excerpts of long texts.
        limit: The maximum number of lines of recalled memories.
        quotas: The quotas of the sections.
        style: The additions to the lines.
        stale: The ids of the memories whose source no longer holds; their lines say so.
        until: The facts that hold until a fact begins, by the id of the later fact; its line shows their text.
        folded: The memories that a memory stands for, by its id.
        opposed: The memory that a memory may contradict, by its id; with ids, its line says so.
        passages: The passage of a long memory that is nearest to the prompt in meaning, by the memory's id.
        told: Receives the id of each memory with a line.

    Returns:
        Markdown of at most ``budget_tokens * 4`` characters; empty if not even the header fits.
    """
    budget = budget_chars(budget_tokens)
    if budget < len(CONTEXT_HEADER):
        return ""
    note = _note(today, with_ids=style.ids) if style.note and budget >= NOTE_FROM_CHARS else ""
    body = _Body(
        budget,
        budget - len(CONTEXT_HEADER) - len(note),
        quotas,
        topic=topic,
        today=today,
        style=style,
        stale=stale,
        until=until,
        folded=folded,
        opposed=opposed,
        passages=passages,
    )
    _take_pinned(body, pinned)
    _take(body, memories, _order_of_taking(memories, quotas), limit=limit)
    if style.ids:
        body.add_ids()
    if told is not None:
        for _, _, memory in body.shown:
            told(memory.id)
    return f"{CONTEXT_HEADER}{note}{body.render()}" if body.shown else CONTEXT_HEADER


def _take_pinned(body: _Body, pinned: Sequence[Fact | Rule]) -> None:
    """Take the pinned memories; of equal texts, one line names the others."""
    texts: set[Hashable] = set()
    for place, memory in enumerate(pinned):
        words = same_words(memory)
        if words in texts:
            body.fold(memory)
        else:
            texts.add(words)
            body.take(BlockPart.PINNED, place, memory)


def _take(body: _Body, memories: Sequence[Fact | Rule], places: Iterable[int], *, limit: int) -> None:
    """Take recalled memories until ``limit`` lines are added; of equal texts, one line names the others."""
    texts = {same_words(memory) for _, _, memory in body.shown}
    most = len(body.shown) + limit
    for place in places:
        memory = memories[place]
        words = same_words(memory)
        if words in texts:
            body.fold(memory)
        elif len(body.shown) < most:
            texts.add(words)
            body.take(_PARTS[memory.memory_type], place, memory)


def _note(today: date, *, with_ids: bool) -> str:
    note = NOTE.format(today=today.isoformat())
    return f"{note.rstrip()}{IDS_NOTE}\n" if with_ids else note


def _order_of_taking(memories: Sequence[Fact | Rule], quotas: ContextQuotas) -> list[int]:
    """Return the places of the memories, first those within a reserve, then the others, both by score."""
    left = {MemoryType.FACT: quotas.facts.reserve, MemoryType.RULE: quotas.rules.reserve}
    reserved: list[int] = []
    for place, memory in enumerate(memories):
        if left[memory.memory_type] > 0:
            left[memory.memory_type] -= 1
            reserved.append(place)
    others = set(range(len(memories))).difference(reserved)
    return [*reserved, *sorted(others)]


def render_line(
    memory: Fact | Rule,
    *,
    today: date,
    with_date: bool = False,
    with_source: bool = False,
    is_stale: bool = False,
    until: Fact | None = None,
    others: Iterable[Memory] = (),
    opposed: UUID | None = None,
) -> str:
    """Return a fact or rule as one line in the form of the specification; a fact has its confidence of today.

    The line of a fact that begins in the future always says when, and which fact holds until then. ``others`` are
    other values of the same key, and ``opposed`` is a memory that it may contradict; the line names them.
    """
    content = data_line(_text_of(memory))
    flag = f", source: {memory.trust}" if with_source else ""
    flag += ", its source has changed" if is_stale else ""
    flag += "".join(f", other value: {_beside(each)}" for each in others)
    flag += "" if opposed is None else f", may contradict {short_id(memory.memory_type, opposed)}"
    seen = f", as of {memory.last_confirmed_at or memory.created_at:%Y-%m-%d}" if with_date else ""
    if isinstance(memory, Rule):
        standing = f"maturity: {memory.maturity}, effectiveness: {memory.effectiveness_score:.2f}{seen}{flag}"
        return f"- {content} ({standing})\n"
    subject, predicate = _bracketed(memory.subject), _bracketed(memory.predicate)
    begins = memory.valid_from
    if begins is not None and (begins.date() > today or until is not None):
        heard = f", from {begins:%Y-%m-%d}"
        heard += "" if until is None else f", until then: {_beside(until)}"
    else:
        heard = seen
    return (
        f"- {subject} {predicate}: {content} (confidence: {memory.effective_confidence:.2f}{heard}{flag})\n"
    )


def _text_of(memory: Fact | Rule) -> str:
    """Return what a reader needs of a memory: a rule without its occasions."""
    return without_occasions(memory.content) if isinstance(memory, Rule) else memory.content


def _beside(memory: Memory) -> str:
    """Return the text of another memory for the end of a line, without parentheses of its own."""
    return trim_to(data_line(memory.content), BESIDE_CHARS).replace("(", "[").replace(")", "]")


def _bracketed(text: str) -> str:
    """Return a text in brackets, without brackets of its own."""
    return f"[{data_line(text).replace('[', '(').replace(']', ')')}]"
