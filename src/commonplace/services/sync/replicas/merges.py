"""Memories of merged projects: each device moves its own to where the merges of all devices say.

A merge moves the memories that its device has. Another device, which may have been away, has more of them.
"""

import asyncio

from commonplace.knowledge import KnowledgeMemory
from commonplace.projects import Projects


async def follow_merges(memory: KnowledgeMemory, projects: Projects) -> None:
    """Move the memories of this device as the merges of projects say; after a kill, the next call does the rest.

    Raises:
        StorageError: The memories or the file with the projects cannot be used.
    """
    moves = await asyncio.to_thread(projects.project_moves)
    if moves is None:
        return
    for merge in moves.backward:
        await memory.scopes.undo_all(*merge)
    for merge in moves.forward:
        await memory.scopes.move(*merge)
    await asyncio.to_thread(projects.note_moves, moves)
