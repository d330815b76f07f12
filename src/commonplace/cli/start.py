"""Start of the ``commonplace`` command: the resident process answers hooks, and the command line everything else."""

import sys
from importlib import import_module


def main() -> None:
    """Run the command; imports wait until it is known which ones are needed, because every prompt waits for a hook."""
    if sys.argv[1:2] == ["hook"] and import_module("commonplace.cli.resident.client").answer_hook(
        sys.argv[2:]
    ):
        return
    import_module("commonplace.cli.main").main()
