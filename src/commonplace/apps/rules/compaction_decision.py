"""Decisions about the eleventh memory: the prompt, the decision and its checks. Pure.

Source: APP-03, APP-05, R-APP-2.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from commonplace.apps.model.bounds import MAX_CONTENT_CHARS, MAX_MEMORIES
from commonplace.apps.model.compaction import (
    MAX_REASON_CHARS,
    CompactionPlan,
    InvalidDecisionError,
    MemoryCompactionDecision,
    MemoryCompactionRequest,
)
from commonplace.apps.model.conflicts import Contradiction
from commonplace.apps.model.memories import Digest
from commonplace.apps.model.receipts import Decider
from commonplace.apps.rules.conflicts import find_conflicts, without
from commonplace.apps.rules.digest_text import tidy_content
from commonplace.apps.rules.importance import standing
from commonplace.apps.rules.repetitions import find_repetition
from commonplace.core.text import collapse_whitespace
from commonplace.language.values import concepts, share
from commonplace.llm.extractive import SPEAKER
from commonplace.prompts.fence import data_notice, fence

LEAST_MERGED: Final = 0.5
"""The share of the new memory's words that the text of an edit must contain."""


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


def _line(memory: Digest) -> str:
    scored = memory.metadata.importance
    importance = "" if scored is None else f", importance {scored:g}"
    return f"[id {memory.id}] ({memory.updated_at:%Y-%m-%d}{importance}) {memory.content}"


def plan_for(
    decision: MemoryCompactionDecision, request: MemoryCompactionRequest, *, may_trim: bool = True
) -> CompactionPlan:
    """Return the plan of a model's decision.

    With ``may_trim``, a text that is too long is trimmed; the reason of the plan says so.

    Raises:
        InvalidDecisionError: The target is unknown, or an edit has no text to store, loses the new memory, is too long
            to be stored whole, or would merge the new memory into itself. The message tells the model what is wrong.
    """
    targets = {memory.id: memory for memory in request.memories}
    target = targets.get(decision.target_memory_id)
    if target is None:
        raise InvalidDecisionError(f"no memory of the app has the id {decision.target_memory_id}")
    reason = decision.reason[:MAX_REASON_CHARS]
    if decision.action == "delete":
        return CompactionPlan(target=target, content=None, decider=Decider.MODEL, reason=reason)
    if target.id == request.new_memory.id:
        raise InvalidDecisionError("the new memory cannot be merged into itself")
    given = collapse_whitespace(decision.new_content or "")
    if len(given) > MAX_CONTENT_CHARS:
        if not may_trim:
            raise InvalidDecisionError(
                f"the new content of an edit has {len(given)} characters, and at most {MAX_CONTENT_CHARS} are stored: "
                "say the same in fewer"
            )
        reason = f"{reason} (trimmed from {len(given)} to {MAX_CONTENT_CHARS} characters)".strip()
    digest = tidy_content(given)
    if digest.content is None:
        why = f"looks like a secret ({digest.secrets[0]})" if digest.secrets else "is empty"
        raise InvalidDecisionError(f"the new content of an edit {why}")
    _require_new_memory(request.new_memory, digest.content)
    return CompactionPlan(
        target=target, content=digest.content, gone=request.new_memory, decider=Decider.MODEL, reason=reason
    )


def _require_new_memory(new: Digest, content: str) -> None:
    """Raise an error if the text of an edit lacks the new memory: most of its words, or one of its numbers."""
    said, kept = concepts(new.content), concepts(content)
    lost = sorted(word for word in said - kept if word[0].isdigit())
    if share(said, kept) < LEAST_MERGED or lost:
        missing = f"; missing: {', '.join(lost)}" if lost else ""
        raise InvalidDecisionError(f"the new content of an edit must contain the new memory{missing}")


def decide_by_rule(request: MemoryCompactionRequest, now: datetime) -> CompactionPlan:
    """Decide without a model: drop an outdated sentence, else merge duplicates, else remove the least valuable memory.

    Other sentences of an outdated memory are merged with the newer memory.
    """
    if conflicts := find_conflicts(request.memories):
        return _without_outdated(conflicts[0])
    if repetition := find_repetition(request.memories):
        kept, gone = repetition.kept, repetition.gone
        reason = f"memory {gone.id} duplicates memory {kept.id}"
        return CompactionPlan(
            target=kept, content=kept.content, gone=gone, decider=Decider.RULE, reason=reason
        )
    least = min(request.memories, key=lambda memory: standing(memory, now))
    return CompactionPlan(target=least, content=None, decider=Decider.RULE, reason="it is worth the least")


def _without_outdated(conflict: Contradiction) -> CompactionPlan:
    older, newer = conflict.older, conflict.newer
    reason = f"outdated by memory {newer.id}: {conflict.reason}"[:MAX_REASON_CHARS]
    rest = without(older.content, conflict.sentence)
    both = f"{rest} {newer.content.removeprefix(SPEAKER) if rest.startswith(SPEAKER) else newer.content}"
    if not rest:
        return CompactionPlan(target=older, content=None, decider=Decider.RULE, reason=reason)
    if len(both) > MAX_CONTENT_CHARS:
        return CompactionPlan(target=older, content=rest, decider=Decider.RULE, reason=reason)
    return CompactionPlan(target=older, content=both, gone=newer, decider=Decider.RULE, reason=reason)


def first_in_first_out(memories: Sequence[Digest], fallback: str) -> CompactionPlan:
    """Return the fallback plan: remove the oldest memory; ties: the lowest id."""
    oldest = min(memories, key=lambda memory: (memory.created_at, memory.id))
    return CompactionPlan(
        target=oldest, content=None, decider=Decider.FIFO, reason="first in, first out", fallback=fallback
    )
