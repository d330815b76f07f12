"""Nouns: dataclasses whose fields are columns, so that each column is named once in Python."""

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, Self, TypeVar, cast, get_args, get_origin

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import NotFoundError
from commonplace.storage.database import Columns

_N = TypeVar("_N")
_Reader = Callable[[Any], Any]


class Noun:
    """The base of a dataclass that is read from the rows of one table or statement."""

    __slots__ = ()

    @classmethod
    def from_row(cls, row: Columns) -> Self:
        """Return the noun of a row."""
        return read_row(cls, row)

    @classmethod
    def from_rows(cls, rows: Iterable[Columns]) -> list[Self]:
        """Return the nouns of some rows, in their order."""
        return [cls.from_row(row) for row in rows]

    @classmethod
    def existing(cls, row: Columns | None, identity: object) -> Self:
        """Return the noun of the row with an id.

        Raises:
            NotFoundError: There is no row; the message names the noun and its id.
        """
        if row is None:
            raise NotFoundError(cls.__name__.lower(), identity)
        return cls.from_row(row)


def read_row(noun: type[_N], row: Columns, **others: object) -> _N:
    """Return the noun of a row; other columns of the row are ignored.

    Columns become members of enumerations, tuples, truth values, aware datetimes, JSON objects and values with
    ``from_json`` where the fields have these types.

    ``others`` are fields that are not read from a column with their name.
    """
    plain, read = _columns(noun, *others)
    values: dict[str, Any] = {name: row[name] for name in plain}
    for name, reader in read:
        value = row[name]
        values[name] = None if value is None else reader(value)
    return noun(**values, **others)


@cache
def _columns(noun: type[Any], *others: str) -> tuple[tuple[str, ...], tuple[tuple[str, _Reader], ...]]:
    """Return the columns of a noun that need no conversion, and the other columns with their readers."""
    readers = {
        each.name: _reader(each.type) for each in fields(noun) if each.init and each.name not in others
    }
    return (
        tuple(name for name, reader in readers.items() if reader is None),
        tuple((name, reader) for name, reader in readers.items() if reader is not None),
    )


def _reader(annotation: Any) -> _Reader | None:  # noqa: ANN401 - of a field
    """Return the reader for a column of a type; ``None`` if the column needs no conversion."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    if len(kinds) == 1 and NoneType in get_args(annotation):
        return _reader(kinds[0])
    kind = get_origin(annotation) or annotation
    if kind is datetime:
        return _moment
    if kind is dict:
        return _object
    if hasattr(kind, "from_json"):
        return kind.from_json
    if isinstance(kind, type) and issubclass(kind, (Enum, bool, tuple)):
        return cast("_Reader", kind)
    return None


def _moment(value: datetime | str) -> datetime:
    """Return a moment; SQLite stores texts: our format, or its own default in UTC without T and Z."""
    if isinstance(value, datetime):
        return value
    return parse_timestamp(value) if "T" in value else datetime.fromisoformat(value).replace(tzinfo=UTC)


def _object(value: dict[str, Any] | str) -> dict[str, Any]:
    """Return a JSON object; SQLite stores it as text."""
    return json.loads(value) if isinstance(value, str) else value
