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
        "demo": Entry("demo.tour", "Tour of the memories; needs no setup."),
        "sample": Entry("sample", "Sample memories, to try the dashboard and the commands."),
        "know": Entry("know", "One search over all four memories: what do my agents know?"),
        "ops": Entry("operational.commands", "Operational memory: lessons of a scheduled ops agent."),
        "apps": Entry("apps.commands", "App memory: digests of ended conversations."),
        "workspace": Entry("workspace.commands", "Workspace memory: short facts stored beside the code."),
        "knowledge": Entry("knowledge.commands", "Knowledge memory: episodes, facts, rules and entities."),
        "serve": Entry("serve", "The service: dashboard, REST, MCP and metrics over HTTP."),
        "token": Entry("token", "Access tokens for the service."),
        "review": Entry("review", "Pairs of memories that wait for a decision."),
        "context": Entry("context", "Briefing: one block for a prompt from all four memories."),
        "worker": Entry("worker", "Background work: decay, cleanup and consolidation on a schedule."),
        "consolidation": Entry(
            "consolidation", "Whether sessions become knowledge, by which model, at what cost."
        ),
        "host": Entry("host", "A minimal host: sessions with memory, configured by butler.toml."),
        "mcp": Entry("mcp", "MCP servers on standard input and output."),
        "project": Entry("project", "Projects, the owners of memories: list, rename, merge, promote."),
        "install": Entry(
            "install",
            "Connect agent hosts, such as Claude Code or Codex, to the memories.",
        ),
        "plugin": Entry("plugin", "Write a plugin of Claude Code and its marketplace."),
        "uninstall": Entry("uninstall", "Disconnect agent hosts from the memories."),
        "hook": Entry("hook", "Handle an event of an agent host."),
        "backup": Entry("backup", "Copy all memories to one file, while they are in use."),
        "restore": Entry("restore", "Bring back a backup."),
        "export": Entry("export", "Write memories to JSON Lines, or to a folder of Markdown."),
        "import": Entry("imports", "Store memories of an export or of another program."),
        "erase": Entry("erase", "Delete for good what the memories hold about a subject."),
        "doctor": Entry("doctor", "Check each part by using it: write, read, search, delete."),
        "clock": Entry("clock", "Check the clock that decay and cleanup depend on."),
        "trust": Entry("trust", "Trust the commonplace.toml of a directory."),
        "config": Entry("config", "Settings and their sources."),
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
        # The reader of the output has closed it, as in `… | head`; the interpreter must not flush to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full or read-only disk, where no memory has named it
        if error.filename is None:
            raise
        typer.echo(f"error: {error.filename}: {error.strerror}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
