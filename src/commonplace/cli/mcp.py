"""``commonplace mcp``: MCP servers on standard input and output."""

import sys

import typer

from commonplace.mcp import workspace as workspace_server

app = typer.Typer(help="MCP servers on standard input and output.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """MCP servers on standard input and output."""


@app.command()
def workspace() -> None:
    """Serve the memory of the current directory, or of COMMONPLACE_WORKSPACE, until the client hangs up."""
    sys.exit(workspace_server.main())
