"""Tools for upkeep: forget, count, consolidate, clean up."""

from dataclasses import replace
from typing import Annotated, Any, Final, NotRequired, cast
from uuid import UUID

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.access import Role
from commonplace.core.errors import SettingsError
from commonplace.knowledge import (
    DEFAULT_MAX_ENTRIES,
    CleanupReceipt,
    KnowledgeMemory,
    MaxEntries,
    MemoryStats,
    Scope,
)
from commonplace.mcp.knowledge.parameters import MemoryId, MemoryTypeName
from commonplace.mcp.protocol.tool import ToolSpec

RUN_HINT: Final = (
    "Do not call the tool again at once: failed and busy episodes are retried later. "
    "The operator can see and undo each run with `commonplace knowledge runs`."
)

StatsScope = Annotated[
    Scope | None,
    Field(
        description="Name of a butler: only its own and global facts and rules are counted, and all episodes. "
        "Leave it out to count all memories."
    ),
]


class Forgotten(TypedDict):
    """A forgotten memory."""

    forgotten: bool
    memory_type: str
    id: UUID


class Consolidated(TypedDict):
    """The numbers of episodes; if a model was asked, also its runs and the numbers of their changes."""

    episodes_pending: int
    groups: dict[str, int]
    consolidated: bool
    episodes_consolidated: NotRequired[int]
    runs: NotRequired[list[dict[str, Any]]]
    failed: NotRequired[list[str]]
    errors: NotRequired[list[str]]
    hint: str


async def memory_forget(
    memory: KnowledgeMemory, *, memory_type: MemoryTypeName, memory_id: MemoryId
) -> Forgotten:
    """Remove a memory from every search and prompt, because it is wrong or the user asked for it.

    To correct a fact, store the right one under the same subject and predicate instead. The audit trail keeps the
    events of the memory, but no tool can restore it.
    """
    forgotten = await memory.forget(memory_type, memory_id)
    return {"forgotten": True, "memory_type": memory_type, "id": forgotten.id}


async def memory_stats(memory: KnowledgeMemory, *, scope: StatsScope = None) -> MemoryStats:
    """Count episodes, facts and rules by their state. For operators and health checks.

    Returns numbers only. To find out whether something is known, use memory_search.
    """
    return await memory.stats(scope=scope)


async def memory_run_consolidation(memory: KnowledgeMemory) -> Consolidated:
    """Let the configured model consolidate pending episodes into facts and rules. For operators.

    The call does not search memory, and it may take minutes. Without a model it only counts the episodes.
    Returns the number of episodes of each butler and the results.
    """
    try:
        report = await memory.runs.consolidate_as_configured()
    except SettingsError as error:
        report = replace(await memory.runs.consolidate(), note=f"Nothing was changed. {error}")
    shown = (
        report.counted() | {"hint": report.note} if report.dry_run else report.to_json() | {"hint": RUN_HINT}
    )
    return cast("Consolidated", shown)


async def memory_run_episode_cleanup(
    memory: KnowledgeMemory, *, max_entries: MaxEntries = DEFAULT_MAX_ENTRIES
) -> CleanupReceipt:
    """Delete expired episodes, then the oldest consolidated episodes over a limit. For operators.

    Deleted episodes cannot be restored. Returns expired_deleted, capacity_deleted and remaining.

    Parameters:
        max_entries: The number of episodes to keep; unconsolidated episodes always stay.
    """
    return await memory.upkeep.cleanup(max_entries=max_entries)


TOOLS: Final = (
    ToolSpec(
        run=memory_forget,
        title="Forget a memory",
        destroys=True,
        repeatable=True,
        agent=("memory_type", "memory_id"),
    ),
    ToolSpec(run=memory_stats, title="Count memories", reads_only=True, repeatable=True),
    ToolSpec(run=memory_run_consolidation, title="Consolidate episodes", needs=Role.ADMIN, is_long=True),
    ToolSpec(
        run=memory_run_episode_cleanup,
        title="Clean up episodes",
        destroys=True,
        repeatable=True,
        needs=Role.ADMIN,
    ),
)
