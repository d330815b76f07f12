"""Receipts of stores and deletes."""

from dataclasses import dataclass

from commonplace.workspace.model.memories import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReceipt:
    """The note that holds a text after a store.

    Attributes:
        pruned: The oldest notes, which were deleted to make room.
        repeated: Whether the note was there before, with the same words, scope and tags; nothing was written.
        same: Older notes that say the same in other words; blocks show one of them.
        opposed: Older notes that the note may contradict, or may not replace; each pair waits in the review queue.
        replaced: The note that was deleted, because the call named it; the pair can be reopened.
    """

    memory: Note
    pruned: tuple[Note, ...] = ()
    repeated: bool = False
    same: tuple[Note, ...] = ()
    opposed: tuple[Note, ...] = ()
    replaced: Note | None = None

    @property
    def id(self) -> str:
        """The id of the note."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReceipt:
    """The deleted memories: more than one only if the file held the id more than once."""

    deleted: tuple[Note, ...]

    @property
    def id(self) -> str:
        """The id of the deleted memory."""
        return self.deleted[0].id
