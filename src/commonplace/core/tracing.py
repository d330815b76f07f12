"""Spans of traces. They cost nothing unless tracing is on.

Attributes are our own ids, counts and names. A requested address or a token never goes into a span; the text of a
query goes into a span only if the caller of :func:`trace_with` asks for content.

Operations on memories follow OpenTelemetry's conventions for generative AI (in development): the span is named like its
``gen_ai.operation.name``.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol


class Span(Protocol):
    """The part of OpenTelemetry's span that is used here."""

    def set_attribute(self, key: str, value: str | float | bool) -> object:  # noqa: FBT001 - as theirs
        """Add an attribute that was not known when the span began."""
        ...


class _NoSpan:
    """A span that does nothing, for use without tracing."""

    def set_attribute(self, key: str, value: object) -> None:
        """Do nothing."""


class Tracer(Protocol):
    """The part of OpenTelemetry's tracer that is used here."""

    def start_as_current_span(
        self, name: str, *, attributes: Mapping[str, str | int | float | bool] | None = None
    ) -> AbstractContextManager[Span]:
        """Begin a span that ends with the ``with`` block and is the parent of the spans inside."""
        ...


_NO_SPAN: Final = _NoSpan()
_tracer: Tracer | None = None
_with_content = False


def trace_with(tracer: Tracer | None, *, with_content: bool = False) -> None:
    """Send the spans of this process to a tracer from now on; ``None`` turns tracing off.

    Args:
        tracer: Such as ``opentelemetry.trace.get_tracer("commonplace")``.
        with_content: Whether spans hold the texts of queries.
    """
    global _tracer, _with_content
    _tracer, _with_content = tracer, with_content


@contextmanager
def span(name: str, **attributes: str | float | bool) -> Generator[Span]:
    """Trace the ``with`` block if tracing is on.

    The attributes are ids, counts and names of our own.
    """
    if _tracer is None:
        yield _NO_SPAN
        return
    with _tracer.start_as_current_span(name, attributes=attributes) as traced:
        yield traced


@contextmanager
def memory_span(operation: str, *, store: str, query: str | None = None) -> Generator[Span]:
    """Trace an operation on memories.

    Args:
        operation: ``search_memory``, ``create_memory``, ``upsert_memory``, ``update_memory`` or ``delete_memory``.
        store: The memory and the tenant, such as ``knowledge/default``.
        query: The text of a search; it goes into the span only if content is traced.
    """
    attributes = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": store}
    if _with_content and query is not None:
        attributes["gen_ai.memory.query.text"] = query
    with span(operation, **attributes) as traced:
        yield traced
