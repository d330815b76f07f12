"""Packages list their public names, and load each one when it is first used."""

from importlib import import_module

import pytest

PACKAGES = [
    "commonplace",
    "commonplace.access",
    "commonplace.apps",
    "commonplace.knowledge",
    "commonplace.operational",
    "commonplace.workspace",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_loads(package: str) -> None:
    """The list, the names for type checkers and the homes agree."""
    module = import_module(package)
    assert {name for name in module.__all__ if getattr(module, name, None) is None} == set()
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
        _ = module.nothing
