"""Writing a mirror: new notes, changed ones, the deletion of those that are no longer chosen, and lines.

A note that differs from what was written into it is neither overwritten nor deleted.

Source: MIR-01.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.errors import InvalidInputError
from commonplace.core.secrets import find_secret
from commonplace.core.text import plural
from commonplace.knowledge import Fact, Rule
from commonplace.services.mirrors.forms import LAYOUTS, NoteContent, name_of
from commonplace.services.mirrors.notes import (
    READABLE,
    MirrorNote,
    read_note,
    remove_drafts,
    rewrite_note,
    text_digest,
    write_note,
)
from commonplace.services.mirrors.registry import Mirror
from commonplace.services.mirrors.update import MirrorChange, MirrorLine, MirrorUpdate
from commonplace.services.transfer.own_texts import with_own_lines

MARKDOWN: Final = ".md"


def write_mirror(update: MirrorUpdate, memories: Sequence[Fact | Rule]) -> None:
    """Write the memories that a mirror shows, but for those with a secret.

    Raises:
        InvalidInputError: The file with lines has several sections of commonplace, or one without an end, is not
            UTF-8, or is a link to a file of another kind elsewhere.
        OSError: A note cannot be deleted, or the file with lines cannot be written.
    """
    memories = [each for each in memories if _may_be_written(update, each)]
    if update.layout.note is not None:
        _write_notes(update, memories)
    if update.layout.file:
        _write_lines(update, memories)


def _write_notes(update: MirrorUpdate, memories: Sequence[Fact | Rule]) -> None:
    assert update.layout.note is not None  # noqa: S101 - see the caller
    names = {name_of(each) for each in memories}
    for mark in [mark for mark, record in update.records.items() if record.memory not in names]:
        _remove(update, mark)
    marks = defaultdict[str, list[str]](list)
    for mark, record in update.records.items():
        marks[record.memory].append(mark)
    remove_drafts(update.mirror.path)
    taken = {path.name.casefold() for path in update.mirror.path.glob("*")}
    for memory in memories:
        content = update.layout.note(memory)
        try:
            for mark in marks[name_of(memory)]:
                _rewrite(update, mark, memory, content)
            if not marks[name_of(memory)]:
                note = write_note(update.mirror.path, content, taken)
                update.note(note.mark, note, name_of(memory), note.digest)
                update.report(MirrorChange.WRITTEN, name_of(memory), note.path, memory.content)
        except OSError as error:
            reason = f"its note cannot be written: {error.strerror or error}"
            update.report(MirrorChange.SKIPPED, name_of(memory), None, reason)


def _remove(update: MirrorUpdate, mark: str) -> None:
    """Delete the note of a memory that no longer belongs to a mirror, unless it was edited."""
    note, record = update.notes.get(mark), update.records[mark]
    if note is not None and (note.digest != record.digest or _was_changed(note)):
        return
    if note is not None:
        note.path.unlink(missing_ok=True)
        update.report(MirrorChange.REMOVED, record.memory, note.path, note.text)
    del update.records[mark]
    update.notes.pop(mark, None)


def _write_lines(update: MirrorUpdate, memories: Sequence[Fact | Rule]) -> None:
    path = file_with_lines(update.mirror)
    before = _text_of(path)
    files = {
        update.records[mark].memory: note.path.relative_to(update.mirror.path).as_posix()
        for mark, note in update.notes.items()
        if mark in update.records
    }
    has_notes = update.layout.note is not None
    named = [
        (files.get(name_of(each), ""), each) for each in memories if not has_notes or name_of(each) in files
    ]
    after = with_own_lines(before, [line for item in update.layout.lines(named) for line in item.split("\n")])
    if after == before:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    real = _end_of_link(path)
    mode = real.stat().st_mode & 0o777 if real.exists() else READABLE
    write_text(real, after, mode=mode)
    change = MirrorChange.CHANGED if before else MirrorChange.WRITTEN
    line = MirrorLine(
        change=change, file=path.name, text=plural(len(named), "memory", "memories"), memory_id=""
    )
    update.lines.append(line)


def _end_of_link(path: Path) -> Path:
    """Return the file that a path leads to, because often one file of instructions is a link to another.

    Raises:
        InvalidInputError: The file is no Markdown and elsewhere: a repository may hold a link to a file of its reader.
    """
    real = path.resolve()
    if real.suffix.lower() != MARKDOWN and real.parent != path.parent.resolve():
        raise InvalidInputError(
            "file", "a link to Markdown, or to a file beside it", f"{path} leads to {real}"
        )
    return real


def _rewrite(update: MirrorUpdate, mark: str, memory: Fact | Rule, content: NoteContent) -> None:
    """Give a note the text of its memory, unless it has another one than was written into it."""
    note, digest = update.notes.get(mark), text_digest(content.text)
    if note is None or note.digest != update.records[mark].digest or note.digest == digest:
        return
    if rewrite_note(note, content):
        update.note(mark, replace(note, text=content.text), name_of(memory), digest)
        update.report(MirrorChange.CHANGED, name_of(memory), note.path, memory.content)


def file_with_lines(mirror: Mirror) -> Path:
    """Return the file with lines: the path itself if it names a file in Markdown."""
    is_file = mirror.path.suffix.lower() == MARKDOWN and not mirror.path.is_dir()
    return mirror.path if is_file else mirror.path / LAYOUTS[mirror.form].file


def _may_be_written(update: MirrorUpdate, memory: Fact | Rule) -> bool:
    """Return whether a memory may be written into files that other programs read; one with a secret may not."""
    key = (memory.subject, memory.predicate) if isinstance(memory, Fact) else ()
    secret = find_secret("\n".join([*key, *memory.tags, memory.content]))
    if secret is not None:
        update.report(MirrorChange.SKIPPED, name_of(memory), None, f"it looks like it holds a {secret.kind}")
    return secret is None


def _was_changed(note: MirrorNote) -> bool:
    """Return whether a person changed or deleted a note since it was read."""
    fresh = read_note(note.path)
    return fresh is None or fresh.digest != note.digest


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidInputError("file", "UTF-8", f"{path}: {error.reason}") from None
