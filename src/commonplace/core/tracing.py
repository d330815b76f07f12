"""Spans of traces: what took how long, inside of what. Free where nobody asked for traces.

Names are ours and attributes are ids and counts; no text of a memory, a query or a token goes into a span.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Tracer(Protocol):
    """What OpenTelemetry calls a tracer, as far as it is used here."""

    def start_as_current_span(
        self, name: str, *, attributes: Mapping[str, str | int | float | bool] | None = None
    ) -> AbstractContextManager[object]:
        """Begin a span that ends with the ``with`` block, and is the parent of those inside."""
        ...


_tracer: Tracer | None = None


def trace_with(tracer: Tracer | None) -> None:
    """Send the spans of this process to a tracer from now on; ``None`` to no one."""
    global _tracer  # noqa: PLW0603 - one process has one tracer, and every layer makes spans
    _tracer = tracer


@contextmanager
def span(name: str, **attributes: str | float | bool) -> Generator[None]:
    """Trace the ``with`` block, where this process traces at all.

    Args:
        name: What is done, for example ``"knowledge.unit_of_work"``.
        **attributes: With what: ids, names of our own, counts.
    """
    if _tracer is None:
        yield
        return
    with _tracer.start_as_current_span(name, attributes=attributes):
        yield
