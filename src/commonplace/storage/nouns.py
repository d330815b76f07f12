"""Nouns of the memories: values that are read from rows, a field from the column of its name."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, Self, get_args, get_origin, get_type_hints

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import NotFoundError
from commonplace.storage.database import Row

_Reader = Callable[[Any], Any]


class Noun:
    """A frozen dataclass that is one row of a table or a query."""

    __slots__ = ()

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Read a row.

        Texts become times, enums, JSON objects and values with ``from_json``, and integers become booleans, as the
        fields' types say.
        """
        return cls(**{name: read(row[name]) if read else row[name] for name, read in _readers(cls)})

    @classmethod
    def existing(cls, row: Row | None, identity: object) -> Self:
        """Read the row with an id.

        Raises:
            NotFoundError: There is no row; the message names the noun and its id.
        """
        if row is None:
            raise NotFoundError(cls.__name__.lower(), identity)
        return cls.from_row(row)


@cache
def _readers(noun: type[Noun]) -> tuple[tuple[str, _Reader | None], ...]:
    return tuple((name, _reader(hint)) for name, hint in get_type_hints(noun).items())


def _reader(hint: Any) -> _Reader | None:  # noqa: ANN401 - any annotation
    types = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    kind = get_origin(types[0]) or types[0]
    read: _Reader | None = None
    if kind is datetime:
        read = _moment
    elif kind is dict:
        read = json.loads
    elif hasattr(kind, "from_json"):
        read = kind.from_json
    elif kind is bool or (isinstance(kind, type) and issubclass(kind, Enum)):
        read = kind
    if read is None or NoneType not in get_args(hint):
        return read
    return lambda value: None if value is None else read(value)


def _moment(text: str) -> datetime:
    """Read a timestamp of ours, or one that SQLite filled in for another program: UTC without T and Z."""
    return parse_timestamp(text) if "T" in text else datetime.fromisoformat(text).replace(tzinfo=UTC)
