"""Items: the units of exports and imports, and their JSON form.

An item is an object with ``kind`` and the fields below; fields with ``?`` may be missing. Unknown fields are ignored.

==============  =====================================================================================================
``entity``      ``id``, ``name``, ``entity_type`` (person, organization, place, other), ``aliases``?, ``metadata``?
``fact``        ``subject``, ``predicate``, ``content``, ``scope``?, ``importance``?, ``permanence``?, ``tags``?,
                ``entity_id``? (the ``id`` of an entity above), ``source_butler``?, ``valid_from``?, ``valid_to``?,
                ``metadata``?, ``source``? (person, agent, import, document, tool or web)
``rule``        ``content``, ``scope``?, ``tags``?, ``source_butler``?, ``metadata``?, ``source``?
``episode``     ``content``, ``butler``, ``session_id``?, ``importance``?, ``created_at``?, ``metadata``?,
                ``source``?
``operational``  ``category``, ``observation``, ``service``?, ``confidence``?
``workspace``   ``text``, ``scope``?, ``tags``?
==============  =====================================================================================================
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any, Final, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import EpisodeDraft, FactDraft, RuleDraft
from commonplace.operational import DEFAULT_CONFIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityItem:
    """An entity; ``id`` is the name by which facts of the same source refer to it."""

    id: str
    name: str
    entity_type: str = "other"
    aliases: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationalItem:
    """A memory of operational memory."""

    category: str
    observation: str
    service: str | None = None
    confidence: float = DEFAULT_CONFIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceItem:
    """A memory of workspace memory."""

    text: str
    scope: str = "workspace"
    tags: tuple[str, ...] = ()


Item = EntityItem | FactDraft | RuleDraft | EpisodeDraft | OperationalItem | WorkspaceItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line, file or row of a source that cannot be read as an item."""

    place: str
    reason: str


Read = Iterator[Item | Unreadable]
"""The result of reading a source."""

KINDS: Final[dict[str, type[Item]]] = {
    "entity": EntityItem,
    "fact": FactDraft,
    "rule": RuleDraft,
    "episode": EpisodeDraft,
    "operational": OperationalItem,
    "workspace": WorkspaceItem,
}
"""The items by kind, in the order in which they are stored: entities come before the facts about them."""

TEXT_FIELD: Final = {"fact": "content", "rule": "content", "episode": "content"} | {
    "operational": "observation",
    "workspace": "text",
    "entity": "name",
}
"""The field with the text that people read."""


def kind_of(item: Item) -> str:
    """Return the kind of an item."""
    return next(kind for kind, cls in KINDS.items() if isinstance(item, cls))


def identity(item: Item) -> tuple[object, ...]:
    """Return the key that is equal for two items that are the same memory, wherever and whenever they were stored."""
    match item:
        case EntityItem():
            return ("entity", item.name.casefold(), item.entity_type)
        case FactDraft():
            return ("fact", item.scope, item.subject, item.predicate, item.content.strip())
        case RuleDraft():
            return ("rule", item.scope, item.content.strip())
        case EpisodeDraft():
            return ("episode", item.butler, str(item.session_id or ""), item.content.strip())
        case OperationalItem():
            return ("operational", item.category, item.service, item.observation.strip())
        case WorkspaceItem():
            return ("workspace", " ".join(item.text.split()))


def to_json(item: Item) -> dict[str, Any]:
    """Return the JSON object of an item; fields without a value are left out."""
    document: dict[str, Any] = {"kind": kind_of(item)}
    for each in fields(item):
        value = getattr(item, each.name)
        if value in (None, (), {}):
            continue
        if isinstance(value, datetime):
            value = format_timestamp(value)
        elif isinstance(value, tuple):
            value = list(cast("tuple[str, ...]", value))
        elif not isinstance(value, (int, float, Mapping)):
            value = str(value)
        document[each.name] = value
    return document


def from_json(document: object) -> Item:
    """Return the item of a JSON object.

    Raises:
        InvalidInputError: The kind is unknown, or a field is missing or of another type.
    """
    if not isinstance(document, dict):
        raise InvalidInputError("item", "a JSON object", document)
    given = cast("dict[str, Any]", document)
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInputError("kind", f"one of {', '.join(KINDS)}", kind)
    cls = KINDS[kind]
    values: dict[str, Any] = {}
    for each in fields(cls):
        if given.get(each.name) is not None:
            values[each.name] = _value(each.name, given[each.name])
        elif each.default is MISSING and each.default_factory is MISSING:
            raise InvalidInputError(kind, f"a field `{each.name}`", given)
    return cls(**values)


def _value(name: str, value: object) -> object:
    reader, expected = _READERS.get(name, (_text, "a text"))
    read = reader(value)
    if read is None:
        raise InvalidInputError(name, expected, value)
    return read


def _text(value: object) -> object:
    return value if isinstance(value, str) else None


def _number(value: object) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) < math.inf else None  # NaN is not less than the limit either.


def _texts(value: object) -> object:
    listed = cast("list[object]", value) if isinstance(value, list) else [None]
    return tuple(str(each) for each in listed) if all(isinstance(each, str) for each in listed) else None


def _object(value: object) -> object:
    return cast("object", value) if isinstance(value, dict) else None


def _moment(value: object) -> object:
    if isinstance(value, datetime):  # as YAML reads it
        return value if value.tzinfo else None
    return parse_timestamp(value) if isinstance(value, str) else None


_READERS: Final[dict[str, tuple[Callable[[object], object], str]]] = {
    "importance": (_number, "a number"),
    "confidence": (_number, "a number"),
    "tags": (_texts, "a list of texts"),
    "aliases": (_texts, "a list of texts"),
    "metadata": (_object, "an object"),
    "created_at": (_moment, "an ISO 8601 timestamp with an offset"),
    "valid_from": (_moment, "an ISO 8601 timestamp with an offset"),
    "valid_to": (_moment, "an ISO 8601 timestamp with an offset"),
}
