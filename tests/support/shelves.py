"""A memory of each kind in a service."""

from commonplace.services.memory_ids import MemoryId, MemoryKind
from support.apps import fill
from support.secured import Secured


async def one_of_each(service: Secured) -> dict[MemoryKind, MemoryId]:
    """Store a memory of each kind."""
    memories = service.memories
    knowledge = memories.knowledge
    entity = await knowledge.entities.create(canonical_name="Ada", entity_type="person")
    fact = await knowledge.store_fact(
        subject="Ada", predicate="drinks", content="green tea", entity_id=entity.id
    )
    rule = await knowledge.store_rule(content="Offer tea first")
    episode = await knowledge.store_episode(content="Ada asked for tea", butler="global")
    lesson = await memories.operational.add(
        category="timing", observation="Starts slowly", service="jellyfin"
    )
    note = await memories.workspace.store("The kettle is on port 5433", tags=["infra"])
    await memories.apps.registry.register("cal", name="Calendar")
    await fill(memories.apps, "cal", 1)
    (digest,) = await memories.apps.list_memories("cal")
    keys = {
        MemoryKind.FACT: fact.id,
        MemoryKind.RULE: rule.id,
        MemoryKind.EPISODE: episode.id,
        MemoryKind.ENTITY: entity.id,
        MemoryKind.LESSON: lesson.id,
        MemoryKind.NOTE: note.id,
        MemoryKind.DIGEST: digest.id,
    }
    return {kind: MemoryId.of(kind, key) for kind, key in keys.items()}
