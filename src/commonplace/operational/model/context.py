"""The block of memories for a prompt, and the memories that it could show."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonCandidate:
    """A memory that the block could show.

    Attributes:
        service: ``None`` for a general memory.
        created_at: As stored.
        updated_at: As stored.
        correction: The text of the active memory that contradicted this one after it was last seen or edited.
    """

    id: int
    service: str | None
    category: str
    observation: str
    confidence: float
    created_at: str
    updated_at: str
    correction: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The block of memories and its figures.

    Attributes:
        text: Markdown without a newline at its end; empty if no memory is shown.
        memory_ids: The memories shown, most trusted first.
        eligible: The number of active memories, including those in quarantine. It does not depend on the budget.
    """

    text: str
    memory_ids: tuple[int, ...]
    eligible: int
    tokens: int
    budget_tokens: int
