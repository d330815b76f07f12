"""Durations, and options of the commands that run sessions of the claude CLI."""

import re
from datetime import timedelta
from typing import Annotated, Final

import typer

from commonplace.core.quoting import quoted

_SPAN: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST: Final = timedelta(days=3650)


def parse_span(text: str) -> timedelta:
    """Return a duration such as ``90s``, ``60m``, ``6h``, ``1d`` or ``8w``, from one second to ten years.

    Raises:
        typer.BadParameter: The text is not a duration in this range.
    """
    found = _SPAN.fullmatch(text)
    span = timedelta(seconds=float(found[1]) * _SECONDS[found[2]]) if found else timedelta()
    if not timedelta(seconds=1) <= span <= _LONGEST:
        raise typer.BadParameter(
            f"expected a duration from 1s to 3650d, such as 90s, 60m, 6h, 1d or 8w, got {quoted(text)}"
        )
    return span


TimeoutOption = Annotated[
    timedelta | None,
    typer.Option(
        "--timeout", parser=parse_span, metavar="SPAN", help="Maximum duration of a session, such as 30m."
    ),
]
ClaudeOption = Annotated[
    str | None,
    typer.Option(
        "--claude", metavar="PATH", help="Path of the claude CLI.", show_default="claude on the PATH"
    ),
]
ExtraArguments = Annotated[
    list[str] | None, typer.Argument(metavar="-- ARGUMENTS", help="Further arguments of the claude CLI.")
]
