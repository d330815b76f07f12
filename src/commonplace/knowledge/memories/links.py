"""Links between memories: origin, support, contradiction and replacement (KNW-26)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, get_args
from uuid import UUID

from commonplace.core.choices import require_one_of
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun

NO_TEXT = "deleted"

Direction = Literal["outgoing", "incoming", "both"]


class Relation(StrEnum):
    """The relation of a link's source to its target."""

    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Noun):
    """A link from one memory to another."""

    source_type: MemoryType
    source_id: UUID
    target_type: MemoryType
    target_id: UUID
    relation: Relation
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReceipt:
    """The outcome of linking two memories; ``is_new`` is false if they were linked in this direction before."""

    source_id: UUID
    target_id: UUID
    is_new: bool


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


class Links:
    """Links between memories."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def create(
        self,
        *,
        source_type: str,
        source_id: UUID | str,
        target_type: str,
        target_id: UUID | str,
        relation: str,
    ) -> LinkReceipt:
        """Link two memories; there is at most one link in each direction, and an existing link stays.

        Raises:
            InvalidInputError: A type, an id or the relation is not valid, or both ends are the same memory.
            NotFoundError: One of the memories does not exist in this tenant.

        Source: KNW-05.5, KNW-26.2.
        """
        source = inputs.require_id(source_id, field="source_id")
        target = inputs.require_id(target_id, field="target_id")
        from_type = inputs.require_memory_type(source_type, field="source_type")
        to_type = inputs.require_memory_type(target_type, field="target_type")
        if (from_type, source) == (to_type, target):
            raise InvalidInputError("target_id", "the id of a memory other than the source", str(target))
        async with self._session.writing() as sql:
            outcome = await sql.create_link(
                source_type=from_type,
                source_id=source,
                target_type=to_type,
                target_id=target,
                relation=require_one_of(Relation, relation, field="relation"),
                now=self._session.clock(),
            )
        if not outcome["source_exists"]:
            raise NotFoundError(from_type, str(source))
        if not outcome["target_exists"]:
            raise NotFoundError(to_type, str(target))
        return LinkReceipt(source_id=source, target_id=target, is_new=outcome["is_new"])

    async def memories(self, memory_type: str, memory_id: UUID | str) -> list[Linked]:
        """Return the memories that a memory is linked to in either direction, the oldest link first.

        Source: KNW-26.1.
        """
        kind, key = inputs.require_memory(memory_type, memory_id)
        async with self._session.reading() as sql:
            links = await sql.get_links(memory_type=kind, memory_id=key, outgoing=True, incoming=True)
            ends = [end for link in links for end in (link["source_id"], link["target_id"])]
            words = {(row["memory_type"], row["id"]): row for row in await sql.linked_texts(ids=ends)}
        linked: list[Linked] = []
        for link in links:
            source, target = (
                (link["source_type"], link["source_id"]),
                (link["target_type"], link["target_id"]),
            )
            is_outgoing = source == (kind, key)
            other_type, other_id = target if is_outgoing else source
            other = words.get((other_type, other_id))
            linked.append(
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
        return linked

    async def list(
        self, memory_type: str, memory_id: UUID | str, *, direction: Direction = "both"
    ) -> list[Link]:
        """Return the links of a memory, oldest first.

        Args:
            memory_type: ``"episode"``, ``"fact"`` or ``"rule"``.
            memory_id: The id of the memory.
            direction: ``"outgoing"`` if the memory is the source, ``"incoming"`` if it is the target, or ``"both"``.

        Source: KNW-26.1.
        """
        if direction not in get_args(Direction):
            raise InvalidInputError("direction", f"one of {', '.join(get_args(Direction))}", direction)
        kind, key = inputs.require_memory(memory_type, memory_id)
        async with self._session.reading() as sql:
            return Link.from_rows(
                await sql.get_links(
                    memory_type=kind,
                    memory_id=key,
                    outgoing=direction != "incoming",
                    incoming=direction != "outgoing",
                )
            )
