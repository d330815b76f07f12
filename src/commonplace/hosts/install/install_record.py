"""Notes about the parts of settings files that an installation created, so that uninstalling removes exactly these.

Each settings file has one note, ``$COMMONPLACE_HOME/claude-code/installed/<hash of its path>.json``.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.hosts.install.json_text import Keys

DIRECTORY: Final = "claude-code/installed"
_NAME_CHARS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """The parts of a settings file that an installation created.

    Attributes:
        directories: The number of directories that it created: the file's own, its parent, and so on.
        file: Whether it created the file.
        containers: The objects and lists that it created.
        interiors: The white space in objects and lists that were empty before.
        permissions: The texts, such as allowed rules, that it added to lists.
        tail: The line ends that it added before its tables in TOML.
    """

    path: str = ""
    directories: int = 0
    file: bool = False
    containers: tuple[Keys, ...] = ()
    interiors: Mapping[Keys, str] = field(default_factory=dict[Keys, str])
    permissions: tuple[str, ...] = ()
    tail: str = ""


def note_path(home: Path, path: Path) -> Path:
    """Return the path of the note about a settings file; links to the file share one note."""
    name = sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:_NAME_CHARS]
    return home / DIRECTORY / f"{name}.json"


def write_note(note: InstallRecord) -> str:
    """Return the text of a note."""
    document = asdict(note) | {"interiors": [[keys, space] for keys, space in note.interiors.items()]}
    return json.dumps(document, indent=2) + "\n"


def read_note(text: str | None) -> InstallRecord | None:
    """Return the note in a text; ``None`` if there is no text or it cannot be read."""
    if text is None:
        return None
    try:
        document = cast("dict[str, Any]", json.loads(text))
        return InstallRecord(
            path=str(document["path"]),
            directories=int(document["directories"] if "directories" in document else document["directory"]),
            file=bool(document["file"]),
            containers=tuple(tuple(keys) for keys in document["containers"]),
            interiors={tuple(keys): str(space) for keys, space in document["interiors"]},
            permissions=tuple(document["permissions"]),
            tail=str(document.get("tail", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def noted_files(home: Path) -> list[Path]:
    """Return the existing settings files that notes are about, in the order of their paths."""
    notes = (read_note(path.read_text(encoding="utf-8")) for path in (home / DIRECTORY).glob("*.json"))
    return sorted(path for note in notes if note and note.path and (path := Path(note.path)).is_file())


def missing_directories(path: Path) -> int:
    """Return the number of directories that must be created for a file."""
    return sum(not directory.exists() for directory in path.parents)


def make_directory(home: Path) -> None:
    """Create the directory of the notes, for its owner only.

    Raises:
        StorageUnavailableError: The directory cannot be created.
    """
    try:
        make_directories(home / DIRECTORY)
    except OSError as error:
        raise StorageUnavailableError(f"{home / DIRECTORY}: {error.strerror}: nothing was changed") from error
