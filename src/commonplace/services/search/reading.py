"""The items that each memory contributes to a search."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from commonplace.apps.memory import AppMemory
from commonplace.core.errors import CommonplaceError
from commonplace.knowledge import (
    AboutFilter,
    Episode,
    Fact,
    KnowledgeMemory,
    ListedEntity,
    Memory,
    MemoryType,
    Narrowing,
    SearchMode,
)
from commonplace.language.literal import BareText, QueryWord, phrase_word
from commonplace.operational import GENERAL, MemoryFilter, OperationalMemory
from commonplace.services.briefing import DEFAULT_TIMEOUT_S, BriefingPart
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.opening import OpenedMemories
from commonplace.services.search.items import MAX_LIMIT, ListedMemory, SearchCriteria
from commonplace.workspace import WorkspaceMemory

_MOST_NAMES: Final = 20
_EVERY: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRequest:
    """What a search reads from each memory.

    Attributes:
        words: The words of the query; none for the newest items.
        criteria: What narrows the search.
        topic: The names and entities that the criteria's name stands for; ``None`` for items about anything.
        limit: The maximum number of items that a memory needs to contribute of each kind.
    """

    words: Sequence[QueryWord]
    criteria: SearchCriteria
    topic: AboutFilter | None
    limit: int

    @property
    def narrowing(self) -> Narrowing:
        """The criteria that knowledge memory applies."""
        criteria = self.criteria
        return Narrowing(
            scope=criteria.scope, since=criteria.since, until=criteria.until, as_of=criteria.as_of
        )

    def wants(self, kind: MemoryKind) -> bool:
        """Return whether items of a kind are wanted."""
        return self.criteria.includes(kind)


def readers(
    opened: OpenedMemories, request: ItemRequest
) -> Mapping[BriefingPart, Callable[[], Awaitable[Sequence[ListedMemory]]]]:
    """Return the functions that read the items of each memory; of knowledge memory, those that hold a word."""
    return {
        BriefingPart.KNOWLEDGE: lambda: _knowledge(opened.knowledge(), request),
        BriefingPart.OPERATIONAL: lambda: _lessons(opened.operational(), request),
        BriefingPart.APPS: lambda: _digests(opened.apps(), request),
        BriefingPart.WORKSPACE: lambda: _notes(opened.workspace(), request),
    }


async def alike(knowledge: KnowledgeMemory, query: str, request: ItemRequest) -> list[ListedMemory]:
    """Return the memories of knowledge memory that a search by meaning finds, the best first."""
    kinds = [each for each in MemoryType if request.wants(MemoryKind(each))]
    results = await knowledge.search(
        query,
        types=kinds,
        mode=SearchMode.CONTEXTUAL,
        limit=request.limit,
        min_relevance=knowledge.config.retrieval.min_relevance,
        narrowing=request.narrowing,
        explain=True,
    )
    whys = ((each.memory, each.explanation.why if each.explanation else "") for each in results)
    return [replace(_memory(memory), why=why) for memory, why in whys]


async def _knowledge(knowledge: KnowledgeMemory, request: ItemRequest) -> list[ListedMemory]:
    limit = min(request.limit, MAX_LIMIT)
    wanted = [each for each in MemoryType if request.wants(MemoryKind(each))]
    read = await asyncio.gather(
        *(
            knowledge.literal.memories(
                request.words, kind, narrowing=request.narrowing, topic=request.topic, limit=limit
            )
            for kind in wanted
        )
    )
    items = [_memory(memory) for memories in read for memory in memories]
    if request.wants(MemoryKind.ENTITY) and (request.words or request.topic or request.criteria.kinds):
        entities = await knowledge.literal.entities(
            request.words, narrowing=request.narrowing, topic=request.topic, limit=limit
        )
        items += map(_entity, entities)
    return items


async def find_topic(opened: OpenedMemories, about: str) -> AboutFilter | None:
    """Return the names and the entities that a name stands for; an unknown name stands for itself.

    If knowledge memory cannot be reached, the name stands for itself, too: reading the items says why.
    """
    name = phrase_word(about)
    if name is None:
        return None
    try:
        async with asyncio.timeout(DEFAULT_TIMEOUT_S):
            named = await opened.knowledge().literal.entities([name], limit=_MOST_NAMES)
    except (TimeoutError, CommonplaceError, OSError):
        named = []
    entities = [
        each for each in named if any(_holds_any(one, [name]) for one in (each.canonical_name, *each.aliases))
    ]
    names = [phrase_word(each) for one in entities for each in (one.canonical_name, *one.aliases)]
    return AboutFilter(names=[name, *filter(None, names)], entity_ids=[one.id for one in entities])


async def _lessons(operational: OperationalMemory, request: ItemRequest) -> list[ListedMemory]:
    if not request.wants(MemoryKind.LESSON):
        return []
    lessons = await operational.list_memories(MemoryFilter(active=True, sort="recency"))
    return _narrowed(
        [
            ListedMemory(
                kind=MemoryKind.LESSON,
                id=str(one.id),
                text=one.observation,
                about=one.service or GENERAL,
                at=one.created_at,
            )
            for one in lessons
        ],
        request,
    )


async def _digests(apps: AppMemory, request: ItemRequest) -> list[ListedMemory]:
    if not request.wants(MemoryKind.DIGEST):
        return []
    digests = await apps.figures.newest(limit=_EVERY)
    return _narrowed(
        [
            ListedMemory(
                kind=MemoryKind.DIGEST, id=str(one.id), text=one.content, about=one.app_id, at=one.created_at
            )
            for one in digests
        ],
        request,
    )


async def _notes(workspace: WorkspaceMemory, request: ItemRequest) -> list[ListedMemory]:
    if not request.wants(MemoryKind.NOTE):
        return []
    notes = (await workspace.search(limit=None)).memories
    return _narrowed(
        [
            ListedMemory(
                kind=MemoryKind.NOTE, id=one.id, text=one.text, about=", ".join(one.tags), at=one.created_at
            )
            for one in notes
        ],
        request,
    )


def _narrowed(items: Sequence[ListedMemory], request: ItemRequest) -> list[ListedMemory]:
    """Return the items that fulfil the criteria, which these memories do not apply themselves."""
    topic = request.topic
    return [
        each
        for each in items
        if request.criteria.covers(each.at) and (topic is None or _holds_any(each.words, topic.names))
    ]


def _holds_any(text: str, names: Sequence[QueryWord]) -> bool:
    """Return whether a text holds one of some names as whole words."""
    bare = BareText(text)
    return any(bare.has_whole(each) for name in names for each in (*name.spellings, *name.whole_spellings))


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


def _entity(one: ListedEntity) -> ListedMemory:
    return ListedMemory(
        kind=MemoryKind.ENTITY,
        id=str(one.id),
        text=one.canonical_name,
        about=one.entity_type,
        at=one.created_at,
        names=one.aliases,
    )
