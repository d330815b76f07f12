"""Storing and removing the sample home."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from commonplace.apps import AppStatus
from commonplace.core.clock import format_timestamp
from commonplace.core.errors import ConflictError, NotFoundError
from commonplace.core.request_context import DEFAULT_TENANT, request_context
from commonplace.core.sources import Source
from commonplace.core.text import plural
from commonplace.knowledge import MAX_LIMIT, KnowledgeMemory, Narrowing
from commonplace.operational import MemoryFilter
from commonplace.services.erasure.erasing import remove_rows
from commonplace.services.opening import Memories
from commonplace.services.sample import table


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReceipt:
    """Number of sample memories that were stored or removed."""

    operational: int
    apps: int
    workspace: int
    knowledge: int

    @property
    def total(self) -> int:
        """The number of memories in all four memories."""
        return self.operational + self.apps + self.workspace + self.knowledge


async def is_loaded(memories: Memories) -> bool:
    """Return whether the home has the sample memories."""
    return await _app_status(memories) is AppStatus.INSTALLED


async def load(memories: Memories, *, beside_others: bool = False) -> SampleReceipt:
    """Store the sample memories; with ``beside_others``, also in a home that has other memories.

    Raises:
        ConflictError: The home has the sample memories, or it has other memories.
        StorageError: A memory cannot be written.
    """
    if await is_loaded(memories):
        message = "The home already has the sample memories. Remove them with `commonplace sample drop`."
        raise ConflictError("home", message, "sample memories")
    if not beside_others and (found := await _stored(memories)):
        stored = plural(found, "memory", "memories")
        message = f"The home has {stored}. To load the sample memories beside them, add --beside-others."
        raise ConflictError("home", message, stored)
    with request_context(actor=table.MARK, source=Source.AGENT):
        await memories.apps.registry.register(table.APP[0], name=table.APP[1])
        knowledge = await _load_knowledge(_acting(memories))
        for category, service, text in table.LESSONS:
            await memories.operational.add(category=category, observation=text, service=service)
        for text, tag in table.NOTES:
            await memories.workspace.store(text, tags=[table.MARK, tag])
        now = format_timestamp(memories.operational.now())
        kept = [{"content": text, "createdAt": now, "updatedAt": now} for text in table.APP_MEMORIES]
        await memories.apps.import_document(table.MARK, {"memories": kept})
    return SampleReceipt(
        operational=len(table.LESSONS), apps=len(kept), workspace=len(table.NOTES), knowledge=knowledge
    )


async def drop(memories: Memories) -> SampleReceipt:
    """Remove the sample memories, with their history; all other memories stay.

    A sample memory whose text was changed stays, because a person or an agent corrected it. An entity stays if other
    facts refer to it.

    Raises:
        StorageError: A memory cannot be read or written.
    """
    operational = await _lessons(memories)
    texts = {text for text, _ in table.NOTES}
    tagged = (await memories.workspace.search(tag=table.MARK, limit=None)).memories
    notes = [one for one in tagged if one.text in texts]
    has_app = await _app_status(memories) is not None
    apps = await memories.apps.list_memories(table.MARK) if has_app else []
    kept = [one for one in apps if one.content in table.APP_MEMORIES]
    knowledge = await _knowledge_rows(_acting(memories))
    rows = {"memories": operational, "app_memories": [str(one.id) for one in kept], **knowledge}
    await remove_rows(memories.knowledge.database.settings, rows)
    for note in notes:
        await memories.workspace.delete(note.id)
    if has_app:
        is_unused = (
            len(apps) == len(kept) and not (await memories.apps.figures.of_app(table.MARK)).conversations
        )
        await memories.apps.registry.uninstall_app(table.MARK, purge_memories=is_unused)
    return SampleReceipt(
        operational=len(operational),
        apps=len(kept),
        workspace=len(notes),
        knowledge=sum(len(ids) for kind, ids in knowledge.items() if kind != "entities"),
    )


async def _app_status(memories: Memories) -> AppStatus | None:
    """Return the status of the sample app; ``None`` if the home does not have the app."""
    try:
        return (await memories.apps.registry.get(table.MARK)).status
    except NotFoundError:
        return None


def _acting(memories: Memories) -> KnowledgeMemory:
    return memories.knowledge.acting_for(tenant_id=DEFAULT_TENANT, actor=table.MARK, source=Source.AGENT)


async def _stored(memories: Memories) -> int:
    """Return how many memories the home has."""
    knowledge = await _acting(memories).stats()
    return (
        len(await memories.operational.list_memories())
        + sum(one.memories for one in await memories.apps.registry.list())
        + len((await memories.workspace.search(limit=None)).memories)
        + knowledge.episodes.total
        + knowledge.facts.active
        + knowledge.rules.candidate
    )


async def _load_knowledge(knowledge: KnowledgeMemory) -> int:
    """Store the sample of knowledge memory and return the number of its memories."""
    entities = {name: await _entity(knowledge, name, kind, others) for name, kind, others in table.ENTITIES}
    episodes = [
        (await knowledge.store_episode(content=text, butler=table.MARK, fail_open=False)).id
        for text in table.EPISODES
    ]
    marks: dict[str, Any] = {"scope": table.MARK, "tags": [table.MARK], "source_butler": table.MARK}
    for fact in table.FACTS:
        await knowledge.store_fact(
            subject=fact.subject,
            predicate=fact.predicate,
            content=fact.content,
            permanence=fact.permanence,
            importance=fact.importance,
            entity_id=entities[fact.subject],
            source_episode_id=episodes[0],
            **marks,
        )
    helpful = await knowledge.store_rule(content=table.HELPFUL_RULE, **marks)
    await knowledge.mark_helpful(helpful.id)
    harmful = await knowledge.store_rule(content=table.HARMFUL_RULE, **marks)
    await knowledge.mark_harmful(harmful.id, reason=table.HARM)
    return len(episodes) + len(table.FACTS) + 2


async def _entity(knowledge: KnowledgeMemory, name: str, kind: str, others: Sequence[str]) -> UUID:
    """Return the id of an entity; create the entity if the home has none with this name and type."""
    for known in await knowledge.lists.entities(name=name, entity_type=kind):
        if known.canonical_name == name:
            return known.id
    entity = await knowledge.entities.create(
        canonical_name=name, entity_type=kind, aliases=others, metadata={table.MARK: True}
    )
    return entity.id


async def _lessons(memories: Memories) -> list[str]:
    """Return the ids of the operational memories that the sample stored."""
    ids: list[str] = []
    texts = {text for _, _, text in table.LESSONS}
    for service in sorted({service for _, service, _ in table.LESSONS}):
        for memory in await memories.operational.list_memories(MemoryFilter(service=service)):
            first, *_ = await memories.operational.history(memory.id)
            if first.actor == table.MARK and memory.observation in texts:
                ids.append(str(memory.id))
    return ids


async def _knowledge_rows(knowledge: KnowledgeMemory) -> dict[str, list[str]]:
    """Return the ids of the facts, rules, episodes and entities that the sample stored."""
    texts = {fact.content for fact in table.FACTS}
    rules = {table.HELPFUL_RULE, table.HARMFUL_RULE}
    sample = Narrowing(learned_by=table.MARK)
    stored = await knowledge.lists.facts(narrowing=sample, limit=MAX_LIMIT)
    facts = {str(one.id) for one in stored if one.content in texts}
    entities: list[str] = []
    for name, _, _ in table.ENTITIES:
        for entity in await knowledge.lists.entities(name=name):
            about = await knowledge.lists.facts(narrowing=Narrowing(entity_id=entity.id), limit=MAX_LIMIT)
            if entity.metadata.get(table.MARK) and facts.issuperset(str(one.id) for one in about):
                entities.append(str(entity.id))
    return {
        "facts": sorted(facts),
        "rules": [
            str(one.id)
            for one in await knowledge.lists.rules(narrowing=sample, limit=MAX_LIMIT)
            if one.metadata.get("original_content", one.content) in rules
        ],
        "episodes": [
            str(one.id) for one in await knowledge.lists.episodes(narrowing=sample, limit=MAX_LIMIT)
        ],
        "entities": entities,
    }
