"""The notes of a mirror on disk: each has a mark in its front matter, so that a person may rename or move it.

The mark is the type and id of the memory for which the note was written first. It never changes: of an edited memory,
which has another id, the registry knows the note.

Source: MIR-01.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from commonplace.core.atomic_write import write_text
from commonplace.core.digests import digest_of
from commonplace.services.mirrors.forms import NoteContent
from commonplace.services.transfer.markdown_notes import SUFFIX, note_paths
from commonplace.services.transfer.own_texts import MARK, NAME

READABLE: Final = 0o666
"""The mode of a new file, less the umask: other programs read it."""

_BLOCK: Final = re.compile(r"---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*(?:\n|\Z)\n*", re.DOTALL | re.MULTILINE)
_MARK: Final = re.compile(rf"^[\"']?{MARK}[\"']?[ \t]*:\s*[\"']?({NAME.pattern})", re.MULTILINE)
_DRAFT: Final = re.compile(rf"\..*{re.escape(SUFFIX)}\.[0-9a-f]{{32}}")
_DESCRIPTION: Final = re.compile(r"^description:.*\n(?![ \t])", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorNote:
    """A note that shows a memory.

    Attributes:
        mark: The mark, such as ``fact:UUID``.
        text: The text below the front matter.
    """

    path: Path
    mark: str
    text: str

    @property
    def digest(self) -> str:
        """The digest of the text."""
        return text_digest(self.text)


@dataclass(slots=True)
class NotesOnDisk:
    """The files of a mirror.

    Attributes:
        notes: The notes by mark; several if a note was copied.
        places: The digests of the paths of all files that are named like notes, relative to the folder.
    """

    notes: defaultdict[str, list[MirrorNote]] = field(default_factory=lambda: defaultdict(list))
    places: set[str] = field(default_factory=set[str])


def text_digest(text: str) -> str:
    """Return the digest of a text, whatever spaces end its lines."""
    return digest_of("\n".join(line.rstrip() for line in text.strip().splitlines()))


def place_of(path: Path, folder: Path) -> str:
    """Return the digest of a path in a folder, because the name of a note may hold what a person erases."""
    return digest_of(path.relative_to(folder).as_posix())


def notes_in(folder: Path) -> NotesOnDisk:
    """Return the notes below a folder, and of a folder that is missing, none.

    Raises:
        OSError: A folder cannot be listed.
    """
    disk = NotesOnDisk()
    for path in note_paths(folder) if folder.is_dir() else ():
        disk.places.add(place_of(path, folder))
        note = read_note(path)
        if note is not None:
            disk.notes[note.mark].append(note)
    return disk


def read_note(path: Path) -> MirrorNote | None:
    """Return a note; ``None`` for a file that cannot be read, is not UTF-8 or has no mark."""
    try:
        head, text = _parts(_text_of(path))
    except (OSError, UnicodeDecodeError):
        return None
    mark = _MARK.search(head)
    return MirrorNote(path=path, mark=mark[1], text=text.strip()) if mark else None


def write_note(folder: Path, content: NoteContent, taken: set[str]) -> MirrorNote:
    """Write a new note and return it; names that differ only in case count as one.

    Args:
        folder: The folder, which is made if it is missing.
        content: The note.
        taken: The case-folded names in the folder, to which that of the note is added.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem, number = content.stem, 1
    while f"{stem}{SUFFIX}".casefold() in taken:
        number += 1
        stem = f"{content.stem}-{number}"
    path = folder / f"{stem}{SUFFIX}"
    taken.add(path.name.casefold())
    front = yaml.safe_dump(dict(content.fields), sort_keys=False, allow_unicode=True, width=10_000)
    write_text(path, f"---\n{front}---\n\n{content.text}\n", mode=READABLE)
    return MirrorNote(path=path, mark=content.fields[MARK], text=content.text)


def remove_drafts(folder: Path) -> None:
    """Delete the drafts that a killed process left in a folder; see :mod:`commonplace.core.atomic_write`.

    Raises:
        OSError: One cannot be deleted.
    """
    for path in folder.glob(f".*{SUFFIX}.*"):
        if _DRAFT.fullmatch(path.name):
            path.unlink(missing_ok=True)


def rewrite_note(note: MirrorNote, content: NoteContent) -> bool:
    """Give a note another text and description; all else that a person added stays. Return whether it was written.

    A note that a person changed since it was read is left alone.

    Raises:
        OSError: It cannot be written.
    """
    fresh = read_note(note.path)
    if fresh is None or fresh.digest != note.digest:
        return False
    whole = _text_of(note.path)
    head, _ = _parts(whole)
    description = content.fields.get("description")
    if description is not None:
        line = yaml.safe_dump({"description": description}, allow_unicode=True, width=10_000)
        head = _DESCRIPTION.sub(lambda _: line, head, count=1)
    text = f"{head.rstrip()}\n\n{content.text}\n"
    newline = "\r\n" if b"\r\n" in note.path.read_bytes() else "\n"
    mode = note.path.stat().st_mode & 0o777
    write_text(note.path.resolve(), text.replace("\n", newline), mode=mode)
    return True


def _text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


def _parts(whole: str) -> tuple[str, str]:
    """Return the front matter up to the block with the mark, and the text below it, which may begin like a block."""
    end = 0
    while (block := _BLOCK.match(whole, end)) is not None:
        end = block.end()
        if _MARK.search(block[0]):
            break
    return whole[:end], whole[end:]
