"""``commonplace mcp``: MCP servers on standard input and output."""

import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from commonplace.core.errors import InvalidInputError
from commonplace.mcp.profiles import Profile

app = typer.Typer(add_completion=False, no_args_is_help=True)

Project = Annotated[
    bool,
    typer.Option("--project", help="Use the project of the workspace where a call names no butler or scope."),
]
Prefix = Annotated[
    str,
    typer.Option("--prefix", metavar="WORD", help="Begin the name of each tool with WORD and an underscore."),
]
Shown = Annotated[
    Profile,
    typer.Option("--profile", help="Offer all tools, or only those that an agent needs while it works."),
]


@app.command()
def workspace(*, prefix: Prefix = "", profile: Shown = Profile.FULL) -> None:
    """Serve the memory of the current directory, or of COMMONPLACE_WORKSPACE, until the client disconnects."""
    _serve("commonplace.mcp.workspace", prefix=prefix, profile=profile)


@app.command()
def knowledge(
    *,
    project: Project = False,
    prefix: Prefix = "",
    profile: Shown = Profile.FULL,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Serve the memory of a service, not that of the home.")
    ] = None,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file with the token for the service.")
    ] = None,
    butler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --server: the butler and scope where a call names none."),
    ] = None,
) -> None:
    """Serve knowledge memory until the client disconnects; the database starts after the handshake."""
    shown = {"project": project, "prefix": prefix, "profile": profile}
    if server is None:
        if butler is not None or token_file is not None:
            raise InvalidInputError(
                "--server", "the address of a service beside --token-file and --butler", None
            )
        _serve("commonplace.mcp.knowledge.server", **shown)
    token = token_file or ""
    _serve("commonplace.mcp.knowledge.forwarding", server=server, token_file=token, butler=butler, **shown)


@app.command()
def apps(*, prefix: Prefix = "") -> None:
    """Serve app memory until the client disconnects; the first call opens the database."""
    _serve("commonplace.mcp.apps.server", prefix=prefix)


@app.command("all")
def everything(*, project: Project = False, prefix: Prefix = "", profile: Shown = Profile.FULL) -> None:
    """Serve knowledge, workspace and app memory together; the tools of the workspace begin with workspace_."""
    _serve("commonplace.mcp.combined", project=project, prefix=prefix, profile=profile)


def _serve(module: str, **options: object) -> NoReturn:
    # Loaded here: a client waits about a second for the handshake, and the servers need different modules.
    sys.exit(import_module(module).main(**options))
