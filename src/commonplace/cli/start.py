"""Start of the ``commonplace`` command.

The resident process answers hooks, and its fork server runs commands and MCP servers. Without them, and for the
commands in :data:`ALONE`, this process does the work itself.
"""

import gc
import os
import sys
from importlib import import_module
from types import ModuleType

from commonplace.core.interpreter import COLLECT_AFTER

ALONE = frozenset(
    {
        *("backup", "restore"),  # They stop the database server, or need it to themselves.
        *("demo", "doctor", "install", "plugin", "uninstall"),  # They test or change this installation.
        *("host", "mcp", "serve", "worker"),  # They run for long; an MCP server has a fork of its own kind.
        "hook",  # The resident process itself answers hooks.
    }
)
"""Commands that never run in a fork. Every other command does, so that a new command needs no line here."""

ALONE_IN_GROUP = frozenset({("ops", "run"), ("ops", "watch")})
"""Commands that start an agent for a long time, in this terminal."""

COMPLETION = "_COMMONPLACE_COMPLETE"
"""The variable with which a shell asks for completions."""


def main() -> None:
    """Run the command; modules are imported only when needed, because every prompt waits for a hook."""
    gc.set_threshold(COLLECT_AFTER)
    arguments = sys.argv[1:]
    match arguments:
        case ["hook", *rest] if _resident("client").answer_hook(rest):
            return
        case ["mcp", *_] if (status := _resident("fork_client").serve_mcp(arguments)) is not None:
            sys.exit(status)
        case _ if may_fork(arguments):
            _run_or_fork(arguments)
        case _:
            _run()


def may_fork(arguments: list[str]) -> bool:
    """Return whether a command may run in a fork."""
    is_named = bool(arguments) and not arguments[0].startswith("-") and COMPLETION not in os.environ
    return is_named and arguments[0] not in ALONE and tuple(arguments[:2]) not in ALONE_IN_GROUP


def _run_or_fork(arguments: list[str]) -> None:
    forks = _resident("fork_client")
    if (status := forks.run_command(arguments)) is not None:
        sys.exit(status)
    try:
        _run()
    finally:
        forks.begin_resident()


def _run() -> None:
    import_module("commonplace.cli.main").main()


def _resident(module: str) -> ModuleType:
    return import_module(f"commonplace.hosts.resident.{module}")
