"""Links: where a memory came from, and what it supports, contradicts or replaces (KNW-26)."""

from enum import StrEnum
from typing import Any, Literal, get_args
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.unit_of_work import unit_of_work

Direction = Literal["outgoing", "incoming", "both"]


class Relation(StrEnum):
    """What the source of a link is to its target."""

    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"


async def create_link(
    pool: asyncpg.Pool,
    *,
    source_type: str,
    source_id: UUID | str,
    target_type: str,
    target_id: UUID | str,
    relation: str,
    clock: Clock = utc_now,
) -> bool:
    """Link two memories; two memories have at most one link in each direction, and the first stays.

    Returns:
        Whether the link is new.

    Raises:
        InvalidInputError: A type, an id or the relation is not valid.
        NotFoundError: One of the memories does not exist in this tenant.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.5, KNW-26.2.
    """
    source = inputs.require_id(source_id, field="source_id")
    target = inputs.require_id(target_id, field="target_id")
    from_type = inputs.require_memory_type(source_type, field="source_type")
    to_type = inputs.require_memory_type(target_type, field="target_type")
    async with unit_of_work(pool) as sql:
        outcome = await sql.create_link(
            source_type=from_type,
            source_id=source,
            target_type=to_type,
            target_id=target,
            relation=_require_relation(relation),
            now=clock(),
        )
    if not outcome["source_exists"]:
        raise NotFoundError(from_type, str(source))
    if not outcome["target_exists"]:
        raise NotFoundError(to_type, str(target))
    return outcome["is_new"]


async def get_links(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, direction: Direction = "both"
) -> list[dict[str, Any]]:
    """Return the links of a memory, oldest first.

    Args:
        pool: Of the database.
        memory_type: ``"episode"``, ``"fact"`` or ``"rule"``.
        memory_id: Of the memory.
        direction: ``"outgoing"`` where it is the source, ``"incoming"`` where it is the target, or ``"both"``.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-26.1.
    """
    if direction not in get_args(Direction):
        raise InvalidInputError("direction", f"one of {', '.join(get_args(Direction))}", direction)
    kind = inputs.require_memory_type(memory_type)
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.get_links(
            memory_type=kind,
            memory_id=key,
            outgoing=direction != "incoming",
            incoming=direction != "outgoing",
        )
    return [dict(row) for row in rows]


def _require_relation(relation: str) -> Relation:
    try:
        return Relation(relation)
    except ValueError:
        raise InvalidInputError("relation", f"one of {', '.join(Relation)}", relation) from None
