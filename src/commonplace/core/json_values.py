"""The JSON form of the values of all memories, the same at every door (KNW-27)."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.clock import format_timestamp

VECTORS: Final = frozenset({"embedding", "next_embedding", "search_vector"})
"""Columns that results leave out. Source: R-KNW-9."""

_PLAIN: Final = frozenset({type(None), bool, int, float, str})
"""The types of most values. They are checked first, by type alone, because a search returns hundreds of values."""


def json_safe(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value as JSON can hold it.

    Returns:
        UUIDs as text, datetimes in ISO 8601 with ``Z``, members of enumerations as their values; mappings and
        dataclasses as ``dict``, without vectors; sequences and sets as ``list``; everything else unchanged.

    Source: KNW-27.1, KNW-27.2.
    """
    if type(value) in _PLAIN:
        return value
    match value:
        case UUID():
            safe: Any = str(value)
        case datetime():
            safe = format_timestamp(value)
        case Enum():
            safe = value.value
        case _ if hasattr(value, "to_json"):
            safe = json_safe(cast("Any", value).to_json())
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            safe = {str(key): json_safe(item) for key, item in items if key not in VECTORS}
        case list() | tuple() | set() | frozenset():
            safe = [json_safe(item) for item in cast("Iterable[object]", value)]
        case _ if is_dataclass(value) and not isinstance(value, type):
            safe = {field.name: json_safe(getattr(value, field.name)) for field in fields(value)}
        case _:
            safe = value
    return safe
