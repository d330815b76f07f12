"""The memory that Claude Code keeps by itself: a folder with one Markdown file a memory, and ``MEMORY.md`` as index.

Feedback becomes a rule. A memory about the user, a project or a reference becomes a fact: the name is the subject, the
type the predicate. The text is the content; links (``[[name]]``) stay in it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import is_blank
from commonplace.knowledge import FactDraft, RuleDraft
from commonplace.services.transfer.items import Item, Read, Unreadable
from commonplace.services.transfer.markdown_notes import MarkdownNote, read_note, read_notes
from commonplace.services.transfer.naming import subject_of
from commonplace.services.transfer.own_texts import name_in
from commonplace.services.transfer.said import fact_said_at, said_at

TAG: Final = "claude-memory"
INDEX: Final = "MEMORY.md"
RULE_TYPE: Final = "feedback"
TYPES: Final = frozenset({RULE_TYPE, "project", "user", "reference"})
_MOST_LOOKED_AT: Final = 50
"""The number of files by which a folder is recognised."""


def read(path: Path) -> Read:
    """Yield the items of a folder, or of one of its files, without the index and without notes that show a memory."""
    for note in read_notes(path):
        if isinstance(note, Unreadable):
            yield note
        elif note.path.name != INDEX and name_in(note.fields) is None:
            yield from note.problems
            try:
                yield _item(note)
            except InvalidInputError as error:
                yield Unreadable(place=note.place, reason=str(error))


def is_memory_folder(folder: Path) -> bool:
    """Return whether a folder has the shape: memories beside an index, or at least half of the files are memories."""
    files = sorted(path for path in folder.glob("*.md") if path.name != INDEX)[:_MOST_LOOKED_AT]
    count = sum(is_memory(path) for path in files)
    return count > 0 and ((folder / INDEX).is_file() or 2 * count >= len(files))


def is_memory(path: Path) -> bool:
    """Return whether a file has the front matter of a memory."""
    try:
        fields = read_note(path, path.name).fields
    except InvalidInputError:
        return False
    metadata = _metadata(fields)
    return (
        metadata.get("node_type") == "memory"
        or _text(metadata, "type") in TYPES
        or (_text(fields, "type") in TYPES and "name" in fields and "description" in fields)
    )


def _item(note: MarkdownNote) -> Item:
    name = _text(note.fields, "name") or note.path.stem
    description = _text(note.fields, "description")
    content = note.text or description
    if is_blank(content):
        raise InvalidInputError("text", "a text or a description", None)
    inner = _metadata(note.fields)
    kind = _text(inner, "type") or _text(note.fields, "type") or _type_in_name(note.path)
    said = said_at(inner.get("modified"), note.fields.get("modified"), note.modified_at)
    texts = {
        "name": name,
        "description": description,
        "type": kind,
        "originSessionId": _text(inner, "originSessionId"),
    }
    metadata = {key: text for key, text in texts.items() if text}
    if kind == RULE_TYPE:
        return RuleDraft(content=content, tags=(TAG,), metadata=metadata, last_confirmed_at=said)
    predicate = subject_of(kind) or "memory"
    fact = FactDraft(
        subject=subject_of(name), predicate=predicate, content=content, tags=(TAG,), metadata=metadata
    )
    return fact_said_at(fact, said)


def _metadata(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = fields.get("metadata")
    return cast("Mapping[str, Any]", metadata) if isinstance(metadata, dict) else {}


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _type_in_name(path: Path) -> str:
    """Return the type that a file name begins with, such as ``feedback_small_commits.md``; empty if it has none."""
    start = path.stem.partition("_")[0]
    return start if start in TYPES else ""
