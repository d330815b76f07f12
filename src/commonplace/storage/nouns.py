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
    plain, moments, read = _columns(noun, *others)
    values: dict[str, Any] = {name: row[name] for name in plain}
    for name in moments:
        if isinstance(values[name], str):
            values[name] = parse_timestamp(values[name])
    for name, kind in read:
        value = row[name]
        values[name] = None if value is None else kind(value)
    return noun(**values, **others)


@cache
def _columns(
    noun: type[Any], *others: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, Callable[[Any], object]], ...]]:
    """Return the columns of a noun: those read as they are, the moments among them, and those of another type.

    SQLite has no type for moments, so its columns hold text.
    """
    kinds = {each.name: _kind(each.type) for each in fields(noun) if each.init and each.name not in others}
    moments = tuple(name for name, kind in kinds.items() if kind is datetime)
    plain = tuple(name for name, kind in kinds.items() if kind is None) + moments
    return plain, moments, tuple((name, kinds[name]) for name in kinds if name not in plain)


def _kind(annotation: Any) -> Any:  # noqa: ANN401 - of a field
    """Return the type that a column becomes; ``None`` if it stays as it is."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if len(kinds) == 1 and type(None) in get_args(annotation):
        return _kind(kinds[0])
    if get_origin(annotation) is tuple:
        return tuple
    if isinstance(annotation, type) and issubclass(annotation, (Enum, datetime, bool)):
        return cast("type[object]", annotation)
    return None
