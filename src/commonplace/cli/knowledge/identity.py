"""Ids of knowledge memory in commands: successors of replaced memories, and both forms in JSON."""

from typing import Any
from uuid import UUID

import typer

from commonplace.cli.frame.ids import with_short_id
from commonplace.knowledge import (
    Entity,
    KnowledgeMemory,
    ListedEntity,
    Memory,
    MemoryType,
    SearchResult,
    short_id,
)
from commonplace.services.catalog.knowledge import Knowledge
from commonplace.services.memory_ids import MemoryKind


async def current_id(memory: KnowledgeMemory, memory_type: MemoryType, memory_id: str) -> UUID | str:
    """Return the id of the memory in the place of a replaced fact or rule, and say so on standard error.

    The id of any other memory is returned unchanged, and so is that of an episode, which nothing replaces.

    Raises:
        InvalidInputError: The id is malformed, or several memories have the short id.
        NotFoundError: No memory has the id.
    """
    if memory_type is MemoryType.EPISODE:
        return memory_id
    named = await memory.read(memory_type, memory_id)
    successor = await Knowledge(memory).successor(named)
    if successor is None:
        return named.id
    typer.echo(f"note: {short_id(memory_type, named.id)} was replaced by {successor}", err=True)
    return UUID(successor.full)


def document(noun: Memory | Entity | ListedEntity | SearchResult) -> dict[str, Any]:
    """Return a memory or an entity as a JSON object with both forms of its id."""
    memory = noun.memory if isinstance(noun, SearchResult) else noun
    is_entity = isinstance(memory, Entity | ListedEntity)
    return with_short_id(MemoryKind.ENTITY if is_entity else MemoryKind(memory.memory_type), noun)
