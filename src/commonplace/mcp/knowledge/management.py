"""Tools that look after the memory: forget, count, consolidate, clean up."""

from dataclasses import asdict, replace
from typing import Annotated, Any, Final

from pydantic import Field

from commonplace.core.errors import SettingsError
from commonplace.knowledge import KnowledgeMemory, consolidate
from commonplace.mcp.knowledge.parameters import MemoryId, MemoryTypeName, ScopeFilter, bounds
from commonplace.mcp.knowledge.tool import Offer

RUN_HINT: Final = (
    "Do not call it again at once: what failed or is busy is tried again later. "
    "The operator can see and undo each run with `commonplace knowledge runs`."
)


async def memory_forget(
    memory: KnowledgeMemory, *, memory_type: MemoryTypeName, memory_id: MemoryId
) -> dict[str, Any]:
    """Take a memory out of every search and every prompt, because it is wrong or the user asked for it.

    To correct a fact, store the right one under the same subject and predicate instead. The record stays in the audit
    trail, and no tool brings it back.
    """
    await memory.forget_memory(memory_type, memory_id)
    return {"forgotten": True, "memory_type": memory_type, "id": memory_id}


async def memory_stats(memory: KnowledgeMemory, *, scope: ScopeFilter = None) -> dict[str, Any]:
    """Count what is remembered: episodes, facts and rules by their state. For operators and checks of health.

    Returns numbers only. To find out whether something is known, use memory_search.
    """
    return asdict(await memory.stats(scope=scope))


async def memory_run_consolidation(memory: KnowledgeMemory) -> dict[str, Any]:
    """Have the episodes that wait consolidated into facts and rules by the configured model. For operators.

    It is no way to look anything up, and may take minutes. Without a model the episodes are counted, and nothing is
    changed. Returns the number of episodes of each butler, and what was done with them.
    """
    try:
        report = await consolidate(memory)
    except SettingsError as error:
        report = replace(await memory.run_consolidation(), note=f"Nothing was changed. {error}")
    if report.dry_run:
        return report.counted() | {"hint": report.note}
    return report.to_json() | {"hint": RUN_HINT}


async def memory_run_episode_cleanup(
    memory: KnowledgeMemory,
    *,
    max_entries: Annotated[
        int,
        bounds(0),
        bounds(0),
        Field(description="Most episodes to keep; episodes that are not consolidated yet stay in any case."),
    ] = 10_000,
) -> dict[str, Any]:
    """Delete expired episodes, then the oldest consolidated ones beyond a number. For operators.

    What it deletes is gone. Returns expired_deleted, capacity_deleted and remaining.
    """
    return asdict(await memory.run_episode_cleanup(max_entries=max_entries))


OFFERS: Final = (
    Offer(run=memory_forget, title="Forget a memory", destroys=True, repeatable=True),
    Offer(run=memory_stats, title="Count memories", reads_only=True, repeatable=True),
    Offer(run=memory_run_consolidation, title="Consolidate episodes"),
    Offer(run=memory_run_episode_cleanup, title="Clean up episodes", destroys=True, repeatable=True),
)
