"""Start of the ``commonplace`` command: the resident process answers hooks, and the command line everything else."""

import gc
import sys
from importlib import import_module
from types import ModuleType

from commonplace.core.interpreter import COLLECT_AFTER


def main() -> None:
    """Run the command; modules are imported only when needed, because every prompt waits for a hook."""
    gc.set_threshold(COLLECT_AFTER)
    match sys.argv[1:]:
        case ["hook", *arguments] if _client().answer_hook(arguments):
            return
        case ["mcp", *_] as arguments if (status := _client().serve_mcp(arguments)) is not None:
            sys.exit(status)
        case _:
            import_module("commonplace.cli.main").main()


def _client() -> ModuleType:
    return import_module("commonplace.hosts.resident.client")
