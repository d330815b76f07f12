"""What can be done with a memory of any kind: get it, confirm it, forget it."""

from typing import Any, assert_never
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import inputs
from commonplace.knowledge.inputs import MemoryType
from commonplace.knowledge.unit_of_work import unit_of_work


async def get_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> dict[str, Any] | None:
    """Return a memory, and count that it was read.

    Returns:
        The row after counting, without its vectors, a fact whatever its validity; ``None`` where there is none,
        the episode has expired or the rule is forgotten.

    Raises:
        InvalidInputError: The type or id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.6, R-KNW-7, R-KNW-9.
    """
    kind = inputs.require_memory_type(memory_type)
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool) as sql:
        match kind:
            case MemoryType.EPISODE:
                row = await sql.bump_episode(id=key, now=clock())
            case MemoryType.FACT:
                row = await sql.bump_fact(id=key, now=clock())
            case MemoryType.RULE:
                row = await sql.bump_rule(id=key, now=clock())
            case _:
                assert_never(kind)
    return None if row is None else dict(row)


async def confirm_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> bool:
    """Restart the decay of an active fact, or of a rule that is not forgotten.

    Returns:
        Whether there is such a fact or rule.

    Raises:
        InvalidInputError: The type or id is malformed, or it is an episode, which has no confidence.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-05.7.
    """
    kind = inputs.require_memory_type(memory_type)
    if kind is MemoryType.EPISODE:
        raise InvalidInputError("memory_type", "fact or rule, for an episode has no confidence", str(kind))
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool) as sql:
        confirm = sql.confirm_fact if kind is MemoryType.FACT else sql.confirm_rule
        return await confirm(id=key, now=clock()) is not None


async def forget_memory(
    pool: asyncpg.Pool, memory_type: str, memory_id: UUID | str, *, clock: Clock = utc_now
) -> bool:
    """Take a memory out of every search: an episode expires now, a fact is retracted, a rule is marked.

    The row stays for the audit trail; of an episode, until the next cleanup.

    Returns:
        Whether there is such a memory; also where it was forgotten before.

    Raises:
        InvalidInputError: The type or id is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-02.3, KNW-05.8, KNW-05.9.
    """
    kind = inputs.require_memory_type(memory_type)
    key = inputs.require_id(memory_id, field="memory_id")
    async with unit_of_work(pool) as sql:
        match kind:
            case MemoryType.EPISODE:
                forgotten = await sql.forget_episode(id=key, now=clock())
            case MemoryType.FACT:
                forgotten = await sql.retract_fact(id=key)
            case MemoryType.RULE:
                forgotten = await sql.forget_rule(id=key)
            case _:
                assert_never(kind)
    return forgotten is not None
