"""What goes when an app has more than ten memories: the prompt, the decision and its checks. Pure.

Source: APP-03, APP-05, R-APP-2.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from commonplace.apps.compaction.conflicts import Conflict, denies, find_conflicts
from commonplace.apps.compaction.importance import standing
from commonplace.apps.digests.digest import tidy_content
from commonplace.apps.memories import MAX_CONTENT_CHARS, MAX_MEMORIES, Memory
from commonplace.apps.receipts import Decider
from commonplace.language.sentences import split_sentences
from commonplace.language.values import concepts, share, weight
from commonplace.llm.fence import data_notice, fence

DUPLICATE_SHARE: Final = 0.8
"""Share of a memory's words that another one has, from which the rule takes them for the same."""

LEAST_MERGED: Final = 0.5
"""Share of the new memory's words that the text of an edit must hold."""

MAX_REASON_CHARS: Final = 500

_NAME: Final = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w*")

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
        gone: The memory that an edit merges into the target; ``None`` where the target alone is changed.
        decider: Who decided.
        reason: Why.
        fallback: What failed before, where first in, first out stands in.
    """

    target: Memory
    content: str | None
    decider: Decider
    reason: str
    gone: Memory | None = None
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
    new = request.new_memory
    if share(concepts(new.content), concepts(digest.content)) < LEAST_MERGED:
        raise InvalidDecisionError("the text of an edit must hold the new memory")
    return Plan(target=target, content=digest.content, gone=new, decider=Decider.MODEL, reason=reason)


def decide_by_rule(request: MemoryCompactionRequest, now: datetime) -> Plan:
    """Decide without a language model: what is outdated goes, else what is said twice, else what is worth least.

    Only the sentence that is outdated goes; what else the older memory says is merged with the newer one.
    """
    conflicts = find_conflicts(request.memories)
    if conflicts:
        return _without_outdated(conflicts[0])
    for older, newer in combinations(request.memories, 2):
        if twins := _twins(older, newer):
            kept, gone = twins
            reason = f"memory {gone.id} says the same as memory {kept.id}"
            return Plan(target=kept, content=kept.content, gone=gone, decider=Decider.RULE, reason=reason)
    least = min(request.memories, key=lambda memory: standing(memory, now))
    return Plan(target=least, content=None, decider=Decider.RULE, reason="it is worth least")


def _without_outdated(conflict: Conflict) -> Plan:
    older, newer = conflict.older, conflict.newer
    reason = f"outdated by memory {newer.id}: {conflict.reason}"[:MAX_REASON_CHARS]
    rest = " ".join(one for one in split_sentences(older.content) if one != conflict.sentence)
    both = f"{rest} {newer.content}"
    if not rest:
        return Plan(target=older, content=None, decider=Decider.RULE, reason=reason)
    if len(both) > MAX_CONTENT_CHARS:
        return Plan(target=older, content=rest, decider=Decider.RULE, reason=reason)
    return Plan(target=older, content=both, gone=newer, decider=Decider.RULE, reason=reason)


def _twins(older: Memory, newer: Memory) -> tuple[Memory, Memory] | None:
    """Return which of two memories stays and which goes, if that one says hardly anything beside the other."""
    kept, gone = (older, newer) if _says(older) > _says(newer) else (newer, older)
    said, stays = concepts(gone.content), concepts(kept.content)
    lost = said - stays
    if share(said, stays) < DUPLICATE_SHARE or _tells_apart(lost, gone.content, kept.content):
        return None
    return kept, gone


def _says(memory: Memory) -> float:
    return weight(concepts(memory.content))


def _tells_apart(lost: frozenset[str], gone: str, kept: str) -> bool:
    """Tell whether a number, a name, a denial or the subject is among the words that would be lost."""
    first, other = concepts(gone.split(" ", 1)[0]), concepts(kept.split(" ", 1)[0])
    names = concepts(" ".join(_NAME.findall(gone)))
    subject = bool(first & lost) and bool(other - concepts(gone))
    return (
        subject
        or bool(lost & names)
        or any(word[0].isdigit() for word in lost)
        or denies(gone) != denies(kept)
    )


def first_in_first_out(memories: Sequence[Memory], fallback: str) -> Plan:
    """Return the fallback: the memory that was created first goes; ties: the lowest id."""
    oldest = min(memories, key=lambda memory: (memory.created_at, memory.id))
    return Plan(
        target=oldest, content=None, decider=Decider.FIFO, reason="first in, first out", fallback=fallback
    )
