"""A folder of Markdown: one file for each item, its fields as YAML front matter, its text as the body.

    facts/staging-port.md       ---
                                subject: staging
                                predicate: port
                                ---

                                Staging listens on 5433.

The folder determines the kind of an item. File names have no meaning and may be changed.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

import yaml

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError
from commonplace.services.transfer.front_matter import MALFORMED, PlainLoader
from commonplace.services.transfer.items import (
    KINDS,
    TEXT_FIELD,
    ExportedItem,
    Read,
    Unreadable,
    exported_json,
    from_json,
)

FOLDERS: Final = {
    "entity": "entities",
    "fact": "facts",
    "rule": "rules",
    "episode": "episodes",
    "digest": "digests",
    "operational": "operational",
    "workspace": "workspace",
}
MAX_NAME_CHARS: Final = 60
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class _PlainDumper(yaml.SafeDumper):
    """Writes YAML without aliases, which :func:`read` refuses."""

    def ignore_aliases(self, data: object) -> bool:
        """Write each value where it stands."""
        del data
        return True


def write(items: Iterable[ExportedItem], folder: Path) -> int:
    """Write each item to its own file, and return the number of items.

    Raises:
        OSError: A file cannot be written.
    """
    count = 0
    for item in items:
        document = exported_json(item)
        kind = document.pop("kind")
        text = document.pop(TEXT_FIELD[kind])
        named = f"{document['subject']} {document['predicate']}" if kind == "fact" else text
        path = _unused(folder / FOLDERS[kind], named)
        front = yaml.dump(document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
        write_text(path, f"---\n{front}---\n\n{text}\n")
        count += 1
    return count


def read(folder: Path) -> Read:
    """Yield the items of a folder."""
    for kind in KINDS:
        for path in sorted((folder / FOLDERS[kind]).glob("*.md")):
            try:
                front, text = split(path)
                yield from_json({**front, "kind": kind, TEXT_FIELD[kind]: text})
            except InvalidInputError as error:
                yield Unreadable(place=f"{FOLDERS[kind]}/{path.name}", reason=str(error))


def has_folders(folder: Path) -> bool:
    """Return whether a folder has a folder for items of a kind."""
    return any((folder / name).is_dir() for name in FOLDERS.values())


def has_items(folder: Path) -> bool:
    """Return whether a folder has files of items."""
    return any(True for name in FOLDERS.values() for _ in (folder / name).glob("*.md"))


def split(path: Path) -> tuple[dict[str, Any], str]:
    """Return the front matter and the body of a file; a file without front matter has an empty one.

    Raises:
        InvalidInputError: The file cannot be read, is not text in UTF-8, or its front matter is not a mapping in YAML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError("text", "UTF-8", str(error)) from None
    except OSError as error:
        raise InvalidInputError("file", "a file that can be read", error.strerror or str(error)) from None
    found = _FRONT.match(text)
    if found is None:
        return {}, text.strip()
    try:
        front: object = yaml.load(found[1], PlainLoader) or {}  # noqa: S506 - safe, and without aliases
    except MALFORMED as error:
        raise InvalidInputError("front matter", "YAML", " ".join(str(error).split())) from None
    if not isinstance(front, dict):
        raise InvalidInputError("front matter", "a mapping", front)
    return cast("dict[str, Any]", front), text[found.end() :].strip()


def slug(text: str) -> str:
    """Return the first words of a text as a short lower-case name."""
    name = "-".join(re.findall(r"[^\W_]+", text.casefold()))
    return (name[:MAX_NAME_CHARS].rsplit("-", 1)[0] if len(name) > MAX_NAME_CHARS else name) or "memory"


def _unused(folder: Path, text: str) -> Path:
    make_directories(folder)
    name, number = slug(text), 1
    path = folder / f"{name}.md"
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.md"
    return path
