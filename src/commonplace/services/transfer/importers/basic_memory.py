"""basic-memory, and vaults of Obsidian: a folder of Markdown notes.

A note becomes an entity. Its observations (``- [category] text #tag (context)``), its relations (``- relation
[[Note]]``), the links in its prose (``see [[Note]]``) and the rest of its text become facts about the entity.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.text import is_blank
from commonplace.knowledge import MAX_NAME_CHARS, EntityType, FactDraft
from commonplace.services.transfer.items import EntityItem, Read, Unreadable
from commonplace.services.transfer.markdown_notes import MarkdownNote, read_notes
from commonplace.services.transfer.naming import predicate_of, subject_of, tags_of
from commonplace.services.transfer.own_texts import name_in
from commonplace.services.transfer.said import fact_said_at, said_at

_OBSERVATION: Final = re.compile(
    r"^\s*[-*] \[(?P<category>[^\]\n]{0,100}[^\]\sxX/-][^\]\n]{0,100})\] (?P<text>.+)$"
)
_RELATION: Final = re.compile(
    r"^\s*[-*] (?P<relation>[^\[\n]{0,200}?)\s*(?<!!)\[\[(?P<target>[^\[\]\n]+)\]\]\s*(?P<context>\([^\n]*\))?\s*$"
)
_LINK: Final = re.compile(r"(?<!!)\[\[([^\[\]\n]+)\]\]")
_CODE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_TAG: Final = re.compile(r"(?:^|\s)#([\w/-]*[^\W\d][\w/-]*)")
_DATES: Final = ("updated", "updated_at", "modified", "modified_at", "date", "created", "created_at")
"""The fields of the front matter with the time of a note, the latest first."""
_KEPT: Final = ("permalink", "type")
_HEADING: Final = re.compile(r"^#{1,6} ")


def read(path: Path) -> Read:
    """Yield the items of all notes below a folder, or of one note; notes that show a memory are left out."""
    for note in read_notes(path):
        if isinstance(note, Unreadable):
            yield note
        elif name_in(note.fields) is None:
            yield from note.problems
            yield from _items(note)


def is_vault(folder: Path) -> bool:
    """Return whether a folder is a vault of Obsidian."""
    return (folder / ".obsidian").is_dir()


def _items(note: MarkdownNote) -> Iterator[EntityItem | FactDraft]:
    title = _title(note)
    tags = _front_tags(note.fields)
    written_at = said_at(*(note.fields.get(name) for name in _DATES), note.modified_at)
    yield EntityItem(
        id=title,
        name=title,
        entity_type=EntityType.OTHER,
        metadata={key: value for key in _KEPT if isinstance(value := note.fields.get(key), str)} or None,
    )
    for fact in _facts(title, note.text, tags):
        yield fact_said_at(fact, written_at)


def _title(note: MarkdownNote) -> str:
    title = note.fields.get("title")
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return (text or note.path.stem)[:MAX_NAME_CHARS]


def _front_tags(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of a note, from a list, or from a text with commas."""
    tags = fields.get("tags", fields.get("tag"))
    if isinstance(tags, str):
        tags = tags.split(",") if "," in tags or "#" not in tags else tags.split()
    texts = cast("list[object]", tags) if isinstance(tags, list) else []
    return tags_of(text.strip().lstrip("#") for text in texts if isinstance(text, str))


def _facts(title: str, text: str, tags: tuple[str, ...]) -> Iterator[FactDraft]:
    prose: list[str] = []
    for line in text.splitlines():
        if observation := _OBSERVATION.match(line):
            yield _observation(title, observation["category"], observation["text"], tags)
        elif relation := _RELATION.match(line):
            yield _relation(title, relation, tags)
        else:
            prose.append(line)
    rest = "\n".join(line for line in prose if not _HEADING.match(line)).strip()
    targets = (_target(link) for link in _LINK.findall(_CODE.sub("", "\n".join(prose))))
    for target in dict.fromkeys(targets):
        if target and target != title:
            yield _fact(title, "relation", f"{title} links_to {target}", tags)
    if not is_blank(rest):
        yield FactDraft(subject=subject_of(title), predicate="note", content=rest, entity_id=title, tags=tags)


def _observation(title: str, category: str, text: str, tags: tuple[str, ...]) -> FactDraft:
    content = _TAG.sub("", text).strip() or text.strip()
    return _fact(title, category, content, tags_of([*tags, *_TAG.findall(text)]))


def _relation(title: str, relation: re.Match[str], tags: tuple[str, ...]) -> FactDraft:
    words = (
        title,
        relation["relation"].strip() or "relates_to",
        _target(relation["target"]),
        relation["context"],
    )
    return _fact(title, "relation", " ".join(word for word in words if word), tags)


def _target(link: str) -> str:
    """Return the note that a link names, without its part and its other wording; empty for a part of the same note."""
    return re.split(r"[|#^]", link)[0].strip()


def _fact(title: str, kind: str, content: str, tags: tuple[str, ...]) -> FactDraft:
    predicate = predicate_of(kind, content)
    return FactDraft(
        subject=subject_of(title), predicate=predicate, content=content, entity_id=title, tags=tags
    )
