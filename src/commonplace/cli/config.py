"""``commonplace config``: settings and their sources."""

import typer

from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.core.settings import load_settings

app = typer.Typer(add_completion=False, help="Settings and their sources.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Settings and their sources."""


@app.command()
def show(*, as_json: JsonOption = False) -> None:
    """Print each setting with its value and source; passwords are masked."""
    rows = load_settings().shown()
    if as_json:
        print_json({name: {"value": value, "origin": origin} for name, value, origin in rows})
    else:
        console().print(table("setting", "value", "source", rows=rows))
