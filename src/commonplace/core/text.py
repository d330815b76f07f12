"""Text for storage and search: cleaning, checking and shortening.

Source: KNW-11 for search vectors and queries. NUL bytes break PostgreSQL, lone surrogates break UTF-8.
"""

import logging
import re

from commonplace.core.errors import InvalidInputError
from commonplace.core.plain_views import is_invisible

MAX_SEARCH_TEXT_BYTES = 1024 * 1024
"""PostgreSQL refuses a tsvector over 1 MiB, so the text for one is cut to that."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_log = logging.getLogger(__name__)

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def replace_surrogates(text: str) -> str:
    """Return text that UTF-8 can encode, with U+FFFD in place of each lone surrogate.

    JavaScript programs may cut a string between the halves of an emoji and write the half as an escape. JSON readers
    accept that; databases and files do not.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_text(text: str) -> str:
    """Return text without NUL and lone surrogates, which stores refuse; everything else stays."""
    return replace_surrogates(text).replace("\x00", "")


def is_clean(text: str) -> bool:
    """Return whether :func:`clean_text` leaves a text as it is."""
    return "\x00" not in text and (text.isascii() or replace_surrogates(text) == text)


def collapse_whitespace(text: str) -> str:
    """Return text with each run of whitespace as one space, and without whitespace at the ends."""
    return " ".join(text.split())


def is_blank(text: str) -> bool:
    """Return whether a text has nothing to see: only whitespace and invisible characters, or none."""
    return all(character.isspace() or is_invisible(character) for character in text)


def visible(text: str) -> str:
    """Return text that is safe to show in a terminal or a prompt, with control characters as visible escapes.

    Line breaks and tabs stay. An agent's text may contain sequences that move the cursor, set a title or reorder text;
    showing a memory must not run them.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def preprocess_text(text: str | None) -> str:
    """Return text prepared for a search vector.

    Returns:
        Text without NUL and lone surrogates, whitespace collapsed, cut to 1 MiB of UTF-8 between characters.
    """
    cleaned = collapse_whitespace(clean_text(text or ""))
    if len(cleaned) * 4 <= MAX_SEARCH_TEXT_BYTES:
        return cleaned
    return cleaned.encode()[:MAX_SEARCH_TEXT_BYTES].decode("utf-8", "ignore").rstrip()


def preprocess_search_query(query: str | None) -> str:
    """Return a query prepared for a keyword search; never cut.

    Returns:
        Text without NUL and lone surrogates, whitespace collapsed; empty for an empty or missing query.
    """
    return collapse_whitespace(clean_text(query or ""))


def require_text(value: object, *, field: str, max_chars: int) -> str:
    """Return a text that a caller passed, cleaned and without whitespace at its ends; log what cleaning changed.

    ``field`` is the field that the error names. ``max_chars`` counts characters after cleaning.

    Raises:
        InvalidInputError: The value is not a string, is blank, or is too long.
    """
    if not isinstance(value, str):
        raise InvalidInputError(field, f"text of 1 to {max_chars} characters", value)
    valid = clean_text(value)
    if valid != value:
        _log.warning("%s: NUL characters were removed, and lone surrogates replaced by U+FFFD", field)
    cleaned = valid.strip()
    if is_blank(cleaned):
        raise InvalidInputError(field, f"text of 1 to {max_chars} characters", value)
    if len(cleaned) > max_chars:
        raise InvalidInputError(field, f"text of 1 to {max_chars} characters", f"{len(cleaned)} characters")
    return cleaned


def trim_to(text: str, max_chars: int) -> str:
    """Return text shortened to a number of characters with ``…``, at a word's end if one is in the second half."""
    if len(text) <= max_chars:
        return text
    if max_chars < 1:
        return ""
    head = text[: max_chars - 1]
    space = head.rfind(" ")
    if space >= max_chars // 2:
        head = head[:space]
    return f"{head.rstrip()}…"


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: ``1 memory``, ``2 memories``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
