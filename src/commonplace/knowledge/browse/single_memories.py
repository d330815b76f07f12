"""Single memories for people, in any state. Reading them does not count as a use."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, overload
from uuid import UUID

from commonplace.core.errors import NotFoundError
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import NOUNS, Episode, Fact, Memory, MemoryType, Rule, Validity
from commonplace.knowledge.model.short_ids import find_id
from commonplace.knowledge.statements import KnowledgeStatements
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.database import Row

NO_TEXT = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The other memory of a link.

    Attributes:
        relation: The relation of the link's source to its target.
        is_outgoing: Whether the other memory is the target.
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


async def read_one(sql: KnowledgeStatements, kind: MemoryType, key: UUID, *, now: datetime) -> Memory:
    """Return a memory in any state, within a transaction.

    Raises:
        NotFoundError: The memory does not exist.
    """
    return require_found(await of_kind(kind, sql).read(id=key), kind, key, now=now)


async def read_then(sql: KnowledgeStatements, kind: MemoryType, key: UUID, *, as_of: datetime) -> Memory:
    """Return a memory as it was known at a moment, within a transaction; see :meth:`AnyMemoryMethods.get_memory`.

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


class ReadingMethods(KnowledgeSession):
    """The methods of knowledge memory that read single memories for people."""

    @overload
    async def read_memory(self, memory_type: Literal["episode"], memory_id: UUID | str) -> Episode: ...
    @overload
    async def read_memory(self, memory_type: Literal["fact"], memory_id: UUID | str) -> Fact: ...
    @overload
    async def read_memory(self, memory_type: Literal["rule"], memory_id: UUID | str) -> Rule: ...
    @overload
    async def read_memory(self, memory_type: str, memory_id: UUID | str) -> Memory: ...
    async def read_memory(self, memory_type: str, memory_id: UUID | str) -> Memory:
        """Return a memory in any state, even forgotten or expired; this does not count as a use.

        Raises:
            InvalidInputError: The type or id is malformed, or several memories have the short id.
            NotFoundError: The memory does not exist.
        """
        kind = inputs.require_memory_type(memory_type)
        async with self._reading() as sql:
            key = await find_id(sql, memory_id, kind, field="memory_id")
            return await read_one(sql, kind, key, now=self.clock())

    async def list_linked(self, memory_type: str, memory_id: UUID | str) -> list[Linked]:
        """Return the memories that a memory is linked to in either direction, the oldest link first.

        Source: KNW-26.1.
        """
        kind, key = inputs.require_memory(memory_type, memory_id)
        async with self._reading() as sql:
            links = await sql.get_links(memory_type=kind, memory_id=key, outgoing=True, incoming=True)
            ends = [end for link in links for end in (link["source_id"], link["target_id"])]
            words = {(row["memory_type"], row["id"]): row for row in await sql.linked_texts(ids=ends)}
        found: list[Linked] = []
        for link in links:
            source, target = (
                (link["source_type"], link["source_id"]),
                (link["target_type"], link["target_id"]),
            )
            is_outgoing = source == (kind, key)
            other_type, other_id = target if is_outgoing else source
            other = words.get((other_type, other_id))
            found.append(
                Linked(
                    relation=link["relation"],
                    is_outgoing=is_outgoing,
                    memory_type=other_type,
                    memory_id=other_id,
                    text=NO_TEXT if other is None else other["text"],
                    state=None if other is None else other["state"],
                    created_at=link["created_at"],
                )
            )
        return found

    async def names_of(self, ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return a label for each id: the key and text of a fact, the name of an entity, or the text of a memory.

        Args:
            ids: Ids of episodes, facts, rules and entities.

        Returns:
            At most 120 characters for each id. Forgotten memories, expired episodes and unknown ids are left out.
        """
        async with self._reading() as sql:
            return {
                row["id"]: row["name"]
                for row in await sql.names_of(ids=inputs.require_ids(ids), now=self.clock())
            }

    async def scopes_of(self, ids: Collection[UUID]) -> Mapping[UUID, str]:
        """Return the scope of each fact and rule.

        Args:
            ids: Ids of facts and rules. Other ids are ignored.
        """
        async with self._reading() as sql:
            return {row["id"]: row["scope"] for row in await sql.scopes_of(ids=inputs.require_ids(ids))}
