"""Reading of all memories as items."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from commonplace.knowledge import (
    Episode,
    EpisodeDraft,
    Fact,
    FactDraft,
    KnowledgeMemory,
    ListedEntity,
    Lists,
    Rule,
    RuleDraft,
    Validity,
)
from commonplace.operational import OperationalMemory
from commonplace.services.transfer.items import EntityItem, Item, OperationalItem, WorkspaceItem
from commonplace.workspace import WorkspaceMemory

PAGE: Final = 1000

T = TypeVar("T", Episode, Fact, Rule, ListedEntity)


async def export(
    knowledge: KnowledgeMemory, operational: OperationalMemory, workspace: WorkspaceMemory
) -> AsyncIterator[Item]:
    """Yield current knowledge, operational and workspace memories, without superseded, expired or forgotten ones.

    Apps have their own export.

    Raises:
        StorageError: A memory cannot be read.
    """
    async for item in export_knowledge(knowledge):
        yield item
    for memory in await operational.list_memories():
        yield OperationalItem(
            category=memory.category,
            observation=memory.observation,
            service=memory.service,
            confidence=memory.confidence,
        )
    for noted in (await workspace.search(limit=None)).memories:
        yield WorkspaceItem(text=noted.text, scope=noted.scope, tags=noted.tags)


async def export_knowledge(memory: KnowledgeMemory) -> AsyncIterator[Item]:
    """Yield the entities, facts, rules and episodes of a tenant."""
    async for found in _all(lambda after: memory.lists.entities(limit=PAGE, after=after)):
        yield EntityItem(
            id=str(found.id),
            name=found.canonical_name,
            entity_type=found.entity_type,
            aliases=found.aliases,
            metadata=found.metadata,
        )
    async for fact in export_facts(memory, Validity.ACTIVE):
        yield fact
    async for rule in _all(lambda after: memory.lists.rules(forgotten=False, limit=PAGE, after=after)):
        yield replace(RuleDraft.of(rule), source_episode_id=None)
    async for episode in _all(lambda after: memory.lists.episodes(live=True, limit=PAGE, after=after)):
        yield EpisodeDraft.of(episode)


async def export_facts(memory: KnowledgeMemory, validity: Validity) -> AsyncIterator[FactDraft]:
    """Yield the facts of a tenant that are in a state."""
    async for fact in _all(lambda after: memory.lists.facts(validity=validity, limit=PAGE, after=after)):
        yield replace(FactDraft.of(fact), source_episode_id=None)


async def _all(page: Callable[[str | None], Awaitable[Sequence[T]]]) -> AsyncIterator[T]:
    """Yield all items of a list; a page begins after an item, because memories may be forgotten meanwhile."""
    after = None
    while found := await page(after):
        for each in found:
            yield each
        after = Lists.cursor_of(found[-1])
