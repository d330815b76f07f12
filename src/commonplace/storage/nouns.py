"""Nouns: dataclasses whose fields are columns, so that a column is spelled once in Python."""

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Self, TypeVar, cast, get_args, get_origin

from commonplace.core.clock import parse_timestamp
from commonplace.storage.database import Row

_N = TypeVar("_N")
_Reader = Callable[[Any], object]


class Noun:
    """The base of a dataclass that is read from the rows of one table or statement."""

    __slots__ = ()

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Return the noun of a row."""
        return read_row(cls, row)


def read_row(noun: type[_N], row: Row, **others: object) -> _N:
    """Return the noun of a row; further columns of the row are ignored.

    Columns become members of enumerations, tuples, truth values and aware datetimes where the fields have these types.

    Args:
        noun: A dataclass.
        row: Holds a column for each field of the constructor.
        **others: Fields that are not read from a column of their name.
    """
    values = {
        name: row[name] if read is None else read(row[name])
        for name, read in _readers(noun)
        if name not in others
    }
    return noun(**values, **others)


@cache
def _readers(noun: type[Any]) -> tuple[tuple[str, _Reader | None], ...]:
    return tuple((each.name, _reader(each.type)) for each in fields(noun) if each.init)


def _reader(annotation: Any) -> _Reader | None:  # noqa: ANN401 - the annotation of a field
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if type(None) in get_args(annotation):
        read = _reader(kinds[0]) if len(kinds) == 1 else None
        return None if read is None else lambda value: None if value is None else read(value)
    if get_origin(annotation) is tuple:
        return tuple
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, Enum) or annotation is bool:
        return cast("_Reader", annotation)
    return _moment if issubclass(annotation, datetime) else None


def _moment(value: str | datetime) -> datetime:
    """Return a moment; SQLite has no type for it, so its columns hold text."""
    return parse_timestamp(value) if isinstance(value, str) else value
