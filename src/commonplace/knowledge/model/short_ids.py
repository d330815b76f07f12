"""Short ids of memories, such as ``f:3k7q2``: the letter of the type, and the first characters of the id.

A block for a prompt shows short ids, and a model passes them back. The characters are Crockford's base 32; five of
them distinguish 33 million ids. A short id may have 4 to 25 characters, in either case, with or without brackets. The
first four or more digits of a UUID name a memory too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.database import Columns

SHORT_ID_CHARS: Final = 5
SHORT_ID_FORM: Final = r"\[?([EFRefr]):([0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{4,25})\]?"
_UUID_HEAD_FORM: Final = r"[0-9a-fA-F]{4,31}"
_HEX_BITS: Final = 4
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGIT_BITS: Final = 5
_ID_BITS: Final = 128
_TYPES: Final = {memory_type[0]: memory_type for memory_type in MemoryType}
_MOST_CANDIDATES: Final = 5
_SHOWN_CHARS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortId:
    """A short id that a caller gave, and the range of the ids that begin with it."""

    text: str
    first: UUID
    last: UUID


def short_id(memory_type: MemoryType, memory_id: UUID, *, chars: int = SHORT_ID_CHARS) -> str:
    """Return the short id of a memory."""
    head = memory_id.int >> (_ID_BITS - _DIGIT_BITS * chars)
    digits = (_DIGITS[head >> _DIGIT_BITS * place & 31] for place in reversed(range(chars)))
    return f"{memory_type[0]}:{''.join(digits)}"


def parse_id(value: UUID | str, memory_type: MemoryType, *, field: str) -> UUID | ShortId:
    """Return the id of a memory of one type from a UUID, its text or a short id.

    Raises:
        InvalidInputError: The value is not one of these, or is the short id of another type.
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
            example = f"{memory_type[0]}:3k7q2"
            raise InvalidInputError(field, f"a UUID or a short id, such as {example}", value) from None
    letter, digits = match[1].lower(), match[2].lower()
    if _TYPES[letter] is not memory_type:
        raise InvalidInputError(field, f"the id of a memory of type {memory_type}", value)
    head = 0
    for digit in digits:
        head = head << _DIGIT_BITS | _DIGITS.index(digit)
    return _beginning(f"{letter}:{digits}", head, bits=_DIGIT_BITS * len(digits))


def _beginning(text: str, head: int, *, bits: int) -> ShortId:
    """Return the range of the ids that begin with some bits."""
    free = _ID_BITS - bits
    first = head << free
    return ShortId(text=text, first=UUID(int=first), last=UUID(int=first | (1 << free) - 1))


async def find_id(
    sql: KnowledgeStatements, given: UUID | str, memory_type: MemoryType, *, field: str
) -> UUID:
    """Return the id of the only memory of the tenant that a short id names; a UUID is returned unchanged.

    Raises:
        NotFoundError: No memory has the short id.
        InvalidInputError: The id is malformed (see :func:`parse_id`), or several memories have the short id; in that
            case the message lists them.
    """
    wanted = parse_id(given, memory_type, field=field)
    if isinstance(wanted, UUID):
        return wanted
    rows = await of_kind(memory_type, sql).between(
        first=wanted.first, last=wanted.last, most=_MOST_CANDIDATES + 1
    )
    if not rows:
        raise NotFoundError(memory_type, wanted.text)
    if len(rows) > 1:
        raise InvalidInputError(
            field, f"the id of one {memory_type}, such as {_listed(rows, memory_type)}", wanted.text
        )
    return rows[0]["id"]


def _listed(rows: Sequence[Columns], memory_type: MemoryType) -> str:
    shown = rows[:_MOST_CANDIDATES]
    chars = next(
        (
            chars
            for chars in range(SHORT_ID_CHARS, _ID_BITS // _DIGIT_BITS + 1)
            if len({short_id(memory_type, row["id"], chars=chars) for row in rows}) == len(rows)
        ),
        None,
    )
    names = [row["id"] if chars is None else short_id(memory_type, row["id"], chars=chars) for row in shown]
    texts = [trim_to(collapse_whitespace(row["content"]), _SHOWN_CHARS) for row in shown]
    candidates = [f"{name} ({text})" for name, text in zip(names, texts, strict=True)]
    return ", ".join(candidates) + (", or another one" if len(rows) > len(shown) else "")
