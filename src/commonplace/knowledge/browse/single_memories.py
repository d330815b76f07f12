"""Single memories for people, in any state. Reading them does not count as a use."""

from datetime import datetime
from typing import Literal, overload
from uuid import UUID

from commonplace.core.errors import NotFoundError
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import NOUNS, Episode, Fact, Memory, MemoryType, Rule, Validity
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.database import Row


async def read_one(sql: KnowledgeStatements, kind: MemoryType, key: UUID, *, now: datetime) -> Memory:
    """Return a memory in any state, within a transaction.

    Raises:
        NotFoundError: The memory does not exist.
    """
    return require_found(await of_kind(kind, sql).read(id=key), kind, key, now=now)


async def read_then(sql: KnowledgeStatements, kind: MemoryType, key: UUID, *, as_of: datetime) -> Memory:
    """Return a memory as it was known at a moment, within a transaction; see :meth:`KnowledgeMemory.get`.

    Raises:
        NotFoundError: The memory was not stored yet, or was forgotten or expired by then.
    """
    found = await read_one(sql, kind, key, now=as_of)
    match found:
        case Fact():
            state = await sql.fact_state(id=key, as_of=as_of)
            is_known = state is not None and state["validity"] != Validity.RETRACTED
            if state is not None and (row := await of_kind(kind, sql).read(id=key)) is not None:
                found = Fact.from_row({**row, **state}, now=as_of)
        case Rule():
            is_known = found.created_at <= as_of and not await sql.rule_forgotten(id=key, as_of=as_of)
        case Episode():
            is_known = found.created_at <= as_of and (found.expires_at is None or found.expires_at > as_of)
    if not is_known:
        raise NotFoundError(kind, str(key))
    return found


def require_found(row: Row | None, kind: MemoryType, key: UUID, *, now: datetime) -> Memory:
    """Return the memory of a row.

    Raises:
        NotFoundError: There is no row.
    """
    if row is None:
        raise NotFoundError(kind, str(key))
    return NOUNS[kind].from_row(row, now=now)


class MemoryReader:
    """Reading of single memories for people."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    @overload
    async def read(self, memory_type: Literal["episode"], memory_id: UUID | str) -> Episode: ...
    @overload
    async def read(self, memory_type: Literal["fact"], memory_id: UUID | str) -> Fact: ...
    @overload
    async def read(self, memory_type: Literal["rule"], memory_id: UUID | str) -> Rule: ...
    @overload
    async def read(self, memory_type: str, memory_id: UUID | str) -> Memory: ...
    async def read(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Return a memory in any state, even forgotten or expired; this does not count as a use."""
        kind = inputs.require_memory_type(memory_type)
        async with self._session.reading() as sql:
            key = await find_id(sql, memory_id, kind, field="memory_id")
            return await read_one(sql, kind, key, now=self._session.clock())
