"""The shelf of app memory: digests."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from commonplace.apps import AppMemory, Digest, Export
from commonplace.core.errors import UndoRefusedError
from commonplace.services.catalog.entries import (
    MAX_LISTED,
    CatalogEntry,
    CatalogFilter,
    HistoryStep,
    MemoryState,
    Verb,
)
from commonplace.services.catalog.shelf import ShelfChange, not_for, release
from commonplace.services.memory_ids import MemoryId, MemoryKind

_NO_FADING = "A digest does not fade, so there is nothing to confirm."


class Digests:
    """Digests in the catalog."""

    def __init__(self, memory: AppMemory) -> None:
        self._memory = memory

    async def get(self, memory_id: MemoryId) -> CatalogEntry:
        """Return a digest."""
        return digest_entry(await self._memory.get(memory_id.number))

    async def list(self, kind: MemoryKind, narrowing: CatalogFilter) -> Sequence[CatalogEntry]:  # noqa: ARG002 - one kind
        """Return the digests of all apps, newest first."""
        digests = await self._memory.figures.newest(limit=MAX_LISTED * 10)
        return [entry for each in digests if narrowing.matches(entry := digest_entry(each))][
            : narrowing.limit
        ]

    async def edit(self, memory_id: MemoryId, content: str, *, allow_secrets: bool) -> ShelfChange:
        """Change the text of a digest."""
        before = await self._memory.get(memory_id.number)
        after = await self._memory.edit(before.id, content, allow_secrets=allow_secrets)
        return ShelfChange(entry=digest_entry(after), undo={"content": before.content})

    async def confirm(self, memory_id: MemoryId) -> ShelfChange:
        """Let prompts show a flagged digest."""
        digest = await self._memory.get(memory_id.number)
        if not digest.flags:
            raise not_for(memory_id, "confirm", _NO_FADING)
        release(self._memory.quarantine, memory_id, digest.content, digest.metadata.flags)
        return ShelfChange(entry=digest_entry(await self._memory.get(digest.id)), undo=None)

    async def pin(self, memory_id: MemoryId, *, pinned: bool) -> ShelfChange:
        """Refuse: every conversation of its app sees a digest."""
        raise not_for(memory_id, "pin" if pinned else "unpin", "Only facts and rules can be pinned.")

    async def keep_for_undo(self, memory_id: MemoryId) -> Mapping[str, object]:
        """Return a digest as an export of its app."""
        digest = await self._memory.get(memory_id.number)
        app = await self._memory.registry.get(digest.app_id)
        export = Export(app=app, memories=(digest,), exported_at=self._memory.now())
        return {"app_id": digest.app_id, "document": export.as_json()}

    async def forget(self, memory_id: MemoryId) -> CatalogEntry:
        """Delete a digest; the journal keeps it for an undo."""
        digest = await self._memory.delete(memory_id.number)
        return replace(digest_entry(digest), state=MemoryState.FORGOTTEN)

    async def undo(self, memory_id: MemoryId, verb: Verb, state: Mapping[str, object]) -> ShelfChange:
        """Restore the text, or add a forgotten digest again, under a new id."""
        if verb is Verb.EDIT:
            after = await self._memory.edit(
                memory_id.number, str(state["content"]), allow_secrets=True, is_new=False
            )
            return ShelfChange(entry=digest_entry(after))
        document = cast("Mapping[str, Any]", state["document"])
        receipt = await self._memory.import_document(str(state["app_id"]), document)
        if not receipt.added:
            reason = (
                f"the digest {receipt.refused[0].reason}" if receipt.refused else "the app has this digest"
            )
            raise UndoRefusedError("id", "the forgetting", reason, str(memory_id))
        return ShelfChange(entry=digest_entry(receipt.added[0]))

    async def history(self, memory_id: MemoryId) -> Sequence[HistoryStep]:
        """Return the changes of a digest."""
        await self._memory.get(memory_id.number)
        return [
            HistoryStep(at=each.created_at, event=each.kind, actor=each.actor, text=each.after or each.reason)
            for each in await self._memory.history(memory_id.number)
        ]


def digest_entry(digest: Digest) -> CatalogEntry:
    """Return a digest as an entry."""
    memory_id = MemoryId.of(MemoryKind.DIGEST, digest.id)
    return CatalogEntry(
        id=str(memory_id),
        full_id=memory_id.full,
        kind=MemoryKind.DIGEST,
        state=MemoryState.FLAGGED if digest.flags else MemoryState.CURRENT,
        text=digest.content,
        content=digest.content,
        about=digest.app_id,
        created_at=digest.created_at,
        fields=_fields(digest),
    )


def _fields(digest: Digest) -> dict[str, object]:
    return {
        name: value for name, value in asdict(digest).items() if name not in {"quarantine", "metadata"}
    } | digest.metadata.as_dict()
