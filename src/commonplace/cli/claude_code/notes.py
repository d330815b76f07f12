"""Notes of what an installation made in files that belong to others, so that uninstalling takes out exactly that.

One small file for each file of settings, ``$COMMONPLACE_HOME/claude-code/installed/<hash of its path>.json``. The
settings themselves say nothing of it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from commonplace.cli.claude_code.json_text import Keys
from commonplace.core.errors import StorageUnavailableError

DIRECTORY: Final = "claude-code/installed"
_NAME_CHARS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What was made in one file of settings.

    Attributes:
        path: The file.
        directory: Whether its directory was not there before.
        file: Whether it was not there before itself.
        containers: The objects and lists in it that were not there before.
        interiors: The white space in those that were there and empty.
        permissions: The rules that were added.
    """

    path: str = ""
    directory: bool = False
    file: bool = False
    containers: tuple[Keys, ...] = ()
    interiors: Mapping[Keys, str] = field(default_factory=dict[Keys, str])
    permissions: tuple[str, ...] = ()


def note_path(home: Path, path: Path) -> Path:
    """Return where the note on a file of settings is, by whichever link the file is reached."""
    name = sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:_NAME_CHARS]
    return home / DIRECTORY / f"{name}.json"


def write_note(note: Note) -> str:
    """Return the text of a note."""
    document = asdict(note) | {"interiors": [[keys, space] for keys, space in note.interiors.items()]}
    return json.dumps(document, indent=2) + "\n"


def read_note(text: str | None) -> Note | None:
    """Return the note that a text is; ``None`` where there is none, or none that can be read."""
    if text is None:
        return None
    try:
        document = cast("dict[str, Any]", json.loads(text))
        return Note(
            path=str(document["path"]),
            directory=bool(document["directory"]),
            file=bool(document["file"]),
            containers=tuple(tuple(keys) for keys in document["containers"]),
            interiors={tuple(keys): str(space) for keys, space in document["interiors"]},
            permissions=tuple(document["permissions"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def make_directory(home: Path) -> None:
    """Make the directory of the notes, closed to others.

    Raises:
        StorageUnavailableError: It cannot be made.
    """
    try:
        for directory in (home, home / "claude-code", home / DIRECTORY):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailableError(f"{home / DIRECTORY}: {error.strerror}: nothing was changed") from error
