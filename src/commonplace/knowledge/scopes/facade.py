"""The methods of knowledge memory that concern scopes."""

from collections.abc import Collection
from uuid import UUID

from commonplace.knowledge.kinds import GLOBAL_SCOPE
from commonplace.knowledge.scopes import moving
from commonplace.knowledge.scopes.moving import ScopeMove
from commonplace.knowledge.session import KnowledgeSession


class ScopeMethods(KnowledgeSession):
    """Scopes: move, promote, demote, undo."""

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

    async def promote(self, memory_type: str, memory_id: UUID | str, *, scope: str) -> ScopeMove:
        """Move a fact or rule of a scope to the global one; see :func:`~.scopes.moving.move_memory`."""
        async with self.acting() as pool:
            return await moving.move_memory(
                pool, memory_type, memory_id, scope, GLOBAL_SCOPE, clock=self.clock
            )

    async def demote(self, memory_type: str, memory_id: UUID | str, *, scope: str) -> ScopeMove:
        """Move a global fact or rule to a scope; see :func:`~.scopes.moving.move_memory`."""
        async with self.acting() as pool:
            return await moving.move_memory(
                pool, memory_type, memory_id, GLOBAL_SCOPE, scope, clock=self.clock
            )

    async def undo_scope_move(self, event_id: UUID | str) -> ScopeMove:
        """Undo a move between scopes; see :func:`~.scopes.moving.undo_scope_move`."""
        async with self.acting() as pool:
            return await moving.undo_scope_move(pool, event_id)

    async def last_scope_move(self, source: str, target: str) -> UUID:
        """Return the event of the latest move between two scopes that was not undone."""
        async with self.acting() as pool:
            return await moving.last_scope_move(pool, source, target)
