"""Short ids of memories and entities, such as ``f:3k7q2``: the letter of the noun, and the first characters of the id.

A block for a prompt shows short ids, and a model passes them back. The characters are Crockford's base 32; five of
them distinguish 33 million ids. A short id may have 4 to 25 characters, in either case, with or without brackets. The
first four or more digits of a UUID are a short id too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.kinds import MemoryType

SHORT_ID_CHARS: Final = 5
SHORT_ID_FORM: Final = r"\[?([EFNRefnr]):([0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{4,25})\]?"
_UUID_HEAD_FORM: Final = r"[0-9a-fA-F]{4,31}"
_HEX_BITS: Final = 4
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
DIGIT_BITS: Final = 5
ID_BITS: Final = 128
ENTITY: Final = "entity"
IdNoun = MemoryType | Literal["entity"]
"""What a short id can name."""
_LETTERS: Final[Mapping[str, str]] = {**{each.value: each[0] for each in MemoryType}, ENTITY: "n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortId:
    """A short id that a caller gave, and the range of the ids that begin with it."""

    text: str
    first: UUID
    last: UUID


def short_id(noun: IdNoun, memory_id: UUID, *, chars: int = SHORT_ID_CHARS) -> str:
    """Return the short id of a memory or an entity."""
    head = memory_id.int >> (ID_BITS - DIGIT_BITS * chars)
    digits = (_DIGITS[head >> DIGIT_BITS * place & 31] for place in reversed(range(chars)))
    return f"{_LETTERS[noun]}:{''.join(digits)}"


def parse_id(value: UUID | str, noun: IdNoun, *, field: str) -> UUID | ShortId:
    """Return the id of a memory of one type, or of an entity, from a UUID, its text or a short id.

    Raises:
        InvalidInputError: The value is not one of these, or is the short id of another noun.
    """
    match = re.fullmatch(SHORT_ID_FORM, value.strip()) if isinstance(value, str) else None
    if match is None and isinstance(value, str):
        head = value.strip().replace("-", "").lower()
        if re.fullmatch(_UUID_HEAD_FORM, head):
            return _beginning(value.strip(), int(head, 16), bits=_HEX_BITS * len(head))
    if match is None:
        try:
            return value if isinstance(value, UUID) else UUID(value)
        except (ValueError, TypeError, AttributeError):
            example = f"{_LETTERS[noun]}:3k7q2"
            raise InvalidInputError(field, f"a UUID or a short id, such as {example}", value) from None
    letter, digits = match[1].lower(), match[2].lower()
    if letter != _LETTERS[noun]:
        expected = "an entity" if noun == ENTITY else f"a memory of type {noun}"
        raise InvalidInputError(field, f"the id of {expected}", value)
    head = 0
    for digit in digits:
        head = head << DIGIT_BITS | _DIGITS.index(digit)
    return _beginning(f"{letter}:{digits}", head, bits=DIGIT_BITS * len(digits))


def _beginning(text: str, head: int, *, bits: int) -> ShortId:
    """Return the range of the ids that begin with some bits."""
    free = ID_BITS - bits
    first = head << free
    return ShortId(text=text, first=UUID(int=first), last=UUID(int=first | (1 << free) - 1))
