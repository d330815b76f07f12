"""Markdown notes of people and other programs: front matter and text.

Front matter that is not valid YAML is read field by field. A bad field is reported, and kept as text where it is one;
the other fields and the text of the note are read.
"""

import codecs
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from commonplace.core.errors import InvalidInputError
from commonplace.services.transfer.front_matter import is_front_matter, read_fields
from commonplace.services.transfer.items import Unreadable

SUFFIX: Final = ".md"
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownNote:
    """A Markdown file.

    Attributes:
        path: The file.
        place: Its name in reports, relative to the folder that is read.
        fields: The front matter by field: texts, lists and mappings. Fields without a value are left out.
        text: The text below the front matter, in lines that end with a line feed.
        problems: The fields that are not valid YAML, one each.
        modified_at: When the file was changed last, in UTC.
    """

    path: Path
    place: str
    fields: dict[str, Any]
    text: str
    problems: tuple[Unreadable, ...]
    modified_at: datetime


def read_notes(path: Path) -> Iterator[MarkdownNote | Unreadable]:
    """Yield the notes below a folder, or one note, in the order of their paths; hidden files and folders are skipped.

    A note that cannot be read is yielded as ``Unreadable``.
    """
    root = path if path.is_dir() else path.parent
    errors: list[OSError] = []
    paths = note_paths(path, errors.append)
    for error in errors:
        yield Unreadable(place=str(error.filename), reason=error.strerror or str(error))
    for file in paths:
        place = str(file.relative_to(root))
        try:
            yield read_note(file, place)
        except InvalidInputError as error:
            yield Unreadable(place=place, reason=str(error))


def _raise(error: OSError) -> None:
    raise error


def note_paths(path: Path, on_error: Callable[[OSError], None] = _raise) -> list[Path]:
    """Return the paths that are named like notes below a folder, in order; the path itself if it is no folder.

    Folders that are links are listed too, each folder once.

    Args:
        path: The folder.
        on_error: Takes the error of a folder that cannot be listed. By default it is raised, so that nobody takes the
            notes of the folder for deleted.
    """
    if not path.is_dir():
        return [path]
    paths: list[Path] = []
    listed: set[str] = set()
    for place, folders, files in os.walk(path, followlinks=True, onerror=on_error):
        real = os.path.realpath(place)
        if real in listed:
            folders.clear()
            continue
        listed.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = [name for name in (*folders, *files) if name.lower().endswith(SUFFIX)]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(paths)


def read_note(path: Path, place: str) -> MarkdownNote:
    """Return a note.

    Raises:
        InvalidInputError: The path is not a file that can be read, or the file is not text in UTF-8, or in UTF-16 with
            a byte order mark.
    """
    try:
        if path.exists() and not path.is_file():
            raise InvalidInputError("file", "a file", "a folder" if path.is_dir() else "something else")
        content, modified_s = path.read_bytes(), path.stat().st_mtime
    except OSError as error:
        raise InvalidInputError("file", "a file that can be read", error.strerror or str(error)) from None
    fields, text, problems = split_front_matter(decode(content))
    return MarkdownNote(
        path=path,
        place=place,
        fields=fields,
        text=text,
        problems=tuple(Unreadable(place=place, reason=each, keeps_text=True) for each in problems),
        modified_at=datetime.fromtimestamp(modified_s, UTC),
    )


def decode(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte order mark; lines end with a line feed.

    Raises:
        InvalidInputError: The content is in another encoding.
    """
    try:
        text = content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError("text", "UTF-8, or UTF-16 with a byte order mark", str(error)) from None
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return the fields of the front matter, the text below it, and the problems with fields.

    Several blocks of front matter, one below the other, are merged; the first value of a field counts.
    """
    fields: dict[str, Any] = {}
    problems: list[str] = []
    is_first = True
    while (block := _FRONT.match(text)) and is_front_matter(block[1], is_first=is_first):
        read, reasons = read_fields(block[1])
        fields = {**read, **fields}
        problems += reasons
        text = text[block.end() :].lstrip("\ufeff\n")
        is_first = False
    return fields, text.strip(), problems
