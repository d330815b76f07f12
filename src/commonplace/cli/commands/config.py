"""``commonplace config``: settings and their sources."""

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import table
from commonplace.core.settings import load_settings
from commonplace.projects import with_workspace

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def group() -> None:
    """Settings and their sources."""


@commands(app)()
async def show() -> Answer:
    """Print each setting with its value and source; passwords are masked."""
    rows = with_workspace(load_settings()).shown()
    document = {name: {"value": value, "origin": origin} for name, value, origin in rows}
    return Answer(document, table("setting", "value", "source", rows=rows))
