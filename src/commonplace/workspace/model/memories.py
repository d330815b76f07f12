"""Memories of a workspace, damaged lines, bounds, and the checks of values from a model."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Final, cast

from commonplace.core.choices import require_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, is_blank
from commonplace.workspace.model.bounds import MAX_TAG_CHARS, MAX_TAGS

MAX_NUMBER: Final = 10**15 - 1
"""The largest n of an id ``m-<n>``; a line with a larger one is damaged."""

_ID = re.compile(r"(?:m-|w:(?:m-)?)([1-9][0-9]{0,14})")
_EXPECTED_TAGS = f"a list of at most {MAX_TAGS} tags of 1 to {MAX_TAG_CHARS} characters"


class NoteScope(StrEnum):
    """The subject of a note, stored with the note; searches do not filter by it."""

    USER = "user"
    WORKSPACE = "workspace"
    SESSION = "session"


DEFAULT_SCOPE: Final = NoteScope.WORKSPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note about the user or the workspace.

    Attributes:
        number: The n of the id ``m-<n>``; it counts up, and numbers are never reused.
        text: 1 to 500 characters.
        created_at: Aware UTC, in whole seconds when this package wrote it.
    """

    number: int
    text: str
    scope: NoteScope
    tags: tuple[str, ...]
    created_at: datetime

    @property
    def id(self) -> str:
        """The id ``m-<n>``, which the agent sees."""
        return f"m-{self.number}"


age_key: Final = attrgetter("created_at", "number")
"""Sort key from oldest to newest: by time, then by id within one second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft:
    """A memory with valid values that has no id yet."""

    text: str
    scope: NoteScope
    tags: tuple[str, ...]
    created_at: datetime

    def numbered(self, number: int) -> Note:
        """Return the memory with the id ``m-<number>`` and its time in whole seconds, as the file keeps it."""
        return Note(
            number=number,
            text=self.text,
            scope=self.scope,
            tags=self.tags,
            created_at=self.created_at.replace(microsecond=0),
        )


def require_id(value: object, *, field: str = "id") -> int:
    """Return the number of an id ``m-<n>``, or ``w:<n>`` as the catalog of all memories writes it.

    Raises:
        InvalidInputError: The value has neither form, with an n of 1 or more.
    """
    found = _ID.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        raise InvalidInputError(field, "the id of a memory, such as m-4", value)
    return int(found[1])


def require_scope(value: object) -> NoteScope:
    """Return a scope; ``None`` is ``workspace``, and case does not matter.

    Raises:
        InvalidInputError: The value is not a scope.
    """
    if value is None:
        return DEFAULT_SCOPE
    word = value.strip().lower() if isinstance(value, str) else value
    return require_one_of(NoteScope, word, field="scope")


def require_tags(value: object) -> tuple[str, ...]:
    """Return tags in the order given, with whitespace collapsed and without repeats.

    ``None`` means no tags. A string that holds a JSON list is read as the list, because models write that.

    Raises:
        InvalidInputError: The value is not a list of strings, or there are too many, or one is empty or too long.
    """
    if value is None:
        return ()
    tags: object = _read_json_list(value) if isinstance(value, str) else value
    if not isinstance(tags, list | tuple):
        raise InvalidInputError("tags", _EXPECTED_TAGS, value)
    items = cast("list[object] | tuple[object, ...]", tags)
    kept = tuple(dict.fromkeys(_require_tag(tag) for tag in items))
    if len(kept) > MAX_TAGS:
        raise InvalidInputError("tags", _EXPECTED_TAGS, f"{len(kept)} tags")
    return kept


def _require_tag(value: object) -> str:
    tag = collapse_whitespace(clean_text(value)) if isinstance(value, str) else ""
    if is_blank(tag) or len(tag) > MAX_TAG_CHARS:
        raise InvalidInputError("tags", _EXPECTED_TAGS, value)
    return tag


def _read_json_list(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that cannot be read as a memory. It is never changed or removed.

    ``line`` counts from 1.
    """

    line: int
    reason: str
