"""One search over all four memories; without a query, the newest items of each memory.

Knowledge memory finds and ranks by its own search and minimum relevance. Operational, app and workspace memory hold
short texts, which are found by the words of the query; a rare word counts more than a common one. All found items are
then compared by one likeness with the query: the memory with the most alike item comes first.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from commonplace.apps.memory import AppMemory
from commonplace.core.errors import CommonplaceError
from commonplace.core.settings import Settings
from commonplace.knowledge import (
    EVERYTHING,
    Episode,
    Fact,
    KnowledgeMemory,
    Memory,
    Narrowing,
    SearchMode,
    measure_likeness,
)
from commonplace.language.scripts import fold
from commonplace.language.stems import stem
from commonplace.language.words import STOPWORDS, tokens
from commonplace.operational import GENERAL, Lesson, MemoryFilter, OperationalMemory
from commonplace.services.briefing import DEFAULT_TIMEOUT_S, BriefingPart
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import Memories, OpenedMemories
from commonplace.workspace import WorkspaceMemory

PARTS: Final = (BriefingPart.KNOWLEDGE, BriefingPart.OPERATIONAL, BriefingPart.APPS, BriefingPart.WORKSPACE)

LIMIT: Final = 10
"""The maximum number of items of each memory."""

MAX_QUERY_CHARS: Final = 1_000

_MOST_WORDS: Final = 12
_MOST_ENTITIES: Final = 200
_MOST_READ: Final = 10_000
_SHARE_OF_BEST: Final = 0.5
"""Matches by words below this share of the best score are left out."""

_PARTS_OF_WORD: Final = re.compile(r"['.:/-]")


_FOUND_BY_WORDS: Final = frozenset({MemoryKind.LESSON, MemoryKind.DIGEST, MemoryKind.NOTE})
"""Kinds of items that have no search by meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMemory:
    """One item of a memory.

    Attributes:
        id: Its id, which the commands of its memory take.
        about: The service, app, scope or type that it belongs to; may be empty.
        at: When it was stored.
        why: Why the query found the item; empty without a query.
        likeness: With the query, the same measure for items of all memories: 0.0 is nothing in common, 1.0 the same
            topic, more with rare words in common. ``None`` without a query or an embedding model.
    """

    kind: MemoryKind
    id: str
    text: str
    about: str
    at: datetime
    why: str = ""
    likeness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResults:
    """The items of one memory.

    Attributes:
        items: Of knowledge memory, in the order of its search; of the others, the most alike first. Without a query,
            the newest first.
        problem: Why the memory could not answer; ``None`` if it did.
    """

    memory: BriefingPart
    items: tuple[ListedMemory, ...] = ()
    problem: str | None = None


async def search_all(
    memories: Memories,
    query: str = "",
    *,
    parts: Collection[BriefingPart] = PARTS,
    limit: int = LIMIT,
    as_of: datetime | None = None,
) -> list[MemoryResults]:
    """Return the items of each memory that match a query, or its newest items for an empty query.

    If a memory fails or takes too long, its result says why, and the other memories are not affected. Searching does
    not count as a use.

    Only the first 1,000 characters of the query count. ``limit`` is the maximum number of items of each memory. With
    ``as_of``, knowledge memory returns what was known at that moment; the other memories keep no such history.

    Returns:
        The results of each memory, that with the most alike item first; without a query, in the order of ``PARTS``.
    """
    opened, narrowing = OpenedMemories.of(memories), Narrowing(as_of=as_of)
    return await search_opened(opened, query, parts=parts, limit=limit, narrowing=narrowing)


async def search_home(settings: Settings, query: str = "", *, limit: int = LIMIT) -> list[MemoryResults]:
    """Open the memories of the settings, search all of them, and close them.

    The result of a memory that cannot be opened says why. See :func:`search_all`.
    """
    async with AsyncExitStack() as stack:
        opened = await OpenedMemories.open(stack, settings)
        return await search_opened(opened, query, limit=limit)


