"""The ``commonplace`` command: its subcommands and its exit status."""

import logging
import os
import signal
import sys
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Final

import typer
import typer.main

from commonplace.cli.frame.forkable import may_fork
from commonplace.cli.frame.lazy import CommandEntry, LazyGroup, built
from commonplace.cli.frame.progress import show_progress
from commonplace.cli.frame.streams import prepare_streams
from commonplace.core.errors import CommonplaceError, NotFoundError

LOOK: Final = "Look"
CHANGE: Final = "Change"
CONNECT: Final = "Connect"
KEEP_SAFE: Final = "Keep safe"
OPERATE: Final = "Operate"
"""The panels of ``commonplace --help``, in their order, each of at most seven commands."""

ONE_BY_ONE: Final = "The memories one by one: ops, apps, workspace, knowledge. For MCP clients: mcp."


class Commands(LazyGroup):
    """The subcommands; those without a panel are typed by programs, or belong to one memory."""

    entries: ClassVar = {
        "know": CommandEntry("commands.know", "Search all memories: what do my agents know?", LOOK),
        "list": CommandEntry("catalog.listing", "List memories of one kind: facts, rules, lessons …", LOOK),
        "show": CommandEntry("catalog.show", "Show a memory with its state, source and dates.", LOOK),
        "history": CommandEntry(
            "catalog.history", "Show how a memory changed, or what is known over time.", LOOK
        ),
        "review": CommandEntry("commands.review", "Memories that wait for your decision.", LOOK),
        "context": CommandEntry(
            "commands.context", "The briefing that an agent gets for a prompt; --why gives reasons.", LOOK
        ),
        "add": CommandEntry("catalog.adding", "Add a fact, rule, lesson, note or episode.", CHANGE),
        "edit": CommandEntry("catalog.edit", "Correct the text of a memory.", CHANGE),
        "confirm": CommandEntry("catalog.confirm", "Say that a memory still holds.", CHANGE),
        "pin": CommandEntry("catalog.pin", "Show a fact or rule in every prompt.", CHANGE),
        "unpin": CommandEntry("catalog.unpin", "Show a fact or rule only where it is relevant.", CHANGE),
        "forget": CommandEntry(
            "catalog.forget", "Hide memories from searches and prompts; undo restores.", CHANGE
        ),
        "undo": CommandEntry("catalog.undo", "Undo the latest change.", CHANGE),
        "install": CommandEntry("commands.install", "Connect an agent host: Claude Code, Codex …", CONNECT),
        "uninstall": CommandEntry("commands.uninstall", "Disconnect an agent host.", CONNECT),
        "sources": CommandEntry(
            "commands.sources", "Folders and files of hosts that are followed: add, list, remove.", CONNECT
        ),
        "project": CommandEntry(
            "commands.project", "Projects that own memories: list, rename, merge.", CONNECT
        ),
        "consolidation": CommandEntry(
            "commands.consolidation", "The model that turns sessions into facts and rules.", CONNECT
        ),
        "sync": CommandEntry(
            "commands.sync", "The same memories on all your devices: init, join, status.", CONNECT
        ),
        "token": CommandEntry("commands.token", "Access tokens for the service.", CONNECT),
        "backup": CommandEntry(
            "commands.backup", "Copy all memories to one file, while they are in use.", KEEP_SAFE
        ),
        "restore": CommandEntry("commands.restore", "Restore all memories from a backup.", KEEP_SAFE),
        "export": CommandEntry("commands.export", "Write memories to files that people can read.", KEEP_SAFE),
        "import": CommandEntry(
            "commands.imports", "Read memories from an export or another program.", KEEP_SAFE
        ),
        "erase": CommandEntry(
            "commands.erase", "Erase everything about a subject; there is no undo.", KEEP_SAFE
        ),
        "serve": CommandEntry(
            "commands.serve", "Run the service: dashboard, REST and MCP over HTTP.", OPERATE
        ),
        "worker": CommandEntry(
            "commands.worker", "Run background work: decay, cleanup, consolidation.", OPERATE
        ),
        "doctor": CommandEntry(
            "commands.doctor", "Check each part, with what to do about problems.", OPERATE
        ),
        "config": CommandEntry("commands.config", "Settings and their sources.", OPERATE),
        "demo": CommandEntry("demo.tour", "Tour of the memories; needs no setup.", OPERATE),
        "sample": CommandEntry("commands.sample", "Sample memories to try commands on.", OPERATE),
        "admin": CommandEntry("commands.admin", "Rare work: clock, trust, plugin, partitions …", OPERATE),
        "ops": CommandEntry("operational.commands", "Operational memory: lessons of a scheduled ops agent."),
        "apps": CommandEntry("apps.commands", "App memory: digests of ended conversations."),
        "workspace": CommandEntry("workspace.commands", "Workspace memory: notes stored beside the code."),
        "knowledge": CommandEntry(
            "knowledge.commands", "Knowledge memory: episodes, facts, rules and entities."
        ),
        "mcp": CommandEntry("commands.mcp", "MCP servers on standard input and output."),
        "hook": CommandEntry("commands.hook", "Handle an event of an agent host."),
    }


app = typer.Typer(
    cls=Commands,
    help="Persistent memory for AI agents.",
    epilog=ONE_BY_ONE,
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
        typer.echo(f"error: {_message(error)}", err=True)
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


def _message(error: CommonplaceError) -> str:
    """Return the message of an error; a missing memory is named by the id that commands print."""
    if not isinstance(error, NotFoundError):
        return str(error)
    from commonplace.cli.frame.ids import missing  # noqa: PLC0415 - the ids import the memories

    return missing(error)
