"""Tools that give feedback: a memory still holds, a rule helped, a rule did harm."""

from typing import Annotated, Any, Final

from pydantic import Field

from commonplace.knowledge import KnowledgeMemory, Rule
from commonplace.mcp.knowledge.parameters import MemoryId, MemoryTypeName, RuleId
from commonplace.mcp.knowledge.tool import Offer


async def memory_confirm(
    memory: KnowledgeMemory, *, memory_type: MemoryTypeName, memory_id: MemoryId
) -> dict[str, Any]:
    """Say that a fact or rule still holds, after you saw that it does; this restarts its fading.

    Unconfirmed knowledge loses confidence day by day and is forgotten in the end. Episodes cannot be confirmed. If
    it does not hold any more, store the new fact, or call memory_forget.
    """
    await memory.confirm_memory(memory_type, memory_id)
    return {"confirmed": True, "memory_type": memory_type, "id": memory_id}


async def memory_mark_helpful(memory: KnowledgeMemory, *, rule_id: RuleId) -> Rule:
    """Say that a rule was followed and helped. Call it once for each time that the rule was applied.

    Rules that help are promoted: candidate, established, proven. Returns the rule as it stands now.
    """
    return await memory.mark_helpful(rule_id)


async def memory_mark_harmful(
    memory: KnowledgeMemory,
    *,
    rule_id: RuleId,
    reason: Annotated[
        str | None, Field(description="What went wrong, in one sentence; it is kept with the rule.")
    ] = None,
) -> Rule:
    """Say that a rule was followed and did harm. This weighs four times as much as help.

    A rule that keeps doing harm is turned into a warning against itself. Returns the rule as it stands now.
    """
    return await memory.mark_harmful(rule_id, reason=reason)


OFFERS: Final = (
    Offer(run=memory_confirm, title="Confirm a memory"),
    Offer(run=memory_mark_helpful, title="Mark a rule helpful"),
    Offer(run=memory_mark_harmful, title="Mark a rule harmful"),
)
