"""Memories whose notes a person deleted in a mirror: forget them, or have the notes written again."""

import asyncio
from pathlib import Path

from commonplace.core.errors import NotFoundError
from commonplace.knowledge import Fact, KnowledgeMemory, Rule, short_id
from commonplace.services.mirrors.edits import is_undecided
from commonplace.services.mirrors.registry import MirrorRegistry, NoteRecord
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.items import Item, Side, Topic


async def list_items(knowledge: KnowledgeMemory, *, limit: int) -> list[Item]:
    """Return the memories of a tenant whose notes were deleted, and about which nobody decided since.

    Raises:
        SettingsError: The file with the mirrors cannot be read.
        StorageUnavailableError: The server cannot be reached.
    """
    items: dict[str, Item] = {}
    mirrors = await asyncio.to_thread(MirrorRegistry(knowledge.database.settings.home).list)
    for mirror in mirrors:
        if mirror.tenant_id == knowledge.tenant_id:
            for record in mirror.notes.values():
                item = await _item(knowledge, record, mirror.path)
                if item is not None and len(items) < limit:
                    items.setdefault(item.id, item)
    return list(items.values())


async def _item(knowledge: KnowledgeMemory, record: NoteRecord, folder: Path) -> Item | None:
    if record.deleted_at is None:
        return None
    kind, _, id_ = record.memory.partition(":")
    try:
        memory = await knowledge.read(kind, id_)
    except NotFoundError:
        return None
    if not isinstance(memory, Fact | Rule) or not memory.is_current or not is_undecided(record, memory):
        return None
    key = ItemId(kind=ItemKind.MEMORY, first=short_id(memory.memory_type, memory.id))
    return Item(
        id=str(key),
        topic=Topic.DELETED,
        reason=f"Its note in {folder} was deleted. If you confirm the memory, the next export writes it again.",
        about="",
        sides=(Side(role="This", kind=memory.memory_type, id=str(memory.id), text=memory.content),),
        verdicts=key.verdicts,
        since=record.deleted_at,
    )
