"""Spans of traces: what took how long, inside of what. Free where nobody asked for traces.

Names are ours, and attributes are names of ours, ids and counts: no text of a memory, of a query, of an address that
somebody asked for, or of a token goes into a span.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol


class Span(Protocol):
    """What OpenTelemetry calls a span, as far as it is used here."""

    def set_attribute(self, key: str, value: str | float | bool) -> object:  # noqa: FBT001 - as theirs
        """Say something about it that was not known when it began."""
        ...


class _NoSpan:
    """Stands for a span where nobody asked for traces."""

    def set_attribute(self, key: str, value: object) -> None:
        """Do nothing."""


class Tracer(Protocol):
    """What OpenTelemetry calls a tracer, as far as it is used here."""

    def start_as_current_span(
        self, name: str, *, attributes: Mapping[str, str | int | float | bool] | None = None
    ) -> AbstractContextManager[Span]:
        """Begin a span that ends with the ``with`` block, and is the parent of those inside."""
        ...


_NO_SPAN: Final = _NoSpan()
_tracer: Tracer | None = None


def trace_with(tracer: Tracer | None) -> None:
    """Send the spans of this process to a tracer from now on; ``None`` to no one."""
    global _tracer  # noqa: PLW0603 - one process has one tracer, and every layer makes spans
    _tracer = tracer


@contextmanager
def span(name: str, **attributes: str | float | bool) -> Generator[Span]:
    """Trace the ``with`` block, where this process traces at all.

    Args:
        name: What is done, for example ``"knowledge.unit_of_work"``.
        **attributes: With what: ids, names of our own, counts.
    """
    if _tracer is None:
        yield _NO_SPAN
        return
    with _tracer.start_as_current_span(name, attributes=attributes) as traced:
        yield traced
