"""The ``commonplace`` command: its subcommands and its exit status."""

import logging
import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated, ClassVar

import typer

from commonplace.cli.frame.lazy import Entry, LazyGroup
from commonplace.core.errors import CommonplaceError


class Commands(LazyGroup):
    """The subcommands."""

    entries: ClassVar = {
        "demo": Entry("demo.tour", "Tour of the memories; needs no setup."),
        "sample": Entry("commands.sample", "Sample memories for trying the dashboard and the commands."),
        "know": Entry("commands.know", "One search over all four memories: what do my agents know?"),
        "ops": Entry("operational.commands", "Operational memory: lessons of a scheduled ops agent."),
        "apps": Entry("apps.commands", "App memory: digests of ended conversations."),
        "workspace": Entry("workspace.commands", "Workspace memory: short facts stored beside the code."),
        "knowledge": Entry("knowledge.commands", "Knowledge memory: episodes, facts, rules and entities."),
        "serve": Entry("commands.serve", "The service: dashboard, REST, MCP and metrics over HTTP."),
        "token": Entry("commands.token", "Access tokens for the service."),
        "review": Entry("commands.review", "Memories that wait for your decision."),
        "context": Entry("commands.context", "Briefing: one block for a prompt from all four memories."),
        "worker": Entry("commands.worker", "Background work: scheduled decay, cleanup and consolidation."),
        "consolidation": Entry(
            "commands.consolidation", "Model and budget that turn sessions into knowledge."
        ),
        "host": Entry("commands.host", "A minimal host: sessions with memory, configured by butler.toml."),
        "mcp": Entry("commands.mcp", "MCP servers on standard input and output."),
        "project": Entry("commands.project", "Projects that own memories: list, rename, merge, promote."),
        "install": Entry(
            "commands.install",
            "Connect agent hosts such as Claude Code or Codex to the memories.",
        ),
        "plugin": Entry("commands.plugin", "Write a Claude Code plugin and its marketplace."),
        "uninstall": Entry("commands.uninstall", "Disconnect agent hosts from the memories."),
        "hook": Entry("commands.hook", "Handle an event of an agent host."),
        "backup": Entry("commands.backup", "Copy all memories to one file, while they are in use."),
        "restore": Entry("commands.restore", "Restore all memories from a backup."),
        "export": Entry("commands.export", "Export memories to JSON Lines or a folder of Markdown."),
        "import": Entry("commands.imports", "Import memories from an export or another program."),
        "erase": Entry("commands.erase", "Delete everything about a subject permanently."),
        "doctor": Entry("commands.doctor", "Check each part with a real write, read, search and delete."),
        "clock": Entry("commands.clock", "Check the clock that decay and cleanup depend on."),
        "trust": Entry("commands.trust", "Trust the commonplace.toml in a directory."),
        "config": Entry("commands.config", "Settings and their sources."),
    }


app = typer.Typer(
    cls=Commands,
    help="Persistent memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
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
        app(prog_name="commonplace")
    except CommonplaceError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader has closed the output, as in `… | head`, so the interpreter must not flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # A full or read-only disk, if no memory has reported it.
        if error.filename is None:
            raise
        typer.echo(f"error: {error.filename}: {error.strerror}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
