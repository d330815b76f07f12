"""The request for a compaction, the model's decision and the plan.

Source: APP-03, APP-05.
"""

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from commonplace.apps.model.memories import Digest
from commonplace.apps.model.receipts import Decider

MAX_REASON_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCompactionRequest:
    """The memories of a space, oldest first, and the new memory that exceeds the limit."""

    app_id: str
    existing_memories: tuple[Digest, ...]
    new_memory: Digest

    @property
    def memories(self) -> tuple[Digest, ...]:
        """The existing memories and the new one."""
        return (*self.existing_memories, self.new_memory)


class MemoryCompactionDecision(BaseModel):
    """The decision of a model, in the form of the specification."""

    model_config = ConfigDict(populate_by_name=True)

    action: Literal["delete", "edit"]
    target_memory_id: int = Field(alias="targetMemoryId")
    new_content: str | None = Field(default=None, alias="newContent")
    reason: str = ""


class InvalidDecisionError(ValueError):
    """A decision that cannot be carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """A plan to remove a memory, or to give it a new text.

    Attributes:
        content: The new text; ``None`` removes the target.
        gone: The memory that an edit merges into the target; ``None`` if the edit merges nothing.
        fallback: The failure that led to first in, first out.
    """

    target: Digest
    content: str | None
    decider: Decider
    reason: str
    gone: Digest | None = None
    fallback: str = ""
