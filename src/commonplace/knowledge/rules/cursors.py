"""Cursors: positions in a list that stay valid while rows are added and removed."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.entries import ListedEntity
from commonplace.knowledge.model.inputs import require_moment
from commonplace.knowledge.model.kinds import Episode, Fact, Memory, Rule
from commonplace.knowledge.model.orders import PLACE_FIELDS, FactOrder, RuleOrder

PREFIX_CHARS: Final = 256
"""The number of characters of a text in a cursor; orders compare no more characters."""


def cursor_of(last: Memory | ListedEntity, *, sort: str = FactOrder.STORED) -> str:
    """Return the cursor of the page that begins after an item of a list in one of its orders."""
    if isinstance(last, ListedEntity):
        return _written([last.canonical_name, str(last.id)])
    place = [last.created_at.isoformat(), str(last.id)]
    if isinstance(last, Episode) or sort == FactOrder.STORED:
        return _written(place)
    return _written([*place, sort, {name: _plain(getattr(last, name)) for name in _fields(type(last), sort)}])


def place_after(cursor: str | None, kind: type[Fact | Rule], order: FactOrder | RuleOrder) -> dict[str, Any]:
    """Return the parameters of a statement that begins after a fact or rule in an order.

    Raises:
        InvalidInputError: The text is not a cursor of such a list in this order.
    """
    if cursor is None:
        return {"after": None, "after_at": None, "after_id": None}
    first, item, *more = _read(cursor, parts=2 if order == FactOrder.STORED else 4)
    at = _moment(cursor, first)
    after: dict[str, Any] = {"created_at": at.isoformat(), "id": str(item)}
    if more:
        after |= _read_fields(cursor, more, kind, order)
    return {"after": after, "after_at": at, "after_id": item}


def moment_after(cursor: str | None) -> dict[str, Any]:
    """Return the parameters of a statement that begins after an episode, the newest first.

    Raises:
        InvalidInputError: The text is not a cursor of such a list.
    """
    if cursor is None:
        return {"after_at": None, "after_id": None}
    first, item = _read(cursor)
    return {"after_at": _moment(cursor, first), "after_id": item}


def name_after(cursor: str | None) -> dict[str, Any]:
    """Return the parameters of a statement that begins after an entity, by name.

    Raises:
        InvalidInputError: The text is not a cursor.
    """
    if cursor is None:
        return {"after_name": None, "after_id": None}
    name, item = _read(cursor)
    return {"after_name": name, "after_id": item}


def _fields(kind: type[Memory], sort: str) -> list[str]:
    """Return the fields that determine the position of a memory in an order."""
    return [name for name in PLACE_FIELDS[cast("FactOrder", sort)] if name in kind.__dataclass_fields__]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return value[:PREFIX_CHARS] if isinstance(value, str) else value


def _written(parts: Sequence[object]) -> str:
    return urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode()


def _read(cursor: str, *, parts: int = 2) -> list[Any]:
    """Return the parts of a cursor: a text, an id and, for most orders, the order's name and fields."""
    try:
        found = cast("list[object]", json.loads(urlsafe_b64decode(cursor.encode("ascii"))))
        if len(found) != parts:
            raise _refused(cursor)
        key, item, *more = found
        return [_text(key), UUID(str(item)), *more]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _refused(cursor) from None


def _read_fields(
    cursor: str, more: list[Any], kind: type[Fact | Rule], order: FactOrder | RuleOrder
) -> dict[str, Any]:
    """Return the fields of the memory that a cursor names; each has the type of its column."""
    wanted = _fields(kind, order)
    try:
        sort, given = more
        if sort != order or given.keys() != set(wanted):
            raise _refused(cursor)
        return {
            name: _CHECKS.get(kind.__dataclass_fields__[name].type, _text)(given[name]) for name in wanted
        }
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _refused(cursor) from None


def _moment(cursor: str, text: str) -> datetime:
    try:
        return require_moment(datetime.fromisoformat(text), field="cursor")
    except (ValueError, OverflowError):
        raise _refused(cursor) from None


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(value)
    value.encode()  # Refuses half of a surrogate pair.
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(value)
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError(value)
    return value


def _time(value: object) -> str | None:
    return (
        None
        if value is None
        else require_moment(datetime.fromisoformat(_text(value)), field="cursor").isoformat()
    )


_CHECKS: Final[Mapping[object, Callable[[object], object]]] = {
    float: _number,
    int: _whole,
    datetime | None: _time,
}


def _refused(cursor: object) -> InvalidInputError:
    return InvalidInputError("cursor", "the cursor of a page of the same list", cursor)
