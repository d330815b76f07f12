"""Single memories for people, in any state. Reading them does not count as a use."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.kinds import Episode, Fact, Memory, MemoryType, Rule
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Statements

NO_TEXT = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The other memory of a link.

    Attributes:
        relation: The relation of the link's source to its target.
        is_outgoing: Whether the other memory is the target.
        memory_type: The kind of the other memory.
        memory_id: The id of the other memory.
        text: The first 300 characters of the other memory, or ``"deleted"``.
        state: The validity, maturity or consolidation status of the other memory; ``None`` if it was deleted.
        created_at: When the link was made (aware UTC).
    """

    relation: str
    is_outgoing: bool
    memory_type: str
    memory_id: UUID
    text: str
    state: str | None
    created_at: datetime


async def read_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Return a memory in any state, also a forgotten or expired one; this does not count as a use.

    Raises:
        InvalidInputError: The type or id is malformed.
        NotFoundError: The memory does not exist.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    kind = inputs.require_memory_type(memory_type)
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool, readonly=True) as sql:
        return await read_one(sql, kind, key, now=clock())


async def read_one(sql: Statements, kind: MemoryType, key: UUID, *, now: datetime) -> Memory:
    """Return a memory in any state, within a transaction.

    Raises:
        NotFoundError: The memory does not exist.
    """
    noun: type[Memory]
    match kind:
        case MemoryType.EPISODE:
            noun, row = Episode, await sql.read_episode(id=key)
        case MemoryType.FACT:
            noun, row = Fact, await sql.read_fact(id=key)
        case MemoryType.RULE:
            noun, row = Rule, await sql.read_rule(id=key)
        case _:
            assert_never(kind)
    if row is None:
        raise NotFoundError(kind, str(key))
    return noun.from_row(row, now=now)


async def list_linked(pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str) -> list[Linked]:
    """Return the memories that a memory is linked to in either direction, the oldest link first.

    Raises:
        InvalidInputError: The type or id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-26.1.
    """
    kind = inputs.require_memory_type(memory_type)
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool, readonly=True) as sql:
        links = await sql.get_links(memory_type=kind, memory_id=key, outgoing=True, incoming=True)
        ends = [link[f"{end}_id"] for link in links for end in ("source", "target")]
        words = {(row["memory_type"], row["id"]): row for row in await sql.linked_texts(ids=ends)}
    found: list[Linked] = []
    for link in links:
        is_outgoing = (link["source_type"], link["source_id"]) == (kind, key)
        end = "target" if is_outgoing else "source"
        other = words.get((link[f"{end}_type"], link[f"{end}_id"]))
        found.append(
            Linked(
                relation=link["relation"],
                is_outgoing=is_outgoing,
                memory_type=link[f"{end}_type"],
                memory_id=link[f"{end}_id"],
                text=NO_TEXT if other is None else other["text"],
                state=None if other is None else other["state"],
                created_at=link["created_at"],
            )
        )
    return found


async def names_of(pool: asyncpg.Pool, ids: Collection[UUID], *, clock: Clock = utc_now) -> dict[UUID, str]:
    """Return the key of a fact, the name of an entity or the beginning of a text for each memory or entity.

    Args:
        pool: The pool of the database.
        ids: Of episodes, facts, rules and entities.
        clock: Gives the present.

    Returns:
        At most 120 characters for each id. Forgotten memories, expired episodes and unknown ids are left out.

    Raises:
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    async with unit_of_work(pool, readonly=True) as sql:
        return {row["id"]: row["name"] for row in await sql.names_of(ids=list(ids), now=clock())}
