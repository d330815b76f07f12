"""The memory server of the Model Context Protocol's reference servers: a knowledge graph in ``memory.jsonl``.

An entity becomes an entity, each of its observations a fact about it, and each relation a fact about its source.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import EntityType, FactDraft
from commonplace.services.transfer.items import EntityItem, Item, Read
from commonplace.services.transfer.jsonl import read_lines
from commonplace.services.transfer.naming import predicate_of

TAG: Final = "mcp-memory"


def read(path: Path) -> Read:
    """Yield the items of a graph."""
    return read_lines(path, _items)


def _items(document: object) -> Iterator[Item]:
    try:
        found = cast("dict[str, Any]", document)
        yield from _entity(found) if found["type"] == "entity" else _relation(found)
    except (AttributeError, KeyError, TypeError):
        raise InvalidInputError("line", "an entity or a relation", document) from None


def _entity(document: dict[str, Any]) -> Iterator[Item]:
    name, kind = document["name"], document["entityType"]
    is_known = kind in set(EntityType)
    yield EntityItem(
        id=name,
        name=name,
        entity_type=kind if is_known else EntityType.OTHER,
        metadata=None if is_known else {"type": kind},
    )
    for observation in document["observations"]:
        yield FactDraft(
            subject=name,
            predicate=predicate_of("observation", observation),
            content=observation,
            entity_id=name,
            tags=(TAG,),
        )


def _relation(document: dict[str, Any]) -> Iterator[Item]:
    source, relation, target = document["from"], document["relationType"], document["to"]
    content = f"{source} {relation} {target}"
    yield FactDraft(
        subject=source,
        predicate=predicate_of("relation", content),
        content=content,
        entity_id=source,
        tags=(TAG,),
    )
