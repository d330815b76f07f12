"""Files of a home and of workspaces: removal of lines, and the search for remaining texts."""

import gzip
import os
import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

from commonplace.services.erasure.selection import By, Selection

NOT_SEARCHED: Final = frozenset({"models"})
SQLITE: Final = (".db", ".sqlite")
"""The names of SQLite files and of their side files contain one of these."""

LINES: Final = frozenset({".jsonl", ".log"})
SESSIONS: Final = "claude-code"
"""The directory of a home with a record of each session of an agent host, named by its id."""

MAX_NEEDLES: Final = 100
_CHUNK_BYTES: Final = 1 << 20
_OVERLAP_BYTES: Final = 4096


class Texts:
    """The words of a subject and the pieces of erased texts to search for in files."""

    def __init__(self, selection: Selection, pieces: Iterable[str]) -> None:
        self._hints = [needle.split()[0].lower().encode() for needle in selection.needles]
        self._words = (
            re.compile(selection.pattern.encode(), re.IGNORECASE) if selection.pattern is not None else None
        )
        self._pieces = [piece.encode() for piece in sorted(pieces, key=len, reverse=True)[:MAX_NEEDLES]]

    def are_in(self, content: bytes) -> bool:
        """Return whether some bytes contain one of the texts."""
        if any(piece in content for piece in self._pieces):
            return True
        lowered = content.lower()
        return (
            self._words is not None
            and any(hint in lowered for hint in self._hints)
            and self._words.search(content) is not None
        )

    def are_in_file(self, path: Path) -> bool:
        """Return whether a file contains one of the texts; a compressed file is read unpacked.

        Raises:
            OSError: The file cannot be read.
        """
        with _opened(path) as raw:
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw
            tail = b""
            while chunk := unpacked.read(_CHUNK_BYTES):
                if self.are_in(tail + chunk):
                    return True
                tail = chunk[-_OVERLAP_BYTES:]
        return False


_descriptors: dict[tuple[int, int], int] = {}
"""A descriptor of each SQLite file that was searched, by device and inode; see :func:`_opened`."""


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    """Open a file for reading.

    A descriptor of a SQLite file stays open as long as this process runs: closing it would release the locks of the
    process's connections to this file, and other processes could then damage it.
    """
    if not any(each in path.name for each in SQLITE):
        with path.open("rb") as raw:
            yield raw
        return
    status = path.stat()
    place = (status.st_dev, status.st_ino)
    if place not in _descriptors:
        _descriptors[place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with os.fdopen(_descriptors[place], "rb", closefd=False) as raw:
        raw.seek(0)
        yield raw


def files_of(directory: Path, *, without: frozenset[str] = NOT_SEARCHED) -> Iterator[Path]:
    """Yield the files in a directory; links are not followed."""
    for parent, names, files in os.walk(directory):
        if Path(parent) == directory:
            names[:] = [name for name in names if name not in without]
        for name in files:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def clean(home: Path, selection: Selection, texts: Texts, *, apply: bool) -> dict[str, int]:
    """Remove lines of transcripts and logs, and the records of a session.

    Returns:
        The number of lines of each file.
    """
    counts: dict[str, int] = {}
    for path in files_of(home, without=NOT_SEARCHED | {"postgres", "backups"}):
        if selection.by is By.SESSION and path.parent == home / SESSIONS and path.stem == selection.value:
            counts[str(path)] = len(path.read_bytes().splitlines())
            if apply:
                path.unlink(missing_ok=True)
        elif path.suffix in LINES and texts.are_in_file(path):
            with path.open("r+b" if apply else "rb") as file:
                lines = file.readlines()
                kept = [line for line in lines if not texts.are_in(line)]
                if len(kept) < len(lines):
                    counts[str(path)] = len(lines) - len(kept)
                    if apply:  # In place, because another process may append to the file.
                        file.seek(0)
                        file.writelines(kept)
                        file.truncate()
                        os.fsync(file.fileno())
    return counts


def remaining(directories: Iterable[Path], texts: Texts) -> list[str]:
    """Return the files that still contain one of the texts, and the files that cannot be read."""
    found: list[str] = []
    for directory in directories:
        for path in files_of(directory):
            with suppress(FileNotFoundError):  # a server deletes its own files
                try:
                    if texts.are_in_file(path):
                        found.append(str(path))
                except (PermissionError, EOFError, gzip.BadGzipFile, zlib.error) as error:
                    found.append(f"{path} (cannot be searched: {error})")
    return found