async def search_opened(
    opened: OpenedMemories,
    query: str = "",
    *,
    parts: Collection[BriefingPart] = PARTS,
    limit: int = LIMIT,
    narrowing: Narrowing = EVERYTHING,
) -> list[MemoryResults]:
    """Search memories that may not all be open. The narrowing is for knowledge memory; see :func:`search_all`."""
    wanted = query.strip()[:MAX_QUERY_CHARS]
    readers: Mapping[BriefingPart, Callable[[], Awaitable[Sequence[ListedMemory]]]] = {
        BriefingPart.KNOWLEDGE: lambda: _knowledge(opened.knowledge(), wanted, limit, narrowing),
        BriefingPart.OPERATIONAL: lambda: _lessons(opened.operational(), wanted, limit),
        BriefingPart.APPS: lambda: _digests(opened.apps(), wanted, limit),
        BriefingPart.WORKSPACE: lambda: _notes(opened.workspace(), wanted, limit),
    }
    asked = [part for part in PARTS if part in parts]
    results = list(await asyncio.gather(*(_guarded(part, readers[part]) for part in asked)))
    return await _most_alike_first(opened, wanted, results) if wanted else results


async def _most_alike_first(
    opened: OpenedMemories, query: str, results: Sequence[MemoryResults]
) -> list[MemoryResults]:
    """Return the results with the likeness of their items, in its order; unchanged without an embedding model."""
    texts = [_compared(item) for found in results for item in found.items]
    try:
        async with asyncio.timeout(DEFAULT_TIMEOUT_S):
            alike = iter(await measure_likeness(opened.knowledge().engine, query, texts))
    except (TimeoutError, CommonplaceError, OSError):
        return list(results)  # The search of knowledge memory needs the model too, and says why it failed.
    measured = [
        replace(found, items=tuple(_measured(item, next(alike)) for item in found.items)) for found in results
    ]
    return sorted(map(_in_order, measured), key=lambda found: -max(map(_likeness, found.items), default=0.0))


def _measured(item: ListedMemory, likeness: float) -> ListedMemory:
    why = f"{item.why} Its likeness with the query is {likeness:.2f}."
    return replace(item, likeness=round(likeness, 4), why=why)


def _in_order(found: MemoryResults) -> MemoryResults:
    """Return results in the order of their likeness; the search of knowledge memory knows more than the likeness."""
    if found.memory is BriefingPart.KNOWLEDGE:
        return found
    return replace(found, items=tuple(sorted(found.items, key=lambda item: -_likeness(item))))


def _likeness(item: ListedMemory) -> float:
    return item.likeness or 0.0


async def _guarded(
    part: BriefingPart, read: Callable[[], Awaitable[Sequence[ListedMemory]]]
) -> MemoryResults:
    try:
        async with asyncio.timeout(DEFAULT_TIMEOUT_S):
            return MemoryResults(memory=part, items=tuple(await read()))
    except TimeoutError:
        return MemoryResults(memory=part, problem=f"no answer within {DEFAULT_TIMEOUT_S:g} s")
    except (CommonplaceError, OSError) as error:
        return MemoryResults(memory=part, problem=str(error))


async def _knowledge(
    knowledge: KnowledgeMemory, query: str, limit: int, narrowing: Narrowing
) -> list[ListedMemory]:
    if not query:
        validity = "active" if narrowing.as_of is None else None
        facts = await knowledge.lists.facts(validity=validity, narrowing=narrowing, limit=limit)
        if narrowing.as_of is not None:
            return [_memory(one) for one in facts]
        rules = await knowledge.lists.rules(forgotten=False, narrowing=narrowing, limit=limit)
        episodes = await knowledge.lists.episodes(live=True, narrowing=narrowing, limit=limit)
        newest = sorted([*facts, *rules, *episodes], key=lambda one: one.created_at, reverse=True)
        return [_memory(one) for one in newest[:limit]]
    found = await knowledge.search(
        query,
        mode=SearchMode.CONTEXTUAL,
        limit=limit,
        min_relevance=knowledge.config.retrieval.min_relevance,
        narrowing=narrowing,
        explain=True,
    )
    # Entities belong to no scope.
    entities = await _entities(knowledge, query, limit) if narrowing.scope is None else []
    whys = ((each.memory, each.explanation.why if each.explanation else "") for each in found)
    return [*entities, *(replace(_memory(memory), why=why) for memory, why in whys)]


