"""The Claude Code plugin and its marketplace, made from the same table as an installation."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.hosts.install.installation import InstallScope, JsonSettings
from commonplace.hosts.install.json_edits import Document, Hooks, Ours, Servers, SettingsPart
from commonplace.hosts.install.registry import HOSTS, Where

NAME: Final = "commonplace"
DESCRIPTION: Final = (
    "Memory that lasts from one session to the next: facts, rules, episodes and notes of a workspace."
)
TEXTS: Final = Path(__file__).with_name("plugin")
"""The skill and the slash commands."""


def write_plugin(directory: Path, ours: Ours) -> list[Path]:
    """Write a marketplace with the plugin into a new or empty directory, and return the files.

    An earlier plugin in the directory is replaced.

    Raises:
        InvalidInputError: The directory has other content.
        StorageUnavailableError: A file cannot be written.
    """
    marketplace = directory / ".claude-plugin" / "marketplace.json"
    if (
        directory.exists()
        and not marketplace.is_file()
        and (not directory.is_dir() or any(directory.iterdir()))
    ):
        raise InvalidInputError("directory", "a new or empty directory, or an earlier plugin", str(directory))
    root = directory / NAME
    try:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(TEXTS, root)
        for path, document in _documents(directory, root, ours).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageUnavailableError(f"{error.filename}: {error.strerror}") from error
    return [marketplace, *sorted(path for path in root.rglob("*") if path.is_file())]


def _documents(directory: Path, root: Path, ours: Ours) -> dict[Path, dict[str, Any]]:
    about = {"name": NAME, "version": version("commonplace"), "description": DESCRIPTION}
    entry = {"name": NAME, "source": f"./{NAME}", "description": DESCRIPTION}
    owner = {"name": NAME}
    return {
        directory / ".claude-plugin" / "marketplace.json": {
            "name": NAME,
            "owner": owner,
            "metadata": {"description": DESCRIPTION},
            "plugins": [entry],
        },
        root / ".claude-plugin" / "plugin.json": about | {"author": owner},
        root / ".mcp.json": _added(Servers, ours),
        root / "hooks" / "hooks.json": _added(Hooks, ours),
    }


def _added(kind: type[SettingsPart], ours: Ours) -> Document:
    """Return a document with the parts of Claude Code's settings that are of one kind."""
    document: Document = {}
    for file in HOSTS["claude-code"].files(Where(scope=InstallScope.PROJECT, project=Path(), environ={})):
        for part in file.parts if isinstance(file, JsonSettings) else ():
            if isinstance(part, kind):
                part.add(document, ours)
    return document
