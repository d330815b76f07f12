"""Reading of all memories as items."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from commonplace.apps import AppMemory
from commonplace.core.json_values import json_safe
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
from commonplace.services.transfer.items import (
    DigestItem,
    EntityItem,
    ExportedItem,
    Item,
    OperationalItem,
    WorkspaceItem,
)
from commonplace.workspace import WorkspaceMemory

PAGE: Final = 1000
PAST: Final = (Validity.SUPERSEDED, Validity.EXPIRED, Validity.HELD)
"""Facts that are not current; a retracted fact was forgotten, so no export holds it."""
_NO_RECORD: Final = frozenset({"memory_type", "quarantine", "effective_confidence"})
"""Fields that follow from others, and from the time of the export."""

T = TypeVar("T", Episode, Fact, Rule, ListedEntity)


async def export(
    knowledge: KnowledgeMemory, operational: OperationalMemory, workspace: WorkspaceMemory, apps: AppMemory
) -> AsyncIterator[ExportedItem]:
    """Yield every memory that was not forgotten, with its times, its confidence and its history.

    Raises:
        StorageError: A memory cannot be read.
    """
    async for exported in export_knowledge(knowledge):
        yield exported
    async for exported in _digests(apps):
        yield exported
    async for exported in _lessons(operational):
        yield exported
    for noted in (await workspace.search(limit=None)).memories:
        item = WorkspaceItem(text=noted.text, scope=noted.scope, tags=noted.tags, created_at=noted.created_at)
        yield ExportedItem(item=item, record={"id": noted.id} | _record(noted, item))


async def export_knowledge(memory: KnowledgeMemory) -> AsyncIterator[ExportedItem]:
    """Yield the entities, facts, rules and episodes of a tenant."""
    async for found in all_of(lambda after: memory.lists.entities(limit=PAGE, after=after)):
        entity = EntityItem(
            id=str(found.id),
            name=found.canonical_name,
            entity_type=found.entity_type,
            aliases=found.aliases,
            metadata=found.metadata,
        )
        record = {
            "created_at": found.created_at,
            "updated_at": found.updated_at,
            "merged_into": found.merged_into,
        }
        yield ExportedItem(item=entity, record=_values(record), is_past=found.merged_into is not None)
    for validity in (Validity.ACTIVE, *PAST):
        async for exported in export_facts(memory, validity):
            yield exported
    async for rule in all_of(lambda after: memory.lists.rules(forgotten=False, limit=PAGE, after=after)):
        draft = replace(RuleDraft.of(rule), source_episode_id=None)
        yield ExportedItem(item=draft, record=_record(rule, draft))
    async for episode in all_of(lambda after: memory.lists.episodes(live=True, limit=PAGE, after=after)):
        told = EpisodeDraft.of(episode)
        yield ExportedItem(item=told, record=_record(episode, told))


async def export_facts(memory: KnowledgeMemory, validity: Validity) -> AsyncIterator[ExportedItem]:
    """Yield the facts of a tenant that are in a state."""
    async for fact in all_of(lambda after: memory.lists.facts(validity=validity, limit=PAGE, after=after)):
        draft = replace(FactDraft.of(fact), source_episode_id=None)
        yield ExportedItem(item=draft, record=_record(fact, draft), is_past=validity is not Validity.ACTIVE)


async def _digests(apps: AppMemory) -> AsyncIterator[ExportedItem]:
    for listed in await apps.registry.list():
        for digest in (await apps.export(listed.app.app_id)).memories:
            item = DigestItem(
                app_id=digest.app_id,
                app_name=listed.app.name,
                content=digest.content,
                created_at=digest.created_at,
                updated_at=digest.updated_at,
                user_id=digest.user_id,
                source_conversation_id=digest.source_conversation_id,
                metadata=digest.metadata.as_dict(),
            )
            yield ExportedItem(item=item, record={"id": digest.id})


async def _lessons(operational: OperationalMemory) -> AsyncIterator[ExportedItem]:
    for lesson in await operational.list_memories():
        item = OperationalItem(
            category=lesson.category,
            observation=lesson.observation,
            service=lesson.service,
            confidence=lesson.confidence,
            updated_at=lesson.updated_at,
        )
        wordings = await operational.wordings.list(lesson.id)
        earlier = [each for each in wordings if each.text != lesson.observation]
        record = _record(lesson, item) | ({"earlier_wordings": json_safe(earlier)} if earlier else {})
        yield ExportedItem(item=item, record=record)


def _record(memory: object, item: Item) -> dict[str, Any]:
    """Return the fields of a memory that its item does not have, as JSON values."""
    names = [each.name for each in fields(memory)]  # pyright: ignore[reportArgumentType] - each memory is a dataclass
    told = {each.name for each in fields(item) if getattr(item, each.name) is not None}
    return _values({name: getattr(memory, name) for name in names if name not in told | _NO_RECORD})


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with a value as JSON values."""
    return {name: json_safe(value) for name, value in record.items() if value not in (None, (), [], {})}


async def all_of(page: Callable[[str | None], Awaitable[Sequence[T]]]) -> AsyncIterator[T]:
    """Yield all items of a list; a page begins after an item, because memories may be forgotten meanwhile."""
    after = None
    while found := await page(after):
        for each in found:
            yield each
        after = Lists.cursor_of(found[-1])