async def _entities(knowledge: KnowledgeMemory, query: str, limit: int) -> list[ListedMemory]:
    """Return the entities with a word of the query in one of their names; those with the most words first."""
    words = dict(list(_words(query).items())[:_MOST_WORDS])
    if not words:
        return []
    ranked: list[tuple[int, ListedMemory]] = []
    for one in await knowledge.lists.entities(name=list(words), limit=_MOST_ENTITIES):
        names = fold(" ".join([one.canonical_name, *one.aliases]))
        held = [f"“{typed}”" for word, typed in words.items() if word in names]
        item = ListedMemory(
            kind=MemoryKind.ENTITY,
            id=str(one.id),
            text=one.canonical_name,
            about=one.entity_type,
            at=one.created_at,
            why=f"Its name contains {', '.join(held)}.",
        )
        ranked.append((len(held), item))
    ranked.sort(key=lambda each: -each[0])
    return [item for _, item in ranked[:limit]]


def _memory(memory: Memory) -> ListedMemory:
    if isinstance(memory, Episode):
        text, about = memory.content, memory.butler
    else:
        about = memory.scope
        text = (
            f"{memory.subject} {memory.predicate}: {memory.content}"
            if isinstance(memory, Fact)
            else memory.content
        )
    return ListedMemory(
        kind=MemoryKind(memory.memory_type), id=str(memory.id), text=text, about=about, at=memory.created_at
    )


async def _lessons(operational: OperationalMemory, query: str, limit: int) -> list[ListedMemory]:
    if not query:
        return [_lesson(one) for one in await operational.figures.newest(limit=limit)]
    active = MemoryFilter(active=True, sort="confidence", limit=_MOST_READ)
    return _best([_lesson(one) for one in await operational.list_memories(active)], query, limit)


def _lesson(one: Lesson) -> ListedMemory:
    about = one.service or GENERAL
    return ListedMemory(
        kind=MemoryKind.LESSON, id=str(one.id), text=one.observation, about=about, at=one.created_at
    )


async def _digests(apps: AppMemory, query: str, limit: int) -> list[ListedMemory]:
    items = [
        ListedMemory(
            kind=MemoryKind.DIGEST, id=str(one.id), text=one.content, about=one.app_id, at=one.created_at
        )
        for one in await apps.figures.newest(limit=_MOST_READ if query else limit)
    ]
    return _best(items, query, limit) if query else items


async def _notes(workspace: WorkspaceMemory, query: str, limit: int) -> list[ListedMemory]:
    items = [
        ListedMemory(
            kind=MemoryKind.NOTE, id=one.id, text=one.text, about=", ".join(one.tags), at=one.created_at
        )
        for one in (await workspace.search(limit=None if query else limit)).memories
    ]
    return _best(items, query, limit) if query else items


def _compared(item: ListedMemory) -> str:
    """Return the text that is compared with a query, with the service of a lesson or the app of a digest."""
    return f"{item.about} {item.text}" if item.kind in _FOUND_BY_WORDS else item.text


def _words(text: str) -> dict[str, str]:
    """Return the stems of the relevant words of a text, each with the word as written."""
    parts = (part for token in tokens(text) for part in (token, *_PARTS_OF_WORD.split(token)))
    return {stem(part): part for part in parts if part and part not in STOPWORDS}


def _best(items: Sequence[ListedMemory], query: str, limit: int) -> list[ListedMemory]:
    """Return the items that contain words of the query, rarest words first; ties: newest first.

    The weight of a word is ``ln(1 + items / items that contain it)``.
    """
    wanted = list(_words(query))[:_MOST_WORDS]
    texts = [_words(_compared(item)) for item in items]
    weights = {word: math.log1p(len(items) / max(1, sum(word in text for text in texts))) for word in wanted}
    scored: list[tuple[float, ListedMemory]] = []
    for item, text in zip(items, texts, strict=True):
        shared = [word for word in wanted if word in text]
        if shared:
            words = ", ".join(f"“{text[word]}”" for word in shared)
            scored.append((sum(weights[word] for word in shared), replace(item, why=f"It contains {words}.")))
    scored.sort(key=lambda one: (-one[0], -one[1].at.timestamp()))
    floor = _SHARE_OF_BEST * scored[0][0] if scored else 0.0
    return [item for score, item in scored[:limit] if score >= floor]
