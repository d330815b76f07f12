"""The files of a source, each read by itself, so that a memory knows its file and an unchanged file is not read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.services.transfer.importers import IMPORTERS, ImportSource
from commonplace.services.transfer.items import Read, Unreadable

MOST_FILES: Final = 5_000
"""A folder with more files is refused: it is no folder of notes."""

MOST_BYTES: Final = 20_000_000
"""A longer file is one line in the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of a source.

    Attributes:
        name: The path relative to the source; the name of a source that is one file.
        stamp: The modification time in nanoseconds, and the size.
    """

    name: str
    path: Path
    stamp: list[int]

    @property
    def modified_at(self) -> datetime:
        """The modification time, in UTC."""
        return datetime.fromtimestamp(self.stamp[0] / 1e9, UTC)


def files_of(kind: ImportSource, path: Path) -> list[SourceFile]:
    """Return the files of a source, by name.

    Raises:
        StorageUnavailableError: The source is gone or cannot be listed, so that nothing is retired by mistake.
        InvalidInputError: The source has too many files.
    """
    try:
        if not path.is_dir():
            return [_file(path, path.name)]
        found = sorted(_LISTS.get(kind, _notes)(path))[: MOST_FILES + 1]
        files = [_file(each, each.relative_to(path).as_posix()) for each in found if each.is_file()]
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error
    if len(files) > MOST_FILES:
        raise InvalidInputError("source", f"a folder of at most {MOST_FILES} notes", str(path))
    return files


def read_file(kind: ImportSource, file: SourceFile) -> Read:
    """Yield the items of a file; what cannot be read is one :class:`Unreadable`."""
    if file.stamp[1] > MOST_BYTES:
        reason = f"it has {file.stamp[1]} bytes, more than {MOST_BYTES}"
        yield Unreadable(place=file.name, reason=reason)
        return
    try:
        yield from IMPORTERS[kind](file.path)
    except (InvalidInputError, StorageUnavailableError, OSError) as error:
        yield Unreadable(place=file.name, reason=str(error))


def _file(path: Path, name: str) -> SourceFile:
    found = path.stat()
    return SourceFile(name=name, path=path, stamp=[found.st_mtime_ns, found.st_size])


def _notes(folder: Path) -> list[Path]:
    """Return the Markdown files below a folder, without hidden folders."""
    found = (each for each in folder.rglob("*.md"))
    return [
        each for each in found if not any(part.startswith(".") for part in each.relative_to(folder).parts)
    ]


def _instructions(folder: Path) -> list[Path]:
    """Return the files at the top of a repository that hosts read as instructions."""
    return [path for pattern in _INSTRUCTIONS for path in folder.glob(pattern)]


_INSTRUCTIONS: Final = (
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".cursor/rules/*.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/*.instructions.md",
)

_LISTS: Final[Mapping[ImportSource, Callable[[Path], list[Path]]]] = {
    ImportSource.INSTRUCTIONS: _instructions,
}
"""How the files of a kind of folder are found, where they are not all notes below it."""
