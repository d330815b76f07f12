"""Results in the form that JSON can say, once, on their way out of knowledge memory (KNW-27)."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Final, cast
from uuid import UUID

VECTORS: Final = frozenset({"embedding", "next_embedding", "search_vector"})
"""Columns that no result holds. Source: R-KNW-9."""


def json_safe(value: object) -> object:
    """Return a result as JSON can say it.

    Returns:
        UUIDs as text, datetimes in ISO 8601, members of enumerations as their values; mappings and dataclasses as
        ``dict``, without vectors; sequences and sets as ``list``; everything else as it is.

    Source: KNW-27.1, KNW-27.2.
    """
    match value:
        case UUID():
            safe: object = str(value)
        case datetime():
            safe = value.isoformat()
        case Enum():
            safe = value.value
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
