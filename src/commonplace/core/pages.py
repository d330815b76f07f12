"""The part of a list that a caller asks for."""

from typing import Final

from commonplace.core.errors import InvalidInputError

MOST_ROWS: Final = 2**31 - 1


def require_page(limit: object, offset: object = 0, *, max_limit: int = MOST_ROWS) -> None:
    """Require a limit from 1 and an offset from 0.

    SQLite takes a negative limit for no limit, and PostgreSQL refuses it.

    Raises:
        InvalidInputError: A value is no whole number, or is out of range.
    """
    for field, value, least, most in (("limit", limit, 1, max_limit), ("offset", offset, 0, MOST_ROWS)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise InvalidInputError(field, f"a whole number from {least} to {most}", value)
