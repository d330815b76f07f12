"""Closed sets and lists: checks of the values that callers pass."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, cast

from commonplace.core.errors import InvalidInputError

_E = TypeVar("_E", bound=Enum)


def require_one_of(kind: type[_E], value: object, *, field: str) -> _E:
    """Return the member of an enumeration that a word names.

    Raises:
        InvalidInputError: The word names no member; the message lists the words.
    """
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(str(member.value) for member in kind)
        raise InvalidInputError(field, f"one of {words}", value) from None


def optional_one_of(kind: type[_E], value: object, *, field: str) -> _E | None:
    """Return a member, or ``None`` for ``None``; see :func:`require_one_of`."""
    return None if value is None else require_one_of(kind, value, field=field)


def count_members(kind: type[_E], members: Iterable[_E]) -> dict[_E, int]:
    """Return how often each member of an enumeration occurs, in its order."""
    counts = Counter(members)
    return {member: counts[member] for member in kind}


def require_items(value: object, *, field: str) -> list[Any]:
    """Return the items of a list; a text is refused, because it would be the list of its letters.

    Raises:
        InvalidInputError: The value is not a list or another collection.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(field, "a list", cast("object", value))
    return list(cast("Iterable[Any]", value))
