"""basic-memory: a folder of Markdown notes with ``- [category] text #tag (context)`` and ``- relation [[Note]]``.

A note becomes an entity. Its observations and relations become facts about it, and so does the rest of its text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import EntityType, FactDraft
from commonplace.services.transfer.items import EntityItem, Item, Read, Unreadable
from commonplace.services.transfer.markdown import split
from commonplace.services.transfer.naming import predicate_of
from commonplace.services.transfer.said import fact_said_at, said_at

_OBSERVATION: Final = re.compile(r"^\s*[-*] \[(?P<category>[^\]\n]*[^\]\sxX/-][^\]\n]*)\] (?P<text>.+)$")
_RELATION: Final = re.compile(r"^\s*[-*] (?P<relation>[^\[\n]*?)\s*\[\[(?P<target>[^\]\n]+)\]\]")
_TAG: Final = re.compile(r"(?:^|\s)#([\w/-]+)")
_DATES: Final = ("updated", "updated_at", "modified", "modified_at", "date", "created", "created_at")
"""The fields of the front matter with the time of a note, the latest first."""
_HEADING: Final = re.compile(r"^#{1,6} ")


def read(path: Path) -> Read:
    """Yield the items of all notes below a folder, or of one note."""
    notes = sorted(path.rglob("*.md")) if path.is_dir() else [path]
    for note in notes:
        if not any(part.startswith(".") for part in note.relative_to(path).parts):
            try:
                front, text = split(note)
            except InvalidInputError as error:
                yield Unreadable(place=str(note.relative_to(path)), reason=str(error))
            else:
                yield from _note(note, front, text)


def _note(path: Path, front: dict[str, Any], text: str) -> Iterator[Item]:
    title = str(front.get("title") or path.stem)
    given = front.get("tags") or ()
    tags = (
        [str(tag) for tag in cast("list[object]", given)]
        if isinstance(given, list)
        else str(given).split(",")
    )
    yield EntityItem(
        id=title,
        name=title,
        entity_type=EntityType.OTHER,
        metadata={key: str(front[key]) for key in ("permalink", "type") if key in front} or None,
    )
    written_at = said_at(*(front.get(name) for name in _DATES))
    prose: list[str] = []
    for line in text.splitlines():
        found = _OBSERVATION.match(line) or _RELATION.match(line)
        if found is None:
            prose.append(line)
        else:
            yield fact_said_at(_fact(title, found.groupdict(), tags), written_at)
    rest = "\n".join(line for line in prose if not _HEADING.match(line)).strip()
    if rest:
        fact = FactDraft(subject=title, predicate="note", content=rest, entity_id=title, tags=_tags(tags))
        yield fact_said_at(fact, written_at)


def _fact(title: str, found: dict[str, str], tags: list[str]) -> FactDraft:
    if "target" in found:
        relation = found["relation"].strip() or "relates_to"
        content = f"{title} {relation} {found['target']}"
        return FactDraft(
            subject=title,
            predicate=predicate_of("relation", content),
            content=content,
            entity_id=title,
            tags=_tags(tags),
        )
    text = _TAG.sub("", found["text"]).strip()
    return FactDraft(
        subject=title,
        predicate=predicate_of(found["category"], text),
        content=text,
        entity_id=title,
        tags=_tags([*tags, *_TAG.findall(found["text"])]),
    )


def _tags(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
