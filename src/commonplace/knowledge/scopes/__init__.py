"""Scopes: moving memories between projects, and promoting them to everybody."""

from commonplace.knowledge.scopes.moving import (
    ScopeMove,
    last_scope_move,
    move_memory,
    move_scope,
    undo_scope_move,
)

__all__ = ["ScopeMove", "last_scope_move", "move_memory", "move_scope", "undo_scope_move"]
