"""Cursors: places in a list that stay the same while rows are added and removed."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.browse.entries import ListedEntity
from commonplace.knowledge.inputs import require_moment
from commonplace.knowledge.kinds import Memory


def cursor_of(last: Memory | ListedEntity) -> str:
    """Return the cursor of the page that begins after an item of a list."""
    key = last.canonical_name if isinstance(last, ListedEntity) else last.created_at.isoformat()
    return urlsafe_b64encode(json.dumps([key, str(last.id)]).encode()).decode()


def moment_after(cursor: str | None) -> dict[str, Any]:
    """Return the parameters of a statement that begins after a memory, the newest first.

    Raises:
        InvalidInputError: The text is not a cursor of such a list.
    """
    key, after_id = _read(cursor)
    try:
        after_at = None if key is None else require_moment(datetime.fromisoformat(key), field="cursor")
    except (ValueError, OverflowError):
        raise _refused(cursor) from None
    return {"after_at": after_at, "after_id": after_id}


def name_after(cursor: str | None) -> dict[str, Any]:
    """Return the parameters of a statement that begins after an entity, by name.

    Raises:
        InvalidInputError: The text is not a cursor.
    """
    after_name, after_id = _read(cursor)
    return {"after_name": after_name, "after_id": after_id}


def _read(cursor: str | None) -> tuple[str | None, UUID | None]:
    if cursor is None:
        return None, None
    try:
        key, item = cast("list[object]", json.loads(urlsafe_b64decode(cursor.encode("ascii"))))
        if not isinstance(key, str) or "\0" in key:
            raise _refused(cursor)
        key.encode()  # refuses half of a surrogate pair
        return key, UUID(str(item))
    except (ValueError, TypeError, RecursionError):
        raise _refused(cursor) from None


def _refused(cursor: object) -> InvalidInputError:
    return InvalidInputError("cursor", "the next_cursor of a page of the same list", cursor)
