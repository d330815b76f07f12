"""Nouns of the memories: values that are read from rows, a field from the column of its name."""

import json
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, Self, get_args, get_origin, get_type_hints

from commonplace.core.clock import parse_timestamp
from commonplace.storage.database import Row

_Reader = Callable[[Any], Any]


class Noun:
    """A frozen dataclass that is one row of a table or a query."""

    __slots__ = ()

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Read a row.

        Texts become times, enums and JSON objects, and integers become booleans, as the fields' types say.
        """
        return cls(**{name: read(row[name]) if read else row[name] for name, read in _readers(cls)})


@cache
def _readers(noun: type[Noun]) -> tuple[tuple[str, _Reader | None], ...]:
    return tuple((name, _reader(hint)) for name, hint in get_type_hints(noun).items())


def _reader(hint: Any) -> _Reader | None:  # noqa: ANN401 - any annotation
    types = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    kind = get_origin(types[0]) or types[0]
    read: _Reader | None = None
    if kind is datetime:
        read = parse_timestamp
    elif kind is dict:
        read = json.loads
    elif kind is bool or (isinstance(kind, type) and issubclass(kind, Enum)):
        read = kind
    if read is None or NoneType not in get_args(hint):
        return read
    return lambda value: None if value is None else read(value)
