"""What goes when an app has more than ten memories: the prompt, the decision and its checks. Pure.

Source: APP-03, APP-05, R-APP-2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from commonplace.apps.compaction.conflicts import find_conflicts
from commonplace.apps.digests.digest import tidy_content
from commonplace.apps.memories import MAX_CONTENT_CHARS, MAX_MEMORIES, Memory
from commonplace.apps.receipts import Decider
from commonplace.language.words import likeness
from commonplace.llm.fence import data_notice, fence

DUPLICATE_LIKENESS: Final = 0.6
"""Share of common words from which the rule takes two memories for the same."""

MAX_REASON_CHARS: Final = 500

_TASK: Final = """You are a memory management assistant. You have {count} memories but can only keep {most}.

Analyze these memories and decide which ONE to either:
1. DELETE (remove entirely)
2. EDIT (the new memory is merged into it: give the merged text, at most {chars} characters)

Prefer to remove what is redundant, outdated or of little value."""

_FORM: Final = """Decision format:
{
  "action": "delete" | "edit",
  "targetMemoryId": <id>,
  "newContent": "<merged content if editing>",
  "reason": "<explanation>"
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCompactionRequest:
    """The memories that an app has, the first in first, and the new one that is one too many."""

    app_id: str
    existing_memories: tuple[Memory, ...]
    new_memory: Memory

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All of them."""
        return (*self.existing_memories, self.new_memory)


class MemoryCompactionDecision(BaseModel):
    """What a model decides, as the specification writes it."""

    model_config = ConfigDict(populate_by_name=True)

    action: Literal["delete", "edit"]
    target_memory_id: int = Field(alias="targetMemoryId")
    new_content: str | None = Field(default=None, alias="newContent")
    reason: str = ""


class InvalidDecisionError(ValueError):
    """A decision that cannot be carried out; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done: remove a memory, or merge the new one into another under a new text.

    Attributes:
        target: The memory that goes, or gets the text.
        content: The text of an edit; ``None`` removes the target.
        decider: Who decided.
        reason: Why.
        fallback: What failed before, where first in, first out stands in.
    """

    target: Memory
    content: str | None
    decider: Decider
    reason: str
    fallback: str = ""


def compaction_prompt(request: MemoryCompactionRequest) -> str:
    """Return the prompt for a decision."""
    count = len(request.memories)
    existing = "\n".join(_line(memory) for memory in request.existing_memories)
    return "\n\n".join(
        (
            _TASK.format(count=count, most=MAX_MEMORIES, chars=MAX_CONTENT_CHARS),
            data_notice("existing_memories", "new_memory"),
            f"Existing memories:\n{fence(existing, 'existing_memories')}",
            f"New memory:\n{fence(_line(request.new_memory), 'new_memory')}",
            _FORM,
        )
    )


def _line(memory: Memory) -> str:
    scored = memory.metadata.importance
    importance = "" if scored is None else f", importance {scored:g}"
    return f"[id {memory.id}] ({memory.updated_at:%Y-%m-%d}{importance}) {memory.content}"


def plan_for(decision: MemoryCompactionDecision, request: MemoryCompactionRequest) -> Plan:
    """Check a model's decision, and return what is to be done.

    Raises:
        InvalidDecisionError: The target is none of these memories, or an edit has no text that may be kept, or
            would merge the new memory into itself.
    """
    targets = {memory.id: memory for memory in request.memories}
    target = targets.get(decision.target_memory_id)
    if target is None:
        raise InvalidDecisionError(f"no memory of the app has the id {decision.target_memory_id}")
    reason = decision.reason[:MAX_REASON_CHARS]
    if decision.action == "delete":
        return Plan(target=target, content=None, decider=Decider.MODEL, reason=reason)
    if target.id == request.new_memory.id:
        raise InvalidDecisionError("the new memory cannot be merged into itself")
    digest = tidy_content(decision.new_content or "")
    if digest.content is None:
        why = f"its text looks like a secret ({digest.secrets[0]})" if digest.secrets else "it has no text"
        raise InvalidDecisionError(f"an edit needs a new content: {why}")
    return Plan(target=target, content=digest.content, decider=Decider.MODEL, reason=reason)


def decide_by_rule(request: MemoryCompactionRequest) -> Plan:
    """Decide without a model that can: what is outdated goes, else what is said twice, else the least important.

    Of two memories that disagree the older is outdated; of two alike the older is redundant. The least important
    one is chosen among the existing memories, so that news is never lost to what was known; ties: the first in.
    """
    conflicts = find_conflicts(request.memories)
    if conflicts:
        first = conflicts[0]
        return _by_rule(first.older, f"outdated by memory {first.newer.id}: {first.reason}")
    for place, older in enumerate(request.memories):
        for newer in request.memories[place + 1 :]:
            if likeness(older.content, newer.content) >= DUPLICATE_LIKENESS:
                return _by_rule(older, f"says the same as memory {newer.id}")
    least = min(request.existing_memories, key=lambda memory: memory.metadata.importance or 0.0)
    return _by_rule(least, "the least important, and the first in of those")


def _by_rule(target: Memory, reason: str) -> Plan:
    return Plan(target=target, content=None, decider=Decider.RULE, reason=reason[:MAX_REASON_CHARS])


def first_in_first_out(memories: Sequence[Memory], fallback: str) -> Plan:
    """Return the fallback: the memory that was created first goes; ties: the lowest id."""
    oldest = min(memories, key=lambda memory: (memory.created_at, memory.id))
    return Plan(
        target=oldest, content=None, decider=Decider.FIFO, reason="first in, first out", fallback=fallback
    )
