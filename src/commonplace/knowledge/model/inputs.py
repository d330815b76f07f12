"""Checks of the values that callers pass to knowledge memory, and their form in the database."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from commonplace.core.bounds import require_within
from commonplace.core.choices import require_items, require_one_of
from commonplace.core.clock import in_utc
from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.core.safe_text import require_safe_text
from commonplace.core.secrets import find_secret_in_json
from commonplace.core.text import clean_text
from commonplace.knowledge.model.bounds import (
    MAX_BATCH_ROWS,
    MAX_CONTENT_CHARS,
    MAX_KEY_CHARS,
    MAX_SCOPE_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    Importance,
)
from commonplace.knowledge.model.kinds import PINNED, MemoryType
from commonplace.language.times import TimeReader, read_iso

MAX_METADATA_CHARS: Final = 64 * 1024
MAX_METADATA_DEPTH: Final = 16
MAX_METADATA_BITS: Final = 1024
"""Maximum number of bits of a whole number: the range of a double."""
STORED_YEARS: Final = range(2, 9999)
"""Years of stored moments. asyncpg stores the first and the last moment of ``datetime`` as PostgreSQL's infinities and
reads those without a time zone, and searches look at the time around a moment."""

_Row = TypeVar("_Row")


def require_memory_type(value: object, *, field: str = "memory_type") -> MemoryType:
    """Return a kind of memory; see :func:`~commonplace.core.choices.require_one_of`."""
    return require_one_of(MemoryType, value, field=field)


def require_id(value: object, *, field: str) -> UUID:
    """Return an id from a UUID or its text, or raise :class:`InvalidInputError`."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(cast("str", value))
    except (AttributeError, TypeError, ValueError):
        raise InvalidInputError(field, "a UUID", value) from None


def require_ids(value: object, *, field: str = "ids") -> list[UUID]:
    """Return the ids of a list; see :func:`require_id`."""
    return [require_id(each, field=field) for each in require_items(value, field=field)]


def require_memory(memory_type: object, memory_id: object) -> tuple[MemoryType, UUID]:
    """Return the kind and the id of a memory; see :func:`require_memory_type` and :func:`require_id`."""
    return require_memory_type(memory_type), require_id(memory_id, field="memory_id")


def optional_id(value: object, *, field: str) -> UUID | None:
    """Return an id, or ``None`` for ``None``; see :func:`require_id`."""
    return None if value is None else require_id(value, field=field)


def require_content(value: object, *, field: str = "content", allow_secrets: bool) -> str:
    """Return the cleaned text of a memory, 1 to 1,000,000 characters; see :func:`require_safe_text`."""
    return require_safe_text(value, field=field, max_chars=MAX_CONTENT_CHARS, allow_secrets=allow_secrets)


def require_key(value: object, *, field: str, allow_secrets: bool) -> str:
    """Return a cleaned subject or predicate; see :func:`require_safe_text`."""
    return require_safe_text(value, field=field, max_chars=MAX_KEY_CHARS, allow_secrets=allow_secrets)


def require_scope(value: object, *, field: str = "scope", allow_secrets: bool = True) -> str:
    """Return the cleaned name of a scope or butler; writes say whether it may be a secret, filters need not.

    Raises:
        InvalidInputError: The name is not a text, is empty, or has over 100 characters.
        SecretRefusedError: The name looks like a secret.
    """
    return require_safe_text(value, field=field, max_chars=MAX_SCOPE_CHARS, allow_secrets=allow_secrets)


def optional_scope(value: object, *, field: str = "scope", allow_secrets: bool = True) -> str | None:
    """Return the name of a scope or butler, or ``None`` for ``None``; see :func:`require_scope`."""
    return None if value is None else require_scope(value, field=field, allow_secrets=allow_secrets)


def optional_filter(value: object, *, field: str) -> str | None:
    """Return a text to compare with stored texts, cleaned as they were; ``None`` for ``None``."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInputError(field, "text", value)
    return clean_text(value).strip()


def require_importance(value: object, *, field: str = "importance") -> float:
    """Return an importance, or raise :class:`InvalidInputError` if it is no number from 0.0 to 10.0."""
    return require_within(Importance, value, field=field)


def require_tags(value: object, *, field: str = "tags", allow_secrets: bool) -> list[str]:
    """Return cleaned tags without repeats, in their order.

    Raises:
        InvalidInputError: The value is not a list of at most 50 texts of at most 100 characters each; the tag
            ``pinned`` does not count.
        SecretRefusedError: A tag looks like a secret.
    """
    if value is None:
        return []
    form = f"a list of at most {MAX_TAGS} texts"
    if not isinstance(value, list | tuple | set | frozenset):
        raise InvalidInputError(field, form, value)
    given = cast("Collection[object]", value)
    count = sum(tag != PINNED for tag in given)
    if count > MAX_TAGS:
        raise InvalidInputError(field, form, f"{count} tags")
    tags = (
        require_safe_text(tag, field=field, max_chars=MAX_TAG_CHARS, allow_secrets=allow_secrets)
        for tag in given
    )
    return list(dict.fromkeys(tags))


def require_moment(value: object, *, field: str) -> datetime:
    """Return a moment in UTC, or raise :class:`InvalidInputError` if it is no datetime with a time zone."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInputError(field, "a datetime with a time zone", value)
    return in_utc(value, field=field)


