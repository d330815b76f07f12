"""Moves of memories from one scope to another, and back.

Merging projects and promoting memories to the global scope use moves. If both scopes have a fact with the same key,
the more trusted fact stays and supersedes the other; of equally trusted facts, the newer stays. The event of a move
contains everything that an undo needs.
Source: PRJ-01, PRJ-02.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from commonplace.core.clock import Clock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.quoting import quoted
from commonplace.knowledge.browse.single_memories import read_one
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.inputs import require_id, require_ids, require_memory_type, require_scope
from commonplace.knowledge.model.kinds import Episode, MemoryType
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.id_lookup import find_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMove:
    """Memories that moved from one scope to another.

    Attributes:
        event_id: The event of the move, for its undo; ``None`` if there was nothing to move.
        source: The old scope.
        target: The new scope.
        facts: The moved facts, in any state.
        superseded: Pairs of facts with the same key: the fact that stays, and the fact that it superseded.
    """

    event_id: UUID | None
    source: str
    target: str
    episodes: tuple[UUID, ...] = ()
    facts: tuple[UUID, ...] = ()
    rules: tuple[UUID, ...] = ()
    superseded: tuple[tuple[UUID, UUID], ...] = ()

    @property
    def count(self) -> int:
        """The number of memories."""
        return len(self.episodes) + len(self.facts) + len(self.rules)

    @classmethod
    def of(
        cls, source: str, target: str, rows: Sequence[Columns], pairs: Sequence[Columns] = ()
    ) -> "ScopeMove":
        """Return the move of rows with ``memory_type`` and ``id``."""
        return cls(
            event_id=None,
            source=source,
            target=target,
            episodes=_ids(rows, MemoryType.EPISODE),
            facts=_ids(rows, MemoryType.FACT),
            rules=_ids(rows, MemoryType.RULE),
            superseded=tuple((pair["stays_id"], pair["superseded_id"]) for pair in pairs),
        )

    @classmethod
    def from_payload(cls, event_id: UUID, payload: Mapping[str, Any]) -> "ScopeMove":
        """Return the move that an event records."""
        return cls(
            event_id=event_id,
            source=payload["source"],
            target=payload["target"],
            episodes=tuple(map(UUID, payload["episodes"])),
            facts=tuple(map(UUID, payload["facts"])),
            rules=tuple(map(UUID, payload["rules"])),
            superseded=tuple((UUID(stays), UUID(superseded)) for stays, superseded in payload["superseded"]),
        )

    def to_payload(self) -> dict[str, Any]:
        """Return the record of the move for its event."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "event_id"}


