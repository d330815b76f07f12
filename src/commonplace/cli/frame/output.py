"""Output of commands: one JSON document, or tables for people."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

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
ReplacesOption = Annotated[
    str | None, typer.Option("--replaces", metavar="ID", help="The ID of the old text that it corrects.")
]
AllowSecrets = Annotated[bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")]

_WIDE: Final = 200
_UNBOUNDED: Final = 100_000
_WORD: Final = re.compile(r"\S+\s*")
_INDENT: Final = 4


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output, or on standard error.

    Outside a terminal, lines are not cut to the screen width. Emoji names between colons stay text, because the marker
    ``[EVENT:warning:caddy]`` contains one.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDE
    return _WholeConsole(stderr=stderr, highlight=False, emoji=False, width=width)


class _WholeConsole(Console):
    """A console that does not cut a word that is longer than the screen."""

    def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:  # noqa: ANN401 - as rich declares it
        """Print objects; see :meth:`rich.console.Console.print`."""
        super().print(*objects, crop=crop, **options)


def print_lines(out: Console, lines: Iterable[str]) -> None:
    """Print lines of console markup.

    In a terminal, a line is continued on the next, indented; no word and no id is cut. Elsewhere it stays one line.
    """
    for line in lines:
        text = Text.from_markup(line, emoji=False)
        width = out.width if out.is_terminal else None
        out.print(_broken(text, width), soft_wrap=True, overflow="ignore")


def _broken(text: Text, width: int | None, *, indent: int = _INDENT) -> Text:
    """Return a text with line breaks between words, so that its lines fit a width if their words do."""
    if width is None:
        return text
    broken, column = Text(no_wrap=True, overflow="ignore"), 0
    for word in _WORD.finditer(text.plain):
        part = text[word.start() : word.end()]
        cells = Text(word[0].rstrip()).cell_len
        if column and column + cells > width:
            broken.rstrip()
            broken.append("\n" + " " * indent)
            column = indent
        broken.append_text(part)
        column += part.cell_len
    broken.rstrip()
    return broken


class FittingTable(Table):
    """A table; where it would cut a word, each row is a list of its columns instead."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, or its rows as lists."""
        needed = Measurement.get(console, options.update_width(_UNBOUNDED), self).minimum
        if needed <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._rows_as_lists(options.max_width)

    def _rows_as_lists(self, width: int) -> Iterator[Text]:
        cells = zip(*(column.cells for column in self.columns), strict=True)
        for number, row in enumerate(cells):
            if number:
                yield Text("")
            for column, cell in zip(self.columns, row, strict=True):
                value = _text_of(cell)
                if value.plain:
                    yield _broken(Text.assemble((f"{_text_of(column.header)}: ", "bold"), value), width)


def _text_of(cell: RenderableType) -> Text:
    return Text.from_markup(cell, emoji=False) if isinstance(cell, str) else Text(str(cell))


def print_json(value: object) -> None:
    """Print a value as one JSON document, in the form of :func:`~commonplace.core.json_values.json_safe`."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(json_safe(value), ensure_ascii=ascii_only, indent=2, default=str))


def table(*columns: str, title: str | None = None, rows: Iterable[Sequence[object]]) -> Table:
    """Build a table that cuts no word; cells are escaped, so that they cannot contain markup or terminal sequences.

    Times are shown to the minute.
    """
    built = FittingTable(*columns, title=title, title_justify="left", header_style="bold")
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
