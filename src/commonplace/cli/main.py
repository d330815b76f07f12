"""The ``commonplace`` command: the list of its commands, and how errors end it."""

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
    """Every command of commonplace."""

    entries: ClassVar = {
        "demo": Entry(
            module="commonplace.cli.demo.tour", help="Tour of the memories on real input; needs nothing."
        ),
        "ops": Entry(
            module="commonplace.cli.operational.commands",
            help="Operational memory: what a scheduled ops agent learned.",
        ),
        "apps": Entry(
            module="commonplace.cli.apps.commands", help="App memory: digests of ended conversations."
        ),
        "workspace": Entry(
            module="commonplace.cli.workspace.commands", help="Workspace memory: small facts beside the code."
        ),
        "knowledge": Entry(
            module="commonplace.cli.knowledge.commands",
            help="Knowledge memory: episodes, facts, rules and entities.",
        ),
        "serve": Entry(
            module="commonplace.cli.serve", help="The service: dashboard, REST, MCP and metrics over HTTP."
        ),
        "token": Entry(
            module="commonplace.cli.token", help="Tokens: who may reach the service, and what they may do."
        ),
        "review": Entry(
            module="commonplace.cli.review",
            help="Pairs of memories that wait for a decision.",
        ),
        "context": Entry(
            module="commonplace.cli.context",
            help="The briefing: one block for a prompt from all four memories.",
        ),
        "worker": Entry(
            module="commonplace.cli.worker",
            help="Background work: decay, cleanup and consolidation by the clock.",
        ),
        "host": Entry(
            module="commonplace.cli.host", help="A minimal host: sessions that remember, as butler.toml says."
        ),
        "mcp": Entry(module="commonplace.cli.mcp", help="MCP servers on standard input and output."),
        "install": Entry(module="commonplace.cli.install", help="Give a client these memories: Claude Code."),
        "uninstall": Entry(module="commonplace.cli.uninstall", help="Take out again what install put in."),
        "hook": Entry(module="commonplace.cli.hook", help="What a client calls when sessions begin and end."),
        "doctor": Entry(
            module="commonplace.cli.doctor", help="Check each part by using it: write, read, search, delete."
        ),
        "config": Entry(module="commonplace.cli.config", help="Settings, and where each one came from."),
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
    """Run the command line and exit: 0 done, 1 an error, 2 wrong usage, 130 interrupted."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        app()
    except CommonplaceError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has gone, as in `… | head`; the interpreter must not flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
