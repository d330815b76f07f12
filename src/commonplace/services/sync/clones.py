"""Clones whose first session began before a sync brought their project on another device.

Such a clone has an id of its own. As long as nothing was learned under the id, the clone uses the memory of the other
project, as after `commonplace project merge`.

Source: ADR 0016, SYN-10.
"""

import asyncio
from collections.abc import Collection

from commonplace.knowledge import KnowledgeMemory
from commonplace.projects import Projects


def distant_ids(projects: Projects) -> frozenset[str]:
    """Return the ids of the projects of other devices."""
    return frozenset(each.id for each in projects.elsewhere())


async def settle_clones(projects: Projects, knowledge: KnowledgeMemory, known: Collection[str]) -> None:
    """Let clones without memories use those of the projects that a sync has brought.

    If neither project has memories, the one with the smaller id is used, on every device.

    Args:
        projects: Those of the home.
        knowledge: Its knowledge memory.
        known: The ids of projects of other devices that were known before the sync: a person may have decided on them.

    Raises:
        StorageError: The projects or the memories cannot be read or written.
    """
    new = await asyncio.to_thread(distant_ids, projects) - frozenset(known)
    for clone, distant in await asyncio.to_thread(projects.clones_of, new):
        if await _has_memories(knowledge, clone.id, distant.id):
            continue
        if distant.id < clone.id or await _has_memories(knowledge, distant.id, clone.id):
            await asyncio.to_thread(projects.set_merged, clone.id, distant.id)
    await _move_late(projects, knowledge)


async def _move_late(projects: Projects, knowledge: KnowledgeMemory) -> None:
    """Move what a server that still runs has stored for a project since it uses the memory of another one."""
    for each in await asyncio.to_thread(projects.list_projects):
        owner = await asyncio.to_thread(projects.standing_for, each)
        if owner.id != each.id:
            await knowledge.scopes.move(each.id, owner.id)


async def _has_memories(knowledge: KnowledgeMemory, scope: str, other: str) -> bool:
    return (await knowledge.scopes.move(scope, other, dry_run=True)).count > 0
