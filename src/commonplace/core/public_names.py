"""Public names of a package, imported at first use, so that importing the package is nearly free.

Every hook waits for this module, so it imports neither pathlib nor typing nor re.
"""

import sys
from collections.abc import Callable
from importlib import import_module


def public_names(package: str, directory: str) -> tuple[list[str], Callable[[str], object]]:
    """Return the ``__all__`` and the ``__getattr__`` of a package, which imports its public names at their first use.

    The names are in the package's stub, ``__init__.pyi``, with their modules: type checkers read the same list.
    """
    with open(f"{directory}/__init__.pyi", encoding="utf-8") as stub:  # noqa: PTH123
        words = [line.split() for line in stub]
    # A line of the stub has the words: from, the module, import, the name, as, the name.
    home_of = {line[3]: line[1] for line in words if line[:1] == ["from"] and line[4:] == ["as", line[3]]}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(home_of), load
