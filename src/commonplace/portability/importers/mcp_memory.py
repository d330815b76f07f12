"""The memory server of the Model Context Protocol's reference servers: a knowledge graph in ``memory.jsonl``.

An entity becomes an entity, each of its observations a fact about it, and each relation a fact about its source.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import EntityType, FactDraft
from commonplace.portability.items import EntityItem, Item
from commonplace.portability.naming import predicate_of

TAG: Final = "mcp-memory"


def read(path: Path) -> Iterator[Item]:
    """Yield the items of a graph.

    Raises:
        InvalidInputError: A line is not an entity or a relation; the message has its number.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            try:
                document = cast("dict[str, Any]", json.loads(line))
                yield from _entity(document) if document["type"] == "entity" else _relation(document)
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidInputError(
                    f"{path}, line {number}", "an entity or a relation", repr(error)
                ) from None


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
            predicate=predicate_of(observation),
            content=observation,
            entity_id=name,
            tags=(TAG,),
        )


def _relation(document: dict[str, Any]) -> Iterator[Item]:
    source, relation, target = document["from"], document["relationType"], document["to"]
    yield FactDraft(
        subject=source,
        predicate=f"{relation} {target}",
        content=f"{source} {relation} {target}",
        entity_id=source,
        tags=(TAG,),
    )
