"""Tools for feedback: confirm a memory, mark a rule as helpful or harmful."""

from typing import Final
from uuid import UUID

from typing_extensions import TypedDict

from commonplace.knowledge import KnowledgeMemory, Rule
from commonplace.mcp.knowledge.parameters import MemoryId, MemoryTypeName, RuleId
from commonplace.mcp.protocol.tool import ToolSpec


class Confirmed(TypedDict):
    """A confirmed memory."""

    confirmed: bool
    memory_type: str
    id: UUID


async def memory_confirm(
    memory: KnowledgeMemory, *, memory_type: MemoryTypeName, memory_id: MemoryId
) -> Confirmed:
    """Confirm that a fact or rule still holds, after you have seen that it does. This restarts its decay.

    Unconfirmed knowledge loses confidence every day and is eventually forgotten. Episodes cannot be confirmed. If
    the memory no longer holds, store the new fact, or call memory_forget.
    """
    confirmed = await memory.confirm(memory_type, memory_id)
    return {"confirmed": True, "memory_type": memory_type, "id": confirmed.id}


async def memory_mark_helpful(memory: KnowledgeMemory, *, rule_id: RuleId) -> Rule:
    """Mark a rule as helpful after you followed it. Call this once for each application of the rule.

    This also confirms the rule. Helpful rules are promoted: candidate, established, proven. Returns the rule after
    the change.
    """
    return await memory.mark_helpful(rule_id)


async def memory_mark_harmful(memory: KnowledgeMemory, *, rule_id: RuleId, reason: str | None = None) -> Rule:
    """Mark a rule as harmful after you followed it. A harmful mark weighs as much as four helpful ones.

    A rule that keeps doing harm becomes a warning. Returns the rule after the change.

    Parameters:
        reason: The harm, in one sentence; it is kept with the rule.
    """
    return await memory.mark_harmful(rule_id, reason=reason)


TOOLS: Final = (
    ToolSpec(run=memory_confirm, title="Confirm a memory", agent=("memory_type", "memory_id")),
    ToolSpec(run=memory_mark_helpful, title="Mark a rule helpful", agent=("rule_id",)),
    ToolSpec(run=memory_mark_harmful, title="Mark a rule harmful", agent=("rule_id", "reason")),
)
