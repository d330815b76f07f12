"""Output of commands: one JSON document, or tables for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from commonplace.core.instructions import Flag, in_words
from commonplace.core.json_values import json_safe
from commonplace.core.text import visible
from commonplace.services.review.ids import ItemId

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
TargetArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TARGET", help="A new .jsonl or .csv file, or a new folder for Markdown; - prints JSON Lines."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
AllowSecrets = Annotated[bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")]

_WIDE = 200


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output, or on standard error.

    Outside a terminal, lines are not cut to the screen width. Emoji names between colons stay text, because the marker
    ``[EVENT:warning:caddy]`` contains one.
    """
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, emoji=False, width=None if stream.isatty() else _WIDE)


def print_json(value: object) -> None:
    """Print a value as one JSON document, in the form of :func:`~commonplace.core.json_values.json_safe`."""
    typer.echo(json.dumps(json_safe(value), ensure_ascii=False, indent=2, default=str))


def table(*columns: str, title: str | None = None, rows: Iterable[Sequence[object]]) -> Table:
    """Build a table; cells are escaped, so that they cannot contain markup or terminal sequences.

    Times are shown to the minute.
    """
    built = Table(*columns, title=title, title_justify="left", header_style="bold")
    for row in rows:
        built.add_row(*map(_cell, row))
    return built


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case _:
            return shown(str(value))


def shown(text: str) -> str:
    """Return text from a memory as escaped console markup."""
    return escape(visible(text))


def flagged_line(key: ItemId, flags: Sequence[Flag]) -> str:
    """Return as console markup why no prompt shows a memory, and the command that decides about it."""
    why = f"no prompt shows it, because it looks like an instruction ({in_words(flags)})"
    return f"[yellow]{why}; to show it: commonplace review {key} confirm[/]"
