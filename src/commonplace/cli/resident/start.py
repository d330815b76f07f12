"""The module that the resident process runs: it listens at once, and imports what it needs afterwards.

So a client connects within the start of an interpreter, and of several processes that start at once, all but one end
before they import much.
"""

import os
import sys
from importlib import import_module

from commonplace.cli.resident.client import build
from commonplace.cli.resident.place import Place


def main() -> int:
    """Serve the home that the first argument names until nobody needs it; return the exit status."""
    place = Place(sys.argv[1])
    code = build()
    listener = place.listen()
    if listener is None:
        return 0
    os.chdir("/")
    try:
        return import_module("commonplace.cli.resident.server").serve(place, listener, code)
    finally:
        place.leave()


if __name__ == "__main__":
    sys.exit(main())
