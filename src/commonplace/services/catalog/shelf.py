"""The port of a memory to the catalog."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from commonplace.core.errors import ConflictError
from commonplace.core.instructions import Flag
from commonplace.core.quarantine import Quarantine
from commonplace.core.request_context import current_context
from commonplace.core.sources import Source
from commonplace.services.catalog.entries import CatalogEntry, CatalogFilter, HistoryStep, Verb
from commonplace.services.memory_ids import MemoryId, MemoryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfChange:
    """A change that a shelf made.

    Attributes:
        entry: The memory after the change.
        undo: What the shelf needs to undo the change, as JSON; ``None`` if nothing changed.
        note: What else happened, as a sentence; may be empty.
    """

    entry: CatalogEntry
    undo: Mapping[str, object] | None = field(default_factory=dict[str, object])
    note: str = ""


class Shelf(Protocol):
    """The verbs on the memories of some kinds; ids name a memory of one of these kinds.

    Each method raises :class:`NotFoundError` for a memory that does not exist, and :class:`ConflictError` for a change
    that the kind or the state of the memory does not allow.
    """

    async def get(self, memory_id: MemoryId) -> CatalogEntry:
        """Return a memory in any state, without counting a use."""
        ...

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:
        """Return the memories of a kind that pass a filter, newest first."""
        ...

    async def edit(self, memory_id: MemoryId, content: str, *, allow_secrets: bool) -> ShelfChange:
        """Change the text of a memory."""
        ...

    async def confirm(self, memory_id: MemoryId) -> ShelfChange:
        """Say that a memory still holds."""
        ...

    async def pin(self, memory_id: MemoryId, *, pinned: bool) -> ShelfChange:
        """Show a memory in every prompt of its scope, or only where it is relevant."""
        ...

    async def keep_for_undo(self, memory_id: MemoryId) -> Mapping[str, object]:
        """Return what :meth:`undo` needs to bring a memory back, as JSON; :meth:`forget` may delete it."""
        ...

    async def forget(self, memory_id: MemoryId) -> CatalogEntry:
        """Remove a memory from every search and prompt, and return it."""
        ...

    async def undo(self, memory_id: MemoryId, verb: Verb, state: Mapping[str, object]) -> ShelfChange:
        """Undo a change; ``state`` is the ``undo`` of its :class:`ShelfChange`."""
        ...

    async def history(self, memory_id: MemoryId) -> Sequence[HistoryStep]:
        """Return the changes of a memory, oldest first."""
        ...


def not_for(memory_id: MemoryId, verb: str, reason: str) -> ConflictError:
    """Return the error for a verb that a kind of memory does not have; ``reason`` is a sentence."""
    return ConflictError("id", f"Cannot {verb} {memory_id}. {reason}", str(memory_id))


def release(quarantine: Quarantine, memory_id: MemoryId, text: str, flags: Sequence[Flag] = ()) -> None:
    """Let prompts show a flagged text, in the name of a person.

    Raises:
        ConflictError: The caller is an agent: a text that looks like an instruction must not approve itself.
    """
    context = current_context()
    if context is not None and context.source is not Source.PERSON:
        raise not_for(
            memory_id, "confirm", f"A person must decide about it: commonplace review {memory_id} confirm"
        )
    quarantine.release(text, flags)
