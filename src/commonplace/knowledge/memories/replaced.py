"""The fact or rule that a new one replaces because its writer names it (JDG-07)."""

from datetime import datetime
from typing import Final, cast
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.browse.single_memories import read_one
from commonplace.knowledge.memories.links import Relation
from commonplace.knowledge.model.kinds import Fact, MemoryType, Rule
from commonplace.knowledge.model.short_ids import short_id
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.statements import KnowledgeStatements

FIELD: Final = "replaces"


async def find_replaced(
    sql: KnowledgeStatements, replaces: UUID | str, kind: MemoryType, *, now: datetime
) -> Fact | Rule:
    """Return the memory that a draft replaces.

    Args:
        sql: The transaction that stores the draft.
        replaces: The id or the short id of a fact or rule.
        kind: The kind of the draft, fact or rule.
        now: The present.

    Raises:
        InvalidInputError: The id is malformed or of another kind, or several memories have it.
        NotFoundError: The tenant has no memory of the kind with the id.
        ConflictError: The memory does not hold any more.
    """
    key = await find_id(sql, replaces, kind, field=FIELD)
    memory = cast("Fact | Rule", await read_one(sql, kind, key, now=now))
    if not memory.is_current:
        successor = await sql.successor_of_fact(id=key) if isinstance(memory, Fact) else None
        raise no_longer_holds(kind, key, successor)
    return memory


def no_longer_holds(kind: MemoryType, key: UUID, successor: UUID | None = None) -> ConflictError:
    """Return the error for a memory that cannot be replaced, because another replaced it or it was forgotten."""
    named = f"The {kind} {short_id(kind, key)}"
    if successor is not None:
        other = short_id(kind, successor)
        return ConflictError(FIELD, f"{named} was replaced by {other} already. Replace {other}.", str(key))
    message = f"{named} no longer holds, so it cannot be replaced. Store the new {kind} without replaces."
    return ConflictError(FIELD, message, str(key))


async def oppose(
    sql: KnowledgeStatements, kind: MemoryType, newer_id: UUID, older_id: UUID, *, now: datetime
) -> None:
    """Link a newer memory to the older one that it may contradict."""
    await sql.create_link(
        source_type=kind,
        source_id=newer_id,
        target_type=kind,
        target_id=older_id,
        relation=Relation.CONTRADICTS,
        now=now,
    )
