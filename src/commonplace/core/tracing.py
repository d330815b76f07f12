"""Spans of traces. They cost nothing unless tracing is on.

Attributes are ids, counts and names of our own. The text of a memory, a query, a requested address or a token never
goes into a span.
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


def trace_with(tracer: Tracer | None) -> None:
    """Send the spans of this process to a tracer from now on; ``None`` turns tracing off."""
    global _tracer  # noqa: PLW0603 - one process has one tracer, and every layer makes spans
    _tracer = tracer


@contextmanager
def span(name: str, **attributes: str | float | bool) -> Generator[Span]:
    """Trace the ``with`` block if tracing is on.

    Args:
        name: The operation, for example ``"knowledge.unit_of_work"``.
        **attributes: Ids, counts and names of our own.
    """
    if _tracer is None:
        yield _NO_SPAN
        return
    with _tracer.start_as_current_span(name, attributes=attributes) as traced:
        yield traced
