"""Receipts of stores and deletes."""

from dataclasses import dataclass

from commonplace.workspace.model.memories import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReceipt:
    """The stored memory, and the oldest memories that were deleted to make room for it."""

    memory: Note
    pruned: tuple[Note, ...]

    @property
    def id(self) -> str:
        """The id of the new memory."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReceipt:
    """The deleted memories: more than one only if the file held the id more than once."""

    deleted: tuple[Note, ...]

    @property
    def id(self) -> str:
        """The id of the deleted memory."""
        return self.deleted[0].id
