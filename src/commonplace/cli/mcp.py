"""``commonplace mcp``: MCP servers on standard input and output."""

import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def workspace() -> None:
    """Serve the memory of the current directory, or of COMMONPLACE_WORKSPACE, until the client disconnects."""
    _serve("commonplace.mcp.workspace")


@app.command()
def knowledge(
    *,
    project: Annotated[
        bool,
        typer.Option(
            "--project", help="Use the project of the workspace where a call names no butler or scope."
        ),
    ] = False,
) -> None:
    """Serve knowledge memory until the client disconnects; the database starts after the handshake."""
    _serve("commonplace.mcp.knowledge.server", of_project=project)


@app.command()
def apps() -> None:
    """Serve app memory until the client disconnects; the first call opens the database."""
    _serve("commonplace.mcp.apps.server")


def _serve(module: str, **options: bool) -> NoReturn:
    # Loaded here: a client waits about a second for the handshake, and the servers need different modules.
    sys.exit(import_module(module).main(**options))
