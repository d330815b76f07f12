"""Spans of operations on knowledge memory: which memories an agent read or wrote, and how trusted they are.

A span holds the number of memories, their ids and trust, and the episodes that they were learned from, so that a trace
shows why an agent knew something.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar, cast

from commonplace.core.tracing import Span, memory_span
from commonplace.knowledge.store.session import KnowledgeSession

MOST_IDS: Final = 50
"""Maximum number of memory ids in one span."""

_R = TypeVar("_R")


class SpanNote(Protocol):
    """A function that adds the memories of a result to the span and returns the result."""

    def __call__(self, result: _R, /) -> _R:
        """Return the result."""
        ...


@asynccontextmanager
async def traced(
    session: KnowledgeSession, operation: str, query: str | None = None
) -> AsyncGenerator[SpanNote]:
    """Record a span while the block runs.

    Args:
        session: The memory.
        operation: The ``gen_ai.operation.name``.
        query: The text of a search; it goes into the span only if content is traced.
    """
    with memory_span(operation, store=f"knowledge/{session.tenant_id}", query=query) as span:

        def note(result: _R, /) -> _R:
            _describe(span, result)
            return result

        yield note


def _describe(span: Span, result: object) -> None:
    """Add the memories of a result to the span."""
    if isinstance(result, str):
        span.set_attribute("commonplace.block.chars", len(result))
        return
    listed = cast("Sequence[object]", result) if isinstance(result, list) else [result]
    memories = [getattr(each, "memory", each) for each in listed]
    span.set_attribute("gen_ai.memory.record.count", len(memories))
    for name, field in (("ids", "id"), ("trust", "trust"), ("episodes", "source_episode_id")):
        if found := _joined(getattr(memory, field, None) for memory in memories[:MOST_IDS]):
            span.set_attribute(f"commonplace.memory.{name}", found)
    if len(memories) == 1 and (only := getattr(memories[0], "id", None)) is not None:
        span.set_attribute("gen_ai.memory.record.id", str(only))


def _joined(values: Iterable[object]) -> str:
    return " ".join(dict.fromkeys(str(value) for value in values if value is not None))
