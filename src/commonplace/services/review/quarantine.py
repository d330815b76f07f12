"""Operational, app and workspace memories whose text looks like an instruction, and decisions about them.

Blocks leave such a memory out until a person approves its text; see :mod:`commonplace.core.quarantine`. Knowledge
memory lists its own in :meth:`~commonplace.knowledge.KnowledgeMemory.reviews.waiting`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from commonplace import operational
from commonplace.core.errors import NotFoundError
from commonplace.core.instructions import Flag, in_words
from commonplace.services.review.ids import ItemId, quarantined_id
from commonplace.services.review.items import DecisionReceipt, Item, ReviewVerdict, Side, Topic
from commonplace.services.review.knowledge import REASONS

if TYPE_CHECKING:
    from commonplace.services.opening import Memories

MOST_READ: Final = 5_000
"""The maximum number of operational memories that are compared with the patterns. No prompt has room for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedMemory:
    """A memory in quarantine.

    Attributes:
        flags: The reasons why the text looks like an instruction.
        about: The category and service of an operational memory, or the app of an app memory.
    """

    key: ItemId
    text: str
    flags: tuple[Flag, ...] = ()
    about: str = ""

    @property
    def side(self) -> Side:
        """The memory as the only side of an item."""
        letter, _, memory_id = self.key.first.partition(":")
        kind, side_id = {"o": ("memory", memory_id), "a": ("digest", self.about), "w": ("note", "")}[letter]
        return Side(role="This", kind=kind, id=side_id, text=self.text)


async def list_items(memories: "Memories", *, limit: int) -> list[Item]:
    """Return the memories in quarantine as items, at most ``limit``; see :func:`list_quarantined`."""
    return [_item(memory) for memory in (await list_quarantined(memories))[:limit]]


async def list_quarantined(memories: "Memories") -> list[QuarantinedMemory]:
    """Return the memories in quarantine: operational memories, then app memories, then workspace memories.

    Operational memories are listed if they are active, the most trusted first; no prompt shows the others anyway.

    Raises:
        StorageError: A memory cannot be read.
    """
    candidates = [
        *await _of_operational(memories),
        *await _of_apps(memories),
        *await _of_workspace(memories),
    ]
    return await asyncio.to_thread(_flagged, memories, candidates)


async def decide(memories: "Memories", key: ItemId, verdict: ReviewVerdict) -> DecisionReceipt:
    """Approve a memory in quarantine, so that blocks show it, or delete it.

    Raises:
        NotFoundError: No such memory is in quarantine.
    """
    memory = next((each for each in await list_quarantined(memories) if each.key == key), None)
    if memory is None:
        raise NotFoundError("memory in quarantine", str(key))
    letter, _, memory_id = key.first.partition(":")
    if verdict is ReviewVerdict.CONFIRM:
        memories.operational.quarantine.release(memory.text, memory.flags)
    elif letter == "o":
        await memories.operational.delete([int(memory_id)])
    elif letter == "a":
        await memories.apps.delete(int(memory_id))
    else:
        await memories.workspace.delete(key.first)
    return DecisionReceipt(id=str(key), verdict=verdict, undoable=False)


async def _of_operational(memories: "Memories") -> list[QuarantinedMemory]:
    trusted = operational.MemoryFilter(active=True, sort="confidence", limit=MOST_READ)
    return [
        QuarantinedMemory(
            key=quarantined_id("o", each.id),
            text=each.observation,
            about=f"{each.category}: {each.service or operational.GENERAL}",
        )
        for each in await memories.operational.list_memories(trusted)
    ]


async def _of_apps(memories: "Memories") -> list[QuarantinedMemory]:
    """Return the memories of all apps, with the flags of the messages that they were taken from."""
    return [
        QuarantinedMemory(
            key=quarantined_id("a", each.id),
            text=each.content,
            flags=each.metadata.flags,
            about=listed.app.app_id,
        )
        for listed in await memories.apps.registry.list()
        for each in await memories.apps.list_memories(listed.app.app_id)
    ]


async def _of_workspace(memories: "Memories") -> list[QuarantinedMemory]:
    return [
        QuarantinedMemory(key=quarantined_id("w", each.id), text=each.text)
        for each in (await memories.workspace.search(limit=None)).memories
    ]


def _flagged(memories: "Memories", candidates: Sequence[QuarantinedMemory]) -> list[QuarantinedMemory]:
    """Return the candidates that no person has approved, with all their flags."""
    flags = memories.operational.quarantine.flags
    return [
        QuarantinedMemory(key=each.key, text=each.text, flags=why, about=each.about)
        for each in candidates
        if (why := flags(each.text, each.flags))
    ]


def _item(memory: QuarantinedMemory) -> Item:
    why = in_words(memory.flags)
    return Item(
        id=str(memory.key),
        topic=Topic.FLAGGED,
        reason=f"{REASONS[Topic.FLAGGED]} Forgetting it cannot be undone. Why: {why}.",
        about=memory.about,
        sides=(memory.side,),
        verdicts=memory.key.verdicts,
    )
