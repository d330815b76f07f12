"""The methods of knowledge memory that concern scopes."""

from collections.abc import Collection
from uuid import UUID

from commonplace.knowledge.scopes import moving
from commonplace.knowledge.scopes.moving import ScopeMove
from commonplace.knowledge.session import KnowledgeSession


class ScopeMethods(KnowledgeSession):
    """Scopes: move memories from one to another, and back."""

    async def move_scope(
        self,
        source: str,
        target: str,
        *,
        sessions: Collection[UUID | str] | None = None,
        dry_run: bool = False,
    ) -> ScopeMove:
        """Move the memories of a scope to another one; see :func:`~.scopes.moving.move_scope`."""
        async with self.acting() as pool:
            return await moving.move_scope(
                pool, source, target, sessions=sessions, dry_run=dry_run, clock=self.clock
            )

    async def move_memory(self, memory_type: str, memory_id: UUID | str, target: str) -> ScopeMove:
        """Move a fact or rule to another scope, such as ``global``; see :func:`~.scopes.moving.move_memory`."""
        async with self.acting() as pool:
            return await moving.move_memory(pool, memory_type, memory_id, target, clock=self.clock)

    async def undo_scope_move(self, event_id: UUID | str) -> ScopeMove:
        """Undo a move between scopes; see :func:`~.scopes.moving.undo_scope_move`."""
        async with self.acting() as pool:
            return await moving.undo_scope_move(pool, event_id)

    async def last_scope_move(self, source: str, target: str) -> UUID:
        """Return the event of the latest move between two scopes that was not undone."""
        async with self.acting() as pool:
            return await moving.last_scope_move(pool, source, target)
