"""Closed sets: checks of the words that callers pass."""

from enum import Enum
from typing import TypeVar

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