class Scopes:
    """Moves of memories between scopes, and their undo."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def move(
        self,
        source: str,
        target: str,
        *,
        sessions: Collection[UUID | str] | None = None,
        dry_run: bool = False,
    ) -> ScopeMove:
        """Move the memories of a scope to another one.

        Args:
            source: The scope of the memories; of episodes, the butler.
            target: Their new scope.
            sessions: Move only the episodes of these sessions, and the facts and rules that came from them.
            dry_run: Return the memories that would move, and roll the move back.

        Raises:
            InvalidInputError: A scope is malformed, both are the same, or the id of a session is not a UUID.
        """
        wanted = _wanted(source, target, sessions)
        async with self._session.writing() as sql:
            rows = await sql.memories_to_move(source=source, sessions=wanted, ids=None)
            if not dry_run:
                return await _move(sql, source, target, rows, self._session.clock)
            attempt = sql.connection.transaction()
            await attempt.start()
            try:
                return replace(await _move(sql, source, target, rows, self._session.clock), event_id=None)
            finally:
                await attempt.rollback()

    async def move_memory(self, memory_type: str, memory_id: UUID | str, target: str) -> ScopeMove:
        """Move one fact or rule to another scope, such as ``global``.

        Raises:
            InvalidInputError: The type, id or scope is malformed, the memory is an episode, or it already is in that
                scope.
            NotFoundError: The memory does not exist.
        """
        kind = require_memory_type(memory_type)
        async with self._session.writing() as sql:
            key = await find_id(sql, memory_id, kind, field="memory_id")
            memory = await read_one(sql, kind, key, now=self._session.clock())
            if isinstance(memory, Episode):
                raise InvalidInputError(
                    "memory_type", "fact or rule, because an episode belongs to its session", kind
                )
            _wanted(memory.scope, target, None)
            rows = await sql.memories_to_move(source=memory.scope, sessions=None, ids=[key])
            return await _move(sql, memory.scope, target, rows, self._session.clock)

    async def undo(self, event_id: UUID | str) -> ScopeMove:
        """Undo a move and return the memories that moved back.

        A memory stays in place if it has moved again since, or if a fact with its key has been stored in the old scope.

        Raises:
            InvalidInputError: The id is not a UUID.
            ConflictError: The move was already undone.
            NotFoundError: No move has this event.
        """
        key = require_id(event_id, field="event_id")
        async with self._session.writing() as sql:
            row = await sql.scope_move(event_id=key)
            if row is None:
                raise NotFoundError("move", str(key))
            if row["is_undone"]:
                raise ConflictError("event_id", f"The move {key} was already undone.", str(key))
            return await _undo(sql, ScopeMove.from_payload(key, row["payload"]))

    async def undo_all(self, source: str, target: str) -> list[ScopeMove]:
        """Undo all moves from one scope to another that were not undone, latest first; return the moves back.

        See :meth:`undo` for memories that stay in place. All moves are undone, or none.

        Raises:
            InvalidInputError: A scope is malformed, or both are the same.
        """
        _wanted(source, target, None)
        async with self._session.writing() as sql:
            rows = await sql.standing_scope_moves(source=source, target=target)
            return [await _undo(sql, ScopeMove.from_payload(row["id"], row["payload"])) for row in rows]


async def _undo(sql: KnowledgeStatements, made: ScopeMove) -> ScopeMove:
    """Move back the memories of a move, and return the move back with its event."""
    free = await sql.movable_back(facts=list(made.facts), source=made.source, target=made.target)
    rows = await sql.rescope_memories(
        source=made.target,
        target=made.source,
        episodes=list(made.episodes),
        facts=[each["id"] for each in free],
        rules=list(made.rules),
    )
    stays, superseded = ([pair[end] for pair in made.superseded] for end in (0, 1))
    restored = {each["id"] for each in await sql.restore_rivals(stays=stays, superseded=superseded)}
    back = ScopeMove.of(made.target, made.source, rows)
    payload = back.to_payload() | {
        "move_id": made.event_id,
        "restored": [each for each in superseded if each in restored],
    }
    return replace(back, event_id=await record_event(sql, EventType.SCOPE_MOVE_UNDONE, payload=payload))


async def _move(
    sql: KnowledgeStatements, source: str, target: str, rows: Sequence[Columns], clock: Clock
) -> ScopeMove:
    if not rows:
        return ScopeMove(event_id=None, source=source, target=target)
    pairs = await sql.rival_facts(ids=list(_ids(rows, MemoryType.FACT)), target=target)
    move = ScopeMove.of(source, target, rows, pairs)
    if pairs:
        stays, superseded = ([pair[end] for pair in move.superseded] for end in (0, 1))
        await sql.supersede_rivals(stays=stays, superseded=superseded, now=clock())
    await sql.rescope_memories(
        source=source,
        target=target,
        episodes=list(move.episodes),
        facts=list(move.facts),
        rules=list(move.rules),
    )
    return replace(move, event_id=await record_event(sql, EventType.SCOPE_MOVED, payload=move.to_payload()))


def _wanted(source: str, target: str, sessions: Collection[UUID | str] | None) -> list[UUID] | None:
    require_scope(source, field="source")
    require_scope(target, field="target")
    if source == target:
        raise InvalidInputError("target", f"a scope other than {quoted(source)}", target)
    return None if sessions is None else require_ids(sessions, field="sessions")


def _ids(rows: Sequence[Columns], kind: MemoryType) -> tuple[UUID, ...]:
    return tuple(row["id"] for row in rows if row["memory_type"] == kind)
