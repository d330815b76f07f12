"""Packages list their public names, and load each one when it is first used."""

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = [
    "commonplace",
    "commonplace.access",
    "commonplace.workspace",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_loads(package: str) -> None:
    """The list, the names for type checkers and the homes agree."""
    module = import_module(package)
    assert {name for name in module.__all__ if getattr(module, name, None) is None} == set()
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_no_driver(package: str) -> None:
    """Commands that need no memory start at once."""
    code = f"import sys, {package}; sys.exit({{'asyncpg', 'numpy', 'pydantic'}} & set(sys.modules) != set())"
    subprocess.run([sys.executable, "-c", code], check=True)
