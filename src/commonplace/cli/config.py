"""``commonplace config``: settings and where they came from."""

import typer

from commonplace.cli.output import JsonOption, console, print_json, table
from commonplace.core.settings import load_settings

app = typer.Typer(add_completion=False, help="Settings, and where each one came from.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Settings, and where each one came from."""


@app.command()
def show(*, as_json: JsonOption = False) -> None:
    """Print each setting, its value, and where it came from; passwords are masked."""
    rows = load_settings().shown()
    if as_json:
        print_json({name: {"value": value, "origin": origin} for name, value, origin in rows})
    else:
        console().print(table("setting", "value", "from", rows=rows))
