"""The files of a source, each read by itself, so that a memory knows its file and an unchanged file is not read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.knowledge import EpisodeDraft, FactDraft, RuleDraft
from commonplace.services.transfer.importers import (
    ImportSource,
    claude_memory,
    codex_memory,
    conversations,
    instructions,
    read_source,
)
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.markdown_notes import note_paths

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
    """Return the files of a source, by name; a folder that is read as a whole is one of them.

    Raises:
        StorageUnavailableError: The source is gone or cannot be listed, so that nothing is retired by mistake.
        InvalidInputError: The source has too many files.
    """
    listed = _LISTS.get(kind)
    try:
        if not path.is_dir():
            return [_file(path, path.name)]
        if listed is None:
            return [SourceFile(name=path.name, path=path, stamp=_stamp([path, *path.rglob("*")]))]
        paths = sorted(listed(path))
        if len(paths) > MOST_FILES:
            raise InvalidInputError("source", f"a folder of at most {MOST_FILES} notes", str(path))
        return [_file(each, each.relative_to(path).as_posix()) for each in paths if each.exists()]
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error


def read_file(kind: ImportSource, file: SourceFile, zone: tzinfo) -> Read:
    """Yield the items of a file; what cannot be read is one :class:`Unreadable`.

    Args:
        kind: The importer.
        file: The file.
        zone: The time zone of the person who wrote it.
    """
    if file.stamp[1] > MOST_BYTES:
        reason = f"it has {file.stamp[1]} bytes, more than {MOST_BYTES}"
        yield Unreadable(place=file.name, reason=reason)
        return
    try:
        yield from read_source(kind, file.path, zone)
    except (InvalidInputError, StorageUnavailableError) as error:
        yield Unreadable(place=file.name, reason=str(error))


def texts_in(kind: ImportSource, path: Path, zone: tzinfo) -> list[str]:
    """Return the texts of the memories that a first reading of a source would store; see :func:`read_file`.

    For errors see :func:`files_of`.
    """
    items = [item for file in files_of(kind, path) for item in read_file(kind, file, zone)]
    drafts = [item for item in items if isinstance(item, FactDraft | RuleDraft | EpisodeDraft)]
    return [draft.content for draft in drafts]


def _file(path: Path, name: str) -> SourceFile:
    wal = path.with_name(f"{path.name}-wal")  # SQLite writes here first.
    return SourceFile(name=name, path=path, stamp=_stamp([path, wal] if wal.exists() else [path]))


def _stamp(paths: Iterable[Path]) -> list[int]:
    stats = [path.stat() for path in paths]
    return [max(each.st_mtime_ns for each in stats), sum(each.st_size for each in stats)]


def _memories(folder: Path) -> list[Path]:
    return [path for path in note_paths(folder) if path.name != claude_memory.INDEX]


_LISTS: Final[Mapping[ImportSource, Callable[[Path], list[Path]]]] = {
    ImportSource.INSTRUCTIONS: instructions.files_of,
    ImportSource.CLAUDE_MEMORY: _memories,
    ImportSource.CODEX_MEMORY: codex_memory.files_of,
    ImportSource.BASIC_MEMORY: note_paths,
    ImportSource.CONVERSATIONS: conversations.files_of,
}
"""How the files of a folder are listed, for the kinds whose files are read one by one."""
