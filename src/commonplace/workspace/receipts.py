"""What a write did."""

from dataclasses import dataclass

from commonplace.workspace.entries import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReceipt:
    """The memory as it was written, and the oldest ones that made room for it."""

    memory: Memory
    pruned: tuple[Memory, ...]

    @property
    def id(self) -> str:
        """The id of the new memory."""
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReceipt:
    """The memories that went: more than one only where the file held the id more than once."""

    deleted: tuple[Memory, ...]

    @property
    def id(self) -> str:
        """The id that was deleted."""
        return self.deleted[0].id
