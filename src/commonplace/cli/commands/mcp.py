"""``commonplace mcp``: MCP servers on standard input and output."""

import sys
from functools import partial
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from commonplace.core.errors import InvalidInputError
from commonplace.mcp.protocol.profiles import Profile, View

app = typer.Typer(add_completion=False, no_args_is_help=True)

Project = Annotated[
    bool,
    typer.Option("--project", help="Use the project of the workspace if a call names no butler or scope."),
]
Prefix = Annotated[
    str,
    typer.Option(
        "--prefix", metavar="WORD", help="Prefix the name of each tool with WORD and an underscore."
    ),
]
Shown = Annotated[
    Profile,
    typer.Option(
        "--profile", help="full: all tools; agent: only the tools that an agent needs while it works."
    ),
]
Server = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Serve the knowledge memory of a service, not the one in the home."),
]
TokenFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="The file with the token for the service.")
]
Butler = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --server: the butler and scope for calls that name none."),
]


@app.command()
def workspace(*, prefix: Prefix = "", profile: Shown = Profile.FULL) -> None:
    """Serve workspace memory of the current directory, or of COMMONPLACE_WORKSPACE, until the client disconnects."""
    _serve("workspace.server", View(prefix=prefix, profile=profile))


@app.command()
def knowledge(
    *,
    project: Project = False,
    prefix: Prefix = "",
    profile: Shown = Profile.FULL,
    server: Server = None,
    token_file: TokenFile = None,
    butler: Butler = None,
) -> None:
    """Serve knowledge memory until the client disconnects; the database starts after the handshake."""
    at = _at_service(server, token_file, butler)
    view = View(butler=butler, prefix=prefix, profile=profile)
    _serve("knowledge.forwarding" if at else "knowledge.server", view, of_project=project, **at)


@app.command()
def apps(*, prefix: Prefix = "") -> None:
    """Serve app memory until the client disconnects; the first call opens the database."""
    _serve("apps.server", View(prefix=prefix))


@app.command("all")
def everything(
    *,
    project: Project = False,
    prefix: Prefix = "",
    profile: Shown = Profile.FULL,
    server: Server = None,
    token_file: TokenFile = None,
    butler: Butler = None,
) -> None:
    """Serve all memories together.

    With --profile agent, as `commonplace install` sets up: eight tools over all memories. With --profile full, the
    tools are those of the three other servers, and the names of workspace tools begin with workspace_. Two more tools
    list the items that wait for a decision, and decide about them. With --server, the service provides knowledge
    memory, the other memories are on this machine, and these two tools are left out.
    """
    at = _at_service(server, token_file, butler)
    view = View(butler=butler, prefix=prefix, profile=profile)
    module = "agent.server" if profile is Profile.AGENT else "combined"
    _serve(module, view, of_project=project, **at)


def _at_service(server: str | None, token_file: str | None, butler: str | None) -> dict[str, Any]:
    """Return the keyword arguments of a server for the service that options name; empty if they name none."""
    if server is not None:
        return {
            "service": import_module("commonplace.services.team_client").TeamClient.at(
                server, token_file or ""
            )
        }
    if butler is not None or token_file is not None:
        raise InvalidInputError("--server", "the address of a service beside --token-file and --butler", None)
    return {}


def _serve(module: str, view: View, *, of_project: bool = False, **service: Any) -> NoReturn:  # noqa: ANN401 - a service
    # Imported here, because a client waits about a second for the handshake and each server needs other modules.
    serve_stdio = import_module(f"commonplace.mcp.{module}").serve_stdio
    stdio = import_module("commonplace.mcp.protocol.stdio")
    sys.exit(stdio.serve(partial(serve_stdio, **service), view, of_project=of_project))
