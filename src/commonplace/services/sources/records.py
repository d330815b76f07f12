"""Records of the files of a source that were read, a line for each in ``sources/ID.jsonl``.

A line has digests of texts, not the texts; an erasure removes the line of a file that names its subject. A line is
appended when its file was read, and the last line of a file counts, so that a killed process loses at most the file
that it was reading.

Source: FOL-01.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from commonplace.core.atomic_write import write_text
from commonplace.core.digests import digest_of
from commonplace.core.directories import make_directories
from commonplace.core.errors import SettingsError
from commonplace.core.quoting import quoted


@dataclass(slots=True, kw_only=True)
class FileRecord:
    """The record of one file.

    Attributes:
        file: Its path in the source.
        stamp: Its modification time in nanoseconds and its size when it was read; empty if it must be read again.
        memories: The memory of each text, by the digest of the text; empty for a text without a memory of its own.
        keys: The digests of the keys of its facts.
    """

    file: str
    stamp: list[int] = field(default_factory=list[int])
    memories: dict[str, str] = field(default_factory=dict[str, str])
    keys: list[str] = field(default_factory=list[str])


class SourceRecord:
    """The records of the files of one source.

    Args:
        path: The file with the records.

    Raises:
        SettingsError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        text = _text(path)
        self._is_cut = not text.endswith("\n") and bool(text)
        self._files = {each.file: each for each in _records(path, text)}
        self._texts: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: dict[str, str] = {}
        for each in self._files.values():
            self._index(each)

    def __len__(self) -> int:
        """Return the number of files."""
        return len(self._files)

    def __iter__(self) -> Iterator[FileRecord]:
        """Iterate over the records of the files that hold texts, in the order in which they were read first."""
        return iter([each for each in self._files.values() if each.memories])

    def of(self, file: str) -> FileRecord:
        """Return the record of a file; a new one for a file that was never read."""
        return self._files.setdefault(file, FileRecord(file=file))

    def has_elsewhere(self, digest: str, file: str) -> bool:
        """Return whether another file than this one holds a text."""
        return not self._texts[digest] <= {file}

    def owner_of_key(self, subject: str, predicate: str, file: str) -> str:
        """Return the file of the source to which the key of a fact belongs: the first one, perhaps this one."""
        key = digest_of(f"{subject}\0{predicate}")
        owner = self._keys.setdefault(key, file)
        if owner == file and key not in self.of(file).keys:
            self.of(file).keys.append(key)
        return owner

    def save(self, record: FileRecord) -> None:
        """Append the record of a file.

        Raises:
            OSError: It cannot be written.
        """
        self._index(record)
        make_directories(self._path.parent)
        if self._is_cut:
            self.tidy()
            return
        with open(self._path, "a", encoding="utf-8", opener=_private) as file:
            file.write(f"{json.dumps(asdict(record))}\n")

    def tidy(self) -> None:
        """Write each file once, and leave out files without texts that are gone.

        Raises:
            OSError: The file cannot be written.
        """
        self._files = {name: each for name, each in self._files.items() if each.memories or each.stamp}
        lines = [f"{json.dumps(asdict(each))}\n" for each in self._files.values()]
        write_text(self._path, "".join(lines), mode=0o600)
        self._is_cut = False

    def _index(self, record: FileRecord) -> None:
        for digest in record.memories:
            self._texts[digest].add(record.file)
        for key in record.keys:
            self._keys.setdefault(key, record.file)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None


def _records(path: Path, text: str) -> Iterator[FileRecord]:
    """Yield the records of a file; a last line that was not written to its end is left out."""
    for line in text.split("\n")[:-1]:
        try:
            fields: dict[str, Any] = json.loads(line)
            yield FileRecord(**fields)
        except (ValueError, TypeError) as error:
            raise SettingsError(f"{path}: expected the record of a file, got {quoted(error)}") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