def optional_moment(
    value: object,
    *,
    field: str,
    at_end: bool = False,
    before: bool = False,
    times: TimeReader | None = None,
) -> datetime | None:
    """Return a moment in UTC, or ``None`` for ``None``; a text is a date or a time.

    Args:
        value: The moment. A text is in ISO 8601, in UTC without offset; with ``times``, words such as "yesterday" too.
        field: The field that the error names.
        at_end: Whether a date or words stand for their last moment, and not for their first.
        before: Whether words stand for the moment after their last; for an exclusive end.
        times: Reads words.

    Raises:
        InvalidInputError: The value is neither such a text nor a datetime with a time zone.
    """
    if isinstance(value, str):
        span = read_iso(value) if times is None else times.span(value, field=field, ahead=field == "valid_to")
        if span is None:
            form = "a date or a time in ISO 8601, such as 2026-05-01 or 2026-05-01T12:00:00Z"
            raise InvalidInputError(field, form, value)
        ends = before and not span.is_iso
        value = span.last if at_end else span.end if ends else span.start
    return None if value is None else require_moment(value, field=field)


def optional_stored_moment(
    value: object, *, field: str, at_end: bool = False, times: TimeReader | None = None
) -> datetime | None:
    """Return a moment to store, or ``None`` for ``None``; see :func:`optional_moment`.

    Raises:
        InvalidInputError: The value is no moment, or outside of the years 2 to 9998. Other programs write the first and
            the last moment of a calendar where no time is known.
    """
    moment = optional_moment(value, field=field, at_end=at_end, times=times)
    if moment is not None and moment.year not in STORED_YEARS:
        form = (
            f"a moment of the years {STORED_YEARS[0]} to {STORED_YEARS[-1]}, or no value if the time is open"
        )
        raise InvalidInputError(field, form, str(value))
    return moment


def require_metadata(value: object, *, reserved: Collection[str] = (), allow_secrets: bool) -> dict[str, Any]:
    """Return metadata with cleaned texts.

    Args:
        value: A mapping that JSON can hold, or ``None``.
        reserved: Keys that callers may not set, because the lifecycle sets them.
        allow_secrets: Whether the operator allows text that looks like a secret.

    Raises:
        InvalidInputError: The value is not such a mapping, is too deep or too large, or has a reserved key.
        SecretRefusedError: A text looks like a secret, alone or together with its key.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError("metadata", "a JSON object", value)
    cleaned = cast("dict[str, Any]", _clean_json(cast("object", value), depth=0))
    taken = sorted(set(reserved) & cleaned.keys())
    if taken:
        raise InvalidInputError("metadata", "keys that are not reserved", ", ".join(taken))
    length = len(json.dumps(cleaned, ensure_ascii=False))
    if length > MAX_METADATA_CHARS:
        raise InvalidInputError("metadata", f"at most {MAX_METADATA_CHARS} characters of JSON", f"{length}")
    secret = None if allow_secrets else find_secret_in_json(cleaned)
    if secret is not None:
        raise SecretRefusedError("metadata", secret.kind)
    return cleaned


def _clean_json(value: object, *, depth: int) -> object:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInputError("metadata", f"JSON of at most {MAX_METADATA_DEPTH} levels", "more levels")
    if isinstance(value, str):
        return clean_text(value)
    if value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_METADATA_BITS:
            form = f"whole numbers of at most {MAX_METADATA_BITS} bits"
            raise InvalidInputError("metadata", form, f"a number of {value.bit_length()} bits")
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {_json_key(key): _clean_json(item, depth=depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [_clean_json(item, depth=depth + 1) for item in cast("Iterable[object]", value)]
    raise InvalidInputError("metadata", "values that JSON can hold", value)


def _json_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInputError("metadata", "texts as keys", key)
    return clean_text(key)


def require_batch(rows: Sequence[_Row]) -> Sequence[_Row]:
    """Return a batch, or raise :class:`InvalidInputError` if it is no list or has more than 5,000 rows."""
    rows = require_items(rows, field="batch")
    if len(rows) > MAX_BATCH_ROWS:
        raise InvalidInputError("batch", f"at most {MAX_BATCH_ROWS} rows", f"{len(rows)} rows")
    return rows


def require_batch_rows(batch_rows: int) -> int:
    """Return the size of a batch, or raise :class:`InvalidInputError` if it is not 1 to 5,000."""
    if type(batch_rows) is not int or not 1 <= batch_rows <= MAX_BATCH_ROWS:
        raise InvalidInputError("batch", f"1 to {MAX_BATCH_ROWS} rows", batch_rows)
    return batch_rows


def json_text(value: object) -> str:
    """Return a checked value as JSON text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
