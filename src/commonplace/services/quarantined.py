"""Operational, app and workspace memories whose text looks like an instruction, and a person's decisions about them.

Blocks leave such a memory out until a person approves its text; see :mod:`commonplace.core.quarantine`. Knowledge
memory lists its own in ``KnowledgeMemory.reviews.waiting()``.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.instructions import Flag
from commonplace.operational import GENERAL, MemoryFilter
from commonplace.services.opening import Memories

LETTERS: Final = "oaw"
"""The first letters of the ids: operational, app and workspace memory."""

MOST_READ: Final = 5_000
"""The maximum number of operational memories that are compared with the patterns. No prompt has room for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A memory in quarantine.

    Attributes:
        id: The letter of its memory and its id there: ``o:12``, ``a:7``, ``w:m-2``.
        flags: The reasons why the text looks like an instruction.
        about: The category and service of an operational memory, or the app of an app memory.
    """

    id: str
    text: str
    flags: tuple[Flag, ...]
    about: str = ""


async def list_quarantined(memories: Memories) -> list[Quarantined]:
    """Return the memories in quarantine: operational memories, then app memories, then workspace memories.

    Operational memories are listed if they are active, the most trusted first; no prompt shows the others anyway.

    Raises:
        StorageError: A memory cannot be read.
    """
    wanted = MemoryFilter(active=True, sort="confidence", limit=MOST_READ)
    found: list[tuple[str, str, str, tuple[Flag, ...]]] = [
        (f"o:{one.id}", one.observation, f"{one.category}: {one.service or GENERAL}", ())
        for one in await memories.operational.list_memories(wanted)
    ]
    for listed in await memories.apps.registry.list():
        app_id = listed.app.app_id
        found += [
            (f"a:{one.id}", one.content, app_id, one.metadata.flags)
            for one in await memories.apps.list_memories(app_id)
        ]
    found += [
        (f"w:{one.id}", one.text, "", ()) for one in (await memories.workspace.search(limit=None)).memories
    ]
    flags = memories.operational.quarantine.flags
    return await asyncio.to_thread(
        lambda: [
            Quarantined(id=key, text=text, flags=why, about=about)
            for key, text, about, of_source in found
            if (why := flags(text, of_source))
        ]
    )


async def decide(memories: Memories, wanted: str, *, confirm: bool) -> None:
    """Approve a memory in quarantine, so that blocks show it, or delete it.

    Raises:
        InvalidInputError: The id is not of the form ``o:12``, ``a:7`` or ``w:m-2``.
        NotFoundError: No such memory is in quarantine.
    """
    if wanted[:1] not in LETTERS:
        raise InvalidInputError("id", "the id of a memory in quarantine, such as o:12, a:7 or w:m-2", wanted)
    held = next((one for one in await list_quarantined(memories) if one.id == wanted), None)
    if held is None:
        raise NotFoundError("memory in quarantine", wanted)
    kind, _, memory_id = held.id.partition(":")
    if confirm:
        memories.operational.quarantine.release(held.text, held.flags)
    elif kind == "o":
        await memories.operational.delete([int(memory_id)])
    elif kind == "a":
        await memories.apps.delete(int(memory_id))
    else:
        await memories.workspace.delete(memory_id)
