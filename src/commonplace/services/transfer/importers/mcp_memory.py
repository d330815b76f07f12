"""The memory server of the Model Context Protocol's reference servers: a knowledge graph.

The server writes it as lines, ``memory.jsonl``; other programs write it as one document, ``memory.json``, with the
lists ``entities`` and ``relations``. An entity becomes an entity, each of its observations a fact about it, and each
relation a fact about its source.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import require_text
from commonplace.knowledge import MAX_CONTENT_CHARS, MAX_NAME_CHARS, EntityType, FactDraft
from commonplace.services.transfer.items import EntityItem, Read, Unreadable
from commonplace.services.transfer.jsonl import parse, read_content, read_lines
from commonplace.services.transfer.naming import predicate_of, subject_of

TAG: Final = "mcp-memory"
ENTRIES: Final = {"entity": "entities", "relation": "relations"}
"""The lists of a graph in one document, by the type of their entries."""


def read(path: Path) -> Read:
    """Yield the items of a graph, in lines or in one document.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    document = _document(path)
    if document is not None:
        yield from _graph(document)
        return
    items = list(read_lines(path, _entry))
    if path.suffix.lower() == ".json" and all(isinstance(each, Unreadable) for each in items):
        items = [Unreadable(place=path.name, reason="expected a graph in JSON, or in lines of JSON")]
    yield from items


def is_graph(document: object) -> bool:
    """Return whether a JSON value is a graph in one document, or one of its entries."""
    if isinstance(document, list):
        entries = cast("list[object]", document)
        return any(_kind(each) in ENTRIES for each in entries)
    if not isinstance(document, dict):
        return False
    graph = cast("dict[str, object]", document)
    return _kind(graph) in ENTRIES or any(isinstance(graph.get(name), list) for name in ENTRIES.values())


def _kind(entry: object) -> str:
    """Return the type of an entry; empty for any other value."""
    kind = cast("dict[str, object]", entry).get("type") if isinstance(entry, dict) else None
    return kind if isinstance(kind, str) else ""


def _document(path: Path) -> Mapping[str, Any] | None:
    """Return a graph in one document; ``None`` for lines."""
    content = read_content(path)
    try:
        document = parse(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(document, list):
        return {"entries": document}
    if isinstance(document, dict) and not document.keys().isdisjoint(ENTRIES.values()):
        return cast("Mapping[str, Any]", document)
    return None


def _graph(graph: Mapping[str, Any]) -> Read:
    for kind, name in (("entry", "entries"), *ENTRIES.items()):
        entries = graph.get(name)
        if entries is not None and not isinstance(entries, list):
            yield Unreadable(place=name, reason=str(InvalidInputError(name, "a list", entries)))
            continue
        for number, entry in enumerate(cast("list[object]", entries or []), start=1):
            place = f"{kind} {number}"
            try:
                yield from list(_entry(entry, place, kind))
            except InvalidInputError as error:
                yield Unreadable(place=place, reason=str(error))


def _entry(document: object, place: str, kind: str = "entry") -> Read:
    entry_type = _kind(document) if kind == "entry" else kind
    if isinstance(document, dict) and entry_type in ENTRIES:
        entry = cast("dict[str, Any]", document)
        return _entity(entry, place) if entry_type == "entity" else _relation(entry)
    raise InvalidInputError(kind, "an entity or a relation", cast("object", document))


def _entity(entry: Mapping[str, Any], place: str) -> Read:
    name = require_text(entry.get("name"), field="name", max_chars=MAX_NAME_CHARS)
    kind = require_text(
        entry.get("entityType", EntityType.OTHER), field="entityType", max_chars=MAX_CONTENT_CHARS
    )
    observations = entry.get("observations")
    if observations is not None and not isinstance(observations, list):
        raise InvalidInputError("observations", "a list of texts", observations)
    is_known = kind in set(EntityType)
    yield EntityItem(
        id=name,
        name=name,
        entity_type=kind if is_known else EntityType.OTHER,
        metadata=None if is_known else {"type": kind},
    )
    for observation in cast("list[object]", observations or []):
        try:
            text = require_text(observation, field="observations", max_chars=MAX_CONTENT_CHARS)
        except InvalidInputError as error:
            yield Unreadable(place=place, reason=str(error))
        else:
            yield _fact(name, "observation", text)


def _relation(entry: Mapping[str, Any]) -> Iterator[FactDraft]:
    source, relation, target = (
        require_text(entry.get(field), field=field, max_chars=MAX_CONTENT_CHARS)
        for field in ("from", "relationType", "to")
    )
    yield _fact(source, "relation", f"{source} {relation} {target}")


def _fact(name: str, kind: str, content: str) -> FactDraft:
    return FactDraft(
        subject=subject_of(name),
        predicate=predicate_of(kind, content),
        content=content,
        entity_id=name,
        tags=(TAG,),
    )
