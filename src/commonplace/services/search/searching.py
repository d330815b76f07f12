"""One search over all four memories; without a query, their newest items."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings
from commonplace.knowledge import measure_likeness
from commonplace.language.literal import QueryWord, query_words
from commonplace.language.time_questions import TimeQuestion, read_time_question
from commonplace.language.times import TimeReader, TimeSpan
from commonplace.services.briefing import DEFAULT_TIMEOUT_S, BriefingPart
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.services.search import ranking
from commonplace.services.search.items import (
    EVERY_MEMORY,
    LIMIT,
    MAX_QUERY_CHARS,
    PARTS,
    ListedMemory,
    MemoryResults,
    SearchCriteria,
)
from commonplace.services.search.reading import ItemRequest, alike, find_topic, readers


async def search_all(
    memories: Memories,
    query: str = "",
    *,
    criteria: SearchCriteria = EVERY_MEMORY,
    parts: Collection[BriefingPart] = PARTS,
    limit: int = LIMIT,
) -> MemoryResults:
    """Return the items of all memories that match a query, or the newest items for an empty query.

    Every item that holds a word of the query, or a part of a word, is found; memories that are alike follow. Quotes
    make several words one phrase. A question that names only a time, such as "what happened today?", lists what was
    stored then. Forgotten, expired and superseded memories are not found. Searching does not count as a use.

    If a memory fails or takes too long, the result says why, and the other memories are not affected.

    Only the first 1,000 characters of the query count.
    """
    return await search_opened(
        OpenedMemories.of(memories),
        query,
        times=memories.knowledge.times,
        criteria=criteria,
        parts=parts,
        limit=limit,
    )


async def search_opened(
    opened: OpenedMemories,
    query: str = "",
    *,
    times: TimeReader,
    criteria: SearchCriteria = EVERY_MEMORY,
    parts: Collection[BriefingPart] = PARTS,
    limit: int = LIMIT,
) -> MemoryResults:
    """Search memories that may not all be open; see :func:`search_all`.

    ``times`` reads the words of time of the query.
    """
    search = _Search(opened=opened, times=times, criteria=criteria, parts=parts, limit=limit)
    return await search.run(query)


async def search_home(
    settings: Settings, query: str = "", *, criteria: SearchCriteria = EVERY_MEMORY, limit: int = LIMIT
) -> MemoryResults:
    """Open the memories of the settings, search all of them, and close them.

    The result says why a memory cannot be opened. See :func:`search_all`.
    """
    async with AsyncExitStack() as stack:
        return await search_opened(
            await OpenedMemories.open(stack, settings),
            query,
            times=TimeReader(clock=utc_now, zone=settings.zone),
            criteria=criteria,
            limit=limit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    opened: OpenedMemories
    times: TimeReader
    criteria: SearchCriteria
    parts: Collection[BriefingPart]
    limit: int

    async def run(self, query: str) -> MemoryResults:
        """Return what a query finds."""
        query = query.strip()[:MAX_QUERY_CHARS]
        question = read_time_question(query, now=self.times.clock(), zone=self.times.zone)
        if question is not None:
            return await self._at(question, query)
        if query:
            return await self._matching(query)
        return await self._newest(self.criteria)

    async def _at(self, question: TimeQuestion, query: str) -> MemoryResults:
        """Return what was stored at a time; if the query may be words of a memory, what holds them follows."""
        listed = await self._newest(_within(self.criteria, question.span))
        if not question.is_bare:
            return replace(listed, period=question.span)
        held = await self._holding(query)
        known = {(each.kind, each.id) for each in listed.items}
        items = [*listed.items, *(each for each in held.items if (each.kind, each.id) not in known)]
        return replace(
            listed,
            period=question.span,
            items=tuple(items[: self.limit]),
            has_more=listed.has_more or held.has_more or len(items) > self.limit,
        )

    async def _newest(self, criteria: SearchCriteria) -> MemoryResults:
        request = await self._request(criteria=criteria)
        items, problems = await self._read(request)
        items.sort(key=lambda each: (-each.at.timestamp(), each.kind, each.id))
        return MemoryResults(
            items=tuple(items[: self.limit]), has_more=len(items) > self.limit, problems=problems
        )

    async def _matching(self, query: str) -> MemoryResults:
        """Return the items that hold words of a query, and behind them memories that are alike."""
        held = await self._holding(query)
        room = self.limit - len(held.items)
        if room <= 0 or self.criteria.about or BriefingPart.KNOWLEDGE not in self.parts:
            return held
        request = ItemRequest(words=(), criteria=self.criteria, topic=None, limit=self.limit)
        try:
            async with asyncio.timeout(DEFAULT_TIMEOUT_S):
                near = await alike(self.opened.knowledge(), query, request)
        except (TimeoutError, CommonplaceError, OSError) as error:
            problem = {BriefingPart.KNOWLEDGE: _reason(error)}
            return replace(held, problems={**problem, **held.problems})
        known = {each.id for each in held.items}
        fresh = [ranking.Match(item=each, shares=()) for each in near if each.id not in known]
        return replace(held, items=(*held.items, *(await self._scored(query, fresh[:room]))))

    async def _holding(self, query: str) -> MemoryResults:
        words = query_words(query)
        items, problems = await self._read(await self._request(words, criteria=self.criteria))
        matches = ranking.by_words([ranking.match(each, words) for each in items], words)
        return MemoryResults(
            items=tuple(await self._scored(query, matches[: self.limit])),
            has_more=len(matches) > self.limit,
            problems=problems,
        )

    async def _request(self, words: Sequence[QueryWord] = (), *, criteria: SearchCriteria) -> ItemRequest:
        """Return a request for one more item than the limit, which shows that more items match."""
        topic = await find_topic(self.opened, criteria.about)
        return ItemRequest(words=words, criteria=criteria, topic=topic, limit=self.limit + 1)

    async def _read(self, request: ItemRequest) -> tuple[list[ListedMemory], dict[BriefingPart, str]]:
        """Return the items of all memories, and why a memory could not answer."""
        reads = readers(self.opened, request)
        asked = [part for part in PARTS if part in self.parts]
        answers = await asyncio.gather(*(_guarded(reads[part]) for part in asked))
        items = [item for answer in answers if not isinstance(answer, str) for item in answer]
        problems = {part: each for part, each in zip(asked, answers, strict=True) if isinstance(each, str)}
        return items, problems

    async def _scored(self, query: str, matches: Sequence[ranking.Match]) -> list[ListedMemory]:
        """Return items in the order of their scores; without an embedding model, likeness does not count."""
        words = query_words(query)
        likeness: list[float] | list[None] = [None] * len(matches)
        try:
            async with asyncio.timeout(DEFAULT_TIMEOUT_S):
                engine = self.opened.knowledge().engine
                likeness = await measure_likeness(engine, query, [each.item.words for each in matches])
        except (TimeoutError, CommonplaceError, OSError):
            pass  # The search of knowledge memory needs the model too, and says why it failed.
        return ranking.in_order(
            [
                ranking.scored(each, words if each.shares else (), near)
                for each, near in zip(matches, likeness, strict=True)
            ]
        )


async def _guarded(read: Callable[[], Awaitable[Sequence[ListedMemory]]]) -> Sequence[ListedMemory] | str:
    """Return the items of a memory, or why it cannot answer."""
    try:
        async with asyncio.timeout(DEFAULT_TIMEOUT_S):
            return await read()
    except (TimeoutError, CommonplaceError, OSError) as error:
        return _reason(error)


def _reason(error: Exception) -> str:
    return f"no answer within {DEFAULT_TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else str(error)


def _within(criteria: SearchCriteria, span: TimeSpan) -> SearchCriteria:
    """Return criteria that also narrow to a time."""
    moments = [each for each in (criteria.since, span.start) if each is not None]
    ends = [each for each in (criteria.until, span.end) if each is not None]
    return replace(criteria, since=max(moments), until=min(ends))
