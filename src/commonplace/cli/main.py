"""The ``commonplace`` command: its subcommands and its exit status."""

import logging
import os
import signal
import sys
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, ClassVar

import typer
import typer.main

from commonplace.cli.frame.forkable import may_fork
from commonplace.cli.frame.lazy import CommandEntry, LazyGroup, built
from commonplace.cli.frame.progress import show_progress
from commonplace.cli.frame.streams import prepare_streams
from commonplace.core.errors import CommonplaceError


class Commands(LazyGroup):
    """The subcommands."""

    entries: ClassVar = {
        "demo": CommandEntry("demo.tour", "Tour of the memories; needs no setup."),
        "sample": CommandEntry(
            "commands.sample", "Sample memories for trying the dashboard and the commands."
        ),
        "know": CommandEntry("commands.know", "One search over all four memories: what do my agents know?"),
        "list": CommandEntry("catalog.listing", "List memories of one kind: facts, rules, lessons, notes …"),
        "show": CommandEntry("catalog.show", "Show one memory with its state, source and dates."),
        "history": CommandEntry("catalog.history", "Show how one memory changed."),
        "add": CommandEntry("catalog.adding", "Add a fact, rule, lesson, note or episode."),
        "edit": CommandEntry("catalog.edit", "Correct the text of a memory."),
        "confirm": CommandEntry("catalog.confirm", "Say that a memory still holds."),
        "pin": CommandEntry("catalog.pin", "Show a fact or rule in every prompt."),
        "unpin": CommandEntry("catalog.unpin", "Show a fact or rule only where it is relevant."),
        "forget": CommandEntry("catalog.forget", "Remove memories from every search and prompt."),
        "undo": CommandEntry("catalog.undo", "Undo the latest change."),
        "ops": CommandEntry("operational.commands", "Operational memory: lessons of a scheduled ops agent."),
        "apps": CommandEntry("apps.commands", "App memory: digests of ended conversations."),
        "workspace": CommandEntry(
            "workspace.commands", "Workspace memory: short facts stored beside the code."
        ),
        "knowledge": CommandEntry(
            "knowledge.commands", "Knowledge memory: episodes, facts, rules and entities."
        ),
        "serve": CommandEntry("commands.serve", "The service: dashboard, REST, MCP and metrics over HTTP."),
        "token": CommandEntry("commands.token", "Access tokens for the service."),
        "review": CommandEntry("commands.review", "Memories that wait for your decision."),
        "context": CommandEntry(
            "commands.context", "Briefing: one block for a prompt from all four memories."
        ),
        "worker": CommandEntry(
            "commands.worker", "Background work: scheduled decay, cleanup and consolidation."
        ),
        "consolidation": CommandEntry(
            "commands.consolidation", "Model and budget that turn sessions into knowledge."
        ),
        "host": CommandEntry(
            "commands.host", "A minimal host: sessions with memory, configured by butler.toml."
        ),
        "mcp": CommandEntry("commands.mcp", "MCP servers on standard input and output."),
        "project": CommandEntry(
            "commands.project", "Projects that own memories: list, rename, merge, promote."
        ),
        "install": CommandEntry(
            "commands.install",
            "Connect agent hosts such as Claude Code or Codex to the memories.",
        ),
        "plugin": CommandEntry("commands.plugin", "Write a Claude Code plugin and its marketplace."),
        "uninstall": CommandEntry("commands.uninstall", "Disconnect agent hosts from the memories."),
        "hook": CommandEntry("commands.hook", "Handle an event of an agent host."),
        "backup": CommandEntry("commands.backup", "Copy all memories to one file, while they are in use."),
        "restore": CommandEntry("commands.restore", "Restore all memories from a backup."),
        "export": CommandEntry("commands.export", "Export memories to JSON Lines or a folder of Markdown."),
        "import": CommandEntry("commands.imports", "Import memories from an export or another program."),
        "erase": CommandEntry("commands.erase", "Delete everything about a subject permanently."),
        "doctor": CommandEntry(
            "commands.doctor", "Check each part with a real write, read, search and delete."
        ),
        "clock": CommandEntry("commands.clock", "Check the clock that decay and cleanup depend on."),
        "trust": CommandEntry("commands.trust", "Trust the commonplace.toml in a directory."),
        "config": CommandEntry("commands.config", "Settings and their sources."),
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


@cache
def _parser() -> Any:  # noqa: ANN401 - typer's own class of commands
    return typer.main.get_command(app)


def prepare() -> None:
    """Build the parsers of all commands that run in forks, before a process forks."""
    _parser()
    for name, entry in Commands.entries.items():
        if may_fork([name]):
            built(entry)


def main() -> None:
    """Run the command line and exit: 0 success, 1 error, 2 wrong usage, 130 interrupted."""
    prepare_streams()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    if may_fork(sys.argv[1:]):
        show_progress()
    try:
        _parser()(prog_name="commonplace")
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
