"""The ``commonplace`` command: its subcommands and its exit status."""

import logging
import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated, ClassVar

import typer

from commonplace.cli.lazy import Entry, LazyGroup
from commonplace.core.errors import CommonplaceError


class Commands(LazyGroup):
    """The subcommands."""

    entries: ClassVar = {
        "demo": Entry(module="commonplace.cli.demo.tour", help="Tour of the memories; needs no setup."),
        "ops": Entry(
            module="commonplace.cli.operational.commands",
            help="Operational memory: lessons of a scheduled ops agent.",
        ),
        "apps": Entry(
            module="commonplace.cli.apps.commands", help="App memory: digests of ended conversations."
        ),
        "workspace": Entry(
            module="commonplace.cli.workspace.commands",
            help="Workspace memory: short facts stored beside the code.",
        ),
        "knowledge": Entry(
            module="commonplace.cli.knowledge.commands",
            help="Knowledge memory: episodes, facts, rules and entities.",
        ),
        "serve": Entry(
            module="commonplace.cli.serve", help="The service: dashboard, REST, MCP and metrics over HTTP."
        ),
        "token": Entry(module="commonplace.cli.token", help="Access tokens for the service."),
        "review": Entry(module="commonplace.cli.review", help="Pairs of memories that wait for a decision."),
        "context": Entry(
            module="commonplace.cli.context",
            help="Briefing: one block for a prompt from all four memories.",
        ),
        "worker": Entry(
            module="commonplace.cli.worker",
            help="Background work: decay, cleanup and consolidation on a schedule.",
        ),
        "host": Entry(
            module="commonplace.cli.host",
            help="A minimal host: sessions with memory, configured by butler.toml.",
        ),
        "mcp": Entry(module="commonplace.cli.mcp", help="MCP servers on standard input and output."),
        "project": Entry(
            module="commonplace.cli.project",
            help="Projects: whose memory it is; rename, merge, promote.",
        ),
        "install": Entry(module="commonplace.cli.install", help="Connect Claude Code to the memories."),
        "uninstall": Entry(
            module="commonplace.cli.uninstall", help="Disconnect Claude Code from the memories."
        ),
        "hook": Entry(module="commonplace.cli.hook", help="Handle an event of Claude Code."),
        "doctor": Entry(
            module="commonplace.cli.doctor", help="Check each part by using it: write, read, search, delete."
        ),
        "config": Entry(module="commonplace.cli.config", help="Settings and their sources."),
    }


app = typer.Typer(
    cls=Commands,
    help="Persistent memory for AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"commonplace {version('commonplace')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Persistent memory for AI agents."""


def main() -> None:
    """Run the command line and exit: 0 success, 1 error, 2 wrong usage, 130 interrupted."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        app()
    except CommonplaceError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of the output has closed it, as in `… | head`; the interpreter must not flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
