"""Start of the ``commonplace`` command.

The resident process answers hooks, and its fork server runs commands and MCP servers. Without them, and for the
commands in :data:`.forkable.ALONE`, this process does the work itself.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType

from commonplace.cli.frame.forkable import may_fork
from commonplace.core.interpreter import COLLECT_AFTER


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
