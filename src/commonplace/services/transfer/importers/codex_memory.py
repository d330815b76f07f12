"""The memory that Codex keeps by itself: the folder ``~/.codex/memories``.

The list items and paragraphs of the registry (``MEMORY.md``) and of ``memory_summary.md`` become facts about their
topic, and so do the sections of each summary of a session (``rollout_summaries/*.md``). A model wrote them from what it
read, so their source is a document. What Codex notes for its own searches is left out: keywords, the index, paths,
thread ids, folders and times.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source
from commonplace.core.text import is_blank
from commonplace.knowledge import FactDraft
from commonplace.services.transfer.front_matter import read_fields
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.markdown_blocks import blocks, heading_of
from commonplace.services.transfer.markdown_notes import MarkdownNote, read_note
from commonplace.services.transfer.naming import predicate_of, subject_of, tags_of
from commonplace.services.transfer.said import fact_said_at, said_at

TAG: Final = "codex-memory"
REGISTRY: Final = "MEMORY.md"
SUMMARY: Final = "memory_summary.md"
SESSIONS: Final = "rollout_summaries"

_FIELDS: Final = (
    "keywords|rollout_path|rollout_summary_files?|rollout_slug|thread_id|session_id|cwd|updated_at|git_branch|"
    "task_outcome|applies_to|reuse_rule"
)
_FIELD: Final = re.compile(rf"^\W*(?P<name>{_FIELDS})\W*?[:=](?P<value>.*)$", re.IGNORECASE)
_SECTION_LEVEL: Final = 2
"""The level of the headings of tasks in the summary of a session."""
_LEFT_OUT: Final = re.compile(r"(?:keywords|rollout_summary_files?|what'?s in memory)\W*$", re.IGNORECASE)
"""Headings of sections that are indexes."""
_FRONT: Final = re.compile(r"^---[ \t]*\n((?:(?!---).*\n)*?)---[ \t]*$", re.MULTILINE)
_NOTED: Final = re.compile(
    r" ?\((?=[^()]*\b(?:cwd|rollout_path|updated_at|thread_id)=)[^()]*\)| ?\[Task [\d, and]+\]"
    r"|\b(?:cwd|rollout_path|updated_at|thread_id)=[^\s;,)]+[;,]?"
)
_POINTER: Final = re.compile(
    r"^\W*(?:rollout_summaries/\S+|thread\s+`?[0-9a-f-]{36}`?)\W*$|^v\d+$", re.IGNORECASE
)
_TOPIC: Final = re.compile(r"^task group:\s*", re.IGNORECASE)
_TIME_IN_NAME: Final = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(?:\w{4}-)?")


def read(path: Path) -> Read:
    """Yield the facts of a folder, or of one of its files."""
    for file in files_of(path) if path.is_dir() else [path]:
        place = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            note = read_note(file, place)
        except InvalidInputError as error:
            yield Unreadable(place=place, reason=str(error))
        else:
            is_session = file.parent.name == SESSIONS
            yield from _session(note) if is_session else _topics(note)


def is_memory_folder(folder: Path) -> bool:
    """Return whether a folder is the memory of Codex."""
    return (folder / SESSIONS).is_dir() or (folder / SUMMARY).is_file()


def files_of(folder: Path) -> list[Path]:
    """Return the files that hold memories: the registry, the summary, and the summaries of sessions."""
    files = [file for name in (REGISTRY, SUMMARY) if (file := folder / name).exists()]
    return files + sorted((folder / SESSIONS).glob("*.md"))


def _topics(note: MarkdownNote) -> Iterator[FactDraft]:
    """Yield the list items and paragraphs of a file about their topics."""
    topic, lines = _topic_of(note), _told_lines(note)
    for block in blocks("\n".join(lines)):
        headings = [_TOPIC.sub("", heading) for heading in block.headings]
        subject, *sections = headings if note.path.name == REGISTRY and headings else [topic, *headings]
        kind = (sections[-1] if sections else "note").casefold()
        yield _fact(subject, predicate_of(kind, block.text), block.text, note.modified_at)


def _session(note: MarkdownNote) -> Iterator[FactDraft]:
    """Yield one fact for each section of the second level, and one for the text above these sections."""
    subject = _topic_of(note)
    sections: dict[str, list[str]] = {"summary": []}
    name = "summary"
    for line in _told_lines(note):
        level, title = heading_of(line) or (0, "")
        if level not in {1, _SECTION_LEVEL}:
            sections[name].append(line)
        elif level == 1:
            subject = title
        else:
            name = title if title not in sections else predicate_of(title, str(len(sections)))
            sections[name] = []
    said = said_at(_noted(note, "updated_at"), _time_in_name(note), note.modified_at)
    for section, lines in sections.items():
        text = "\n".join(lines).strip()
        if not is_blank(text):
            yield _fact(subject, section, text, said)


def _told_lines(note: MarkdownNote) -> list[str]:
    """Return the lines of a file without what Codex notes for its own searches."""
    lines: list[str] = []
    left_out = 0
    for raw in _FRONT.sub(_as_heading, note.text).split("\n"):
        heading = heading_of(raw)
        if heading is not None and (not left_out or heading[0] <= left_out):
            left_out = heading[0] if _LEFT_OUT.match(heading[1]) else 0
        line = _NOTED.sub("", raw).rstrip()
        if not left_out and not _FIELD.match(raw) and not _POINTER.match(line):
            lines.append(line)
    return lines


def _as_heading(front: re.Match[str]) -> str:
    """Return the description of a block of front matter within a registry as a heading."""
    fields, _ = read_fields(front[1])
    description = fields.get("description")
    return f"\n# {description}\n" if isinstance(description, str) else front[0]


def _topic_of(note: MarkdownNote) -> str:
    """Return the description of a file, else its name without its time."""
    description = note.fields.get("description")
    if isinstance(description, str):
        return description
    return " ".join(re.findall(r"[^\W_]+", _TIME_IN_NAME.sub("", note.path.stem))) or note.path.stem


def _noted(note: MarkdownNote, name: str) -> str | None:
    """Return a value that stands in a line of its own, or in the front matter."""
    for line in note.text.split("\n"):
        found = _FIELD.match(line)
        if found and found["name"].casefold() == name:
            return found["value"].strip()
    return note.fields.get(name)


def _time_in_name(note: MarkdownNote) -> str | None:
    found = _TIME_IN_NAME.match(note.path.name)
    return None if found is None else f"{found[1]}T{found[2]}:{found[3]}:{found[4]}"


def _fact(subject: str, predicate: str, content: str, said: datetime | None) -> FactDraft:
    fact = FactDraft(
        subject=subject_of(subject) or TAG,
        predicate=subject_of(predicate) or "note",
        content=content,
        tags=tags_of([TAG]),
        source=Source.DOCUMENT,
    )
    return fact_said_at(fact, said)
