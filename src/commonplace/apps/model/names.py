"""Checks of the ids and names that hosts give."""

import re
from typing import Final

from commonplace.apps.model.bounds import MAX_ID_CHARS, MAX_NAME_CHARS
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text, collapse_whitespace, is_blank

APP_ID: Final = r"^\w[\w.:@+-]{0,199}$"
"""The pattern of an app's id, which fits into the path of a URL."""


def require_app_id(value: object) -> str:
    """Return the id of an app, or refuse it.

    Raises:
        InvalidInputError: The id is not 1 to 200 letters, digits and ``. : @ + - _``, which fit into the path of a URL.
    """
    if not isinstance(value, str) or not re.fullmatch(APP_ID, value):
        form = f"1 to {MAX_ID_CHARS} letters, digits, or . : @ + - _ after the first character"
        raise InvalidInputError("app_id", form, value)
    return value


def require_id(value: object, *, field: str) -> str:
    """Return the id of a conversation or a user, or refuse it.

    Raises:
        InvalidInputError: The id is empty, longer than 200 characters, not printable, or has spaces at its ends.
    """
    if (
        not isinstance(value, str)
        or not 1 <= len(value) <= MAX_ID_CHARS
        or not value.isprintable()
        or value != value.strip()
    ):
        raise InvalidInputError(field, f"1 to {MAX_ID_CHARS} printable characters", value)
    return value


def optional_user(value: object) -> str | None:
    """Return the id of a user, or ``None`` for the common space.

    Raises:
        InvalidInputError: The id is malformed.
    """
    return None if value is None else require_id(value, field="user_id")


def require_name(value: object) -> str:
    """Return the display name of an app on one line.

    Raises:
        InvalidInputError: The name is empty or longer than 100 characters.
    """
    name = collapse_whitespace(clean_text(value)) if isinstance(value, str) else ""
    if is_blank(name) or len(name) > MAX_NAME_CHARS:
        raise InvalidInputError("name", f"1 to {MAX_NAME_CHARS} characters", value)
    return name
