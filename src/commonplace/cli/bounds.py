"""Options and arguments of commands whose bounds are those of a memory."""

from typing import Any

import typer

from commonplace.core.bounds import bounds_of


def bounded(annotated: object, *names: str, **words: Any) -> Any:  # noqa: ANN401 - of typer.Option
    """Return an option for a number of an annotated type, such as :data:`~commonplace.core.bounds.Share`.

    ``names`` and ``words`` are those of ``typer.Option``.
    """
    bounds = bounds_of(annotated)
    return typer.Option(*names, min=bounds.least, max=bounds.most, **words)
