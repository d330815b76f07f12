"""The notes of a mirror on disk: each names its memory in its front matter, so that a person may rename or move it.

Source: MIR-01.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from commonplace.core.atomic_write import write_text
from commonplace.core.digests import digest_of
from commonplace.core.errors import InvalidInputError
from commonplace.services.mirrors.forms import NoteContent
from commonplace.services.transfer.markdown_notes import SUFFIX, note_paths, read_note
from commonplace.services.transfer.own_texts import MARK, name_in

READABLE: Final = 0o666
"""The mode of a new file, less the umask: other programs read it."""

_FRONT: Final = re.compile(r"\A(---[ \t]*\n.*?^---[ \t]*\n)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorNote:
    """A note that shows a memory.

    Attributes:
        name: The type and id of the memory, such as ``fact:UUID``.
        text: The text below the front matter.
    """

    path: Path
    name: str
    text: str

    @property
    def digest(self) -> str:
        """The digest of the text."""
        return text_digest(self.text)


def text_digest(text: str) -> str:
    """Return the digest of a text, whatever spaces end its lines."""
    return digest_of("\n".join(line.rstrip() for line in text.strip().splitlines()))


def notes_in(folder: Path) -> dict[str, MirrorNote]:
    """Return the notes below a folder by their memory; of two notes of one memory, the first.

    A missing folder has none.

    Raises:
        OSError: The folder cannot be listed.
    """
    notes: dict[str, MirrorNote] = {}
    for path in note_paths(folder) if folder.is_dir() else ():
        try:
            note = read_note(path, path.name)
        except InvalidInputError:  # A note of others.
            continue
        name = name_in(note.fields)
        if name is not None:
            notes.setdefault(name, MirrorNote(path=path, name=name, text=note.text))
    return notes


def write_note(folder: Path, draft: NoteContent, taken: Iterable[Path]) -> Path:
    """Write a new note and return its path; names that differ only in case count as one.

    Args:
        folder: The folder, which is made if it is missing.
        draft: The note.
        taken: The notes that are there already.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.name.casefold() for path in (*taken, *folder.iterdir())}
    stem, number = draft.stem, 1
    while f"{stem}{SUFFIX}".casefold() in names:
        number += 1
        stem = f"{draft.stem} {number}"
    path = folder / f"{stem}{SUFFIX}"
    front = yaml.safe_dump(dict(draft.fields), sort_keys=False, allow_unicode=True, width=10_000)
    write_text(path, f"---\n{front}---\n\n{draft.text}\n", mode=READABLE)
    return path


def rewrite_note(note: MirrorNote, draft: NoteContent) -> None:
    """Give a note another text, memory and date; all else that a person added to its front matter stays.

    Raises:
        OSError: It cannot be written.
    """
    content = note.path.read_text(encoding="utf-8-sig")
    front = _FRONT.match(content.replace("\r\n", "\n"))
    assert front is not None  # noqa: S101 - it named the memory
    changed = re.sub(rf"^{MARK}:.*$", f"{MARK}: {draft.fields[MARK]}", front[1], count=1, flags=re.MULTILINE)
    for field in ("updated", "description"):
        value = draft.fields.get(field)
        if value is not None:
            line = yaml.safe_dump({field: value}, allow_unicode=True, width=10_000).strip()
            changed = re.sub(
                rf"^{field}:.*$", lambda _, line=line: line, changed, count=1, flags=re.MULTILINE
            )
    mode = note.path.stat().st_mode & 0o777
    write_text(note.path.resolve(), f"{changed}\n{draft.text}\n", mode=mode)
