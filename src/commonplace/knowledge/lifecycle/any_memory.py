"""Reading, confirming and forgetting a memory of any kind."""

from dataclasses import asdict
from typing import Any, assert_never
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.browse.reading import read_one, require_found
from commonplace.knowledge.kinds import Memory, MemoryType
from commonplace.knowledge.unit_of_work import unit_of_work


async def get_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> dict[str, Any] | None:
    """Return the fields of a memory after counting this use; ``None`` if :func:`use_memory` does not find it.

    Source: KNW-05.6, R-KNW-9.
    """
    try:
        return asdict(await use_memory(pool, memory_type, memory_id, clock=clock))
    except NotFoundError:
        return None


async def use_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Count one use of a memory, and return it.

    Returns:
        The memory after counting; a fact whatever its validity.

    Raises:
        InvalidInputError: The type or id is malformed.
        NotFoundError: The memory does not exist, the episode has expired, or the rule is forgotten.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.6, R-KNW-7.
    """
    kind, key = inputs.require_memory(memory_type, memory_id)
    now = clock()
    async with unit_of_work(pool) as sql:
        count = {
            MemoryType.EPISODE: sql.bump_episode,
            MemoryType.FACT: sql.bump_fact,
            MemoryType.RULE: sql.bump_rule,
        }
        return require_found(await count[kind](id=key, now=now), kind, key, now=now)


async def confirm_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Restart the decay of an active fact, or of a rule that is not forgotten, and return it.

    Raises:
        InvalidInputError: The type or id is malformed, or the memory is an episode, which has no confidence.
        NotFoundError: No such active fact or rule exists.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.7.
    """
    kind, key = inputs.require_memory(memory_type, memory_id)
    if kind is MemoryType.EPISODE:
        raise InvalidInputError("memory_type", "fact or rule, for an episode has no confidence", str(kind))
    now = clock()
    async with unit_of_work(pool) as sql:
        confirm = sql.confirm_fact if kind is MemoryType.FACT else sql.confirm_rule
        if await confirm(id=key, now=now) is None:
            raise NotFoundError(kind, str(key))
        return await read_one(sql, kind, key, now=now)


async def forget_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> Memory:
    """Take a memory out of every search: an episode expires now, a fact is retracted, a rule is marked.

    The row stays for the audit trail; the row of an episode stays until the next cleanup.

    Returns:
        The memory as it is now, also if it was forgotten before.

    Raises:
        InvalidInputError: The type or id is malformed.
        NotFoundError: The memory does not exist.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-02.3, KNW-05.8, KNW-05.9.
    """
    kind, key = inputs.require_memory(memory_type, memory_id)
    now = clock()
    async with unit_of_work(pool) as sql:
        match kind:
            case MemoryType.EPISODE:
                await sql.forget_episode(id=key, now=now)
            case MemoryType.FACT:
                await sql.retract_fact(id=key)
            case MemoryType.RULE:
                await sql.forget_rule(id=key)
            case _:
                assert_never(kind)
        return await read_one(sql, kind, key, now=now)
