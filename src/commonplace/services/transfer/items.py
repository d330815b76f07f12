"""Items: the units of exports and imports, and their JSON form.

An item is an object with ``kind`` and the fields below; fields with ``?`` may be missing. Unknown fields are ignored.

==============  =====================================================================================================
``entity``      ``id``, ``name``, ``entity_type`` (person, organization, place, other), ``aliases``?, ``metadata``?
``fact``        ``subject``, ``predicate``, ``content``, ``scope``?, ``importance``?, ``permanence``?, ``tags``?,
                ``entity_id``? (the ``id`` of an entity above), ``source_butler``?, ``valid_from``?, ``valid_to``?,
                ``metadata``?, ``source``? (person, agent, import, document, tool or web), ``last_confirmed_at``?
``rule``        ``content``, ``scope``?, ``tags``?, ``source_butler``?, ``metadata``?, ``source``?,
                ``last_confirmed_at``?
``episode``     ``content``, ``butler``, ``session_id``?, ``importance``?, ``created_at``?, ``metadata``?,
                ``source``?
``digest``      ``app_id``, ``content``, ``created_at``, ``updated_at``, ``app_name``?, ``user_id``?,
                ``source_conversation_id``?, ``metadata``?
``operational``  ``category``, ``observation``, ``service``?, ``confidence``?, ``updated_at``?
``workspace``   ``text``, ``scope``?, ``tags``?, ``created_at``?
==============  =====================================================================================================

An export adds two fields that an import reads and does not store: ``record``, an object with everything else that is
known about the memory (ids, times, confidence, use, earlier wordings), and ``past``, which is true for a memory that is
no longer current, such as a superseded fact.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
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
class DigestItem:
    """A digest of an app."""

    app_id: str
    content: str
    created_at: datetime
    updated_at: datetime
    app_name: str | None = None
    user_id: str | None = None
    source_conversation_id: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationalItem:
    """A memory of operational memory."""

    category: str
    observation: str
    service: str | None = None
    confidence: float = DEFAULT_CONFIDENCE
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceItem:
    """A memory of workspace memory."""

    text: str
    scope: str = "workspace"
    tags: tuple[str, ...] = ()
    created_at: datetime | None = None


Item = EntityItem | FactDraft | RuleDraft | EpisodeDraft | DigestItem | OperationalItem | WorkspaceItem


@dataclass(frozen=True, slots=True, kw_only=True)
class PastItem:
    """A memory that is no longer current; an import counts it and does not store it."""

    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedItem:
    """An item with everything else that is known about its memory.

    Attributes:
        record: What an import cannot store, by field, as JSON values.
        is_past: Whether the memory is no longer current.
    """

    item: Item
    record: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_past: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line, file, row or field of a source that cannot be read.

    Attributes:
        keeps_text: Whether the text of the item is read all the same, as with a bad field of front matter.
    """

    place: str
    reason: str
    keeps_text: bool = False


Read = Iterator[Item | PastItem | Unreadable]
"""The result of reading a source."""

KINDS: Final[dict[str, type[Item]]] = {
    "entity": EntityItem,
    "fact": FactDraft,
    "rule": RuleDraft,
    "episode": EpisodeDraft,
    "digest": DigestItem,
    "operational": OperationalItem,
    "workspace": WorkspaceItem,
}
"""The items by kind, in the order in which they are stored: entities come before the facts about them."""

TEXT_FIELD: Final = dict.fromkeys(("fact", "rule", "episode", "digest"), "content") | {
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
    key: tuple[object, ...]
    match item:
        case EntityItem():
            key = ("entity", item.name.casefold(), item.entity_type)
        case FactDraft():
            key = ("fact", item.scope, item.subject, item.predicate, item.content.strip())
        case RuleDraft():
            key = ("rule", item.scope, item.content.strip())
        case EpisodeDraft():
            key = ("episode", item.butler, str(item.session_id or ""), item.content.strip())
        case DigestItem():
            key = ("digest", item.app_id, item.user_id, item.content.strip(), item.created_at)
        case OperationalItem():
            key = ("operational", item.category, item.service, item.observation.strip())
        case WorkspaceItem():
            key = ("workspace", " ".join(item.text.split()))
    return key


def exported_json(exported: ExportedItem) -> dict[str, Any]:
    """Return the JSON object of an item in an export."""
    document = to_json(exported.item)
    if exported.is_past:
        document["past"] = True
    return document | ({"record": dict(exported.record)} if exported.record else {})


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


def from_json(document: object) -> Item | PastItem:
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
    item = cls(**values)
    return PastItem(item=item) if given.get("past") is True else item


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
    try:
        return parse_timestamp(value) if isinstance(value, str) else None
    except InvalidInputError:  # It names no field.
        return None


_READERS: Final[dict[str, tuple[Callable[[object], object], str]]] = {
    "importance": (_number, "a number"),
    "confidence": (_number, "a number"),
    "tags": (_texts, "a list of texts"),
    "aliases": (_texts, "a list of texts"),
    "metadata": (_object, "an object"),
    "updated_at": (_moment, "an ISO 8601 timestamp with an offset"),
    "created_at": (_moment, "an ISO 8601 timestamp with an offset"),
    "last_confirmed_at": (_moment, "an ISO 8601 timestamp with an offset"),
    "valid_from": (_moment, "an ISO 8601 timestamp with an offset"),
    "valid_to": (_moment, "an ISO 8601 timestamp with an offset"),
}
