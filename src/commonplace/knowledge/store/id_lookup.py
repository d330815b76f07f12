"""Find the memory or the entity that a short id names."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.model.short_ids import (
    DIGIT_BITS,
    ENTITY,
    ID_BITS,
    SHORT_ID_CHARS,
    IdNoun,
    ShortId,
    parse_id,
    short_id,
)
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.database import Columns

_MOST_CANDIDATES: Final = 5
_SHOWN_CHARS: Final = 60


async def find_id(
    sql: KnowledgeStatements, given: UUID | str, memory_type: MemoryType, *, field: str
) -> UUID:
    """Return the id of the only memory of the tenant that a short id names; a UUID is returned unchanged.

    Raises:
        NotFoundError: No memory has the short id.
        InvalidInputError: The id is malformed (see :func:`parse_id`), or several memories have the short id; in that
            case the message lists them.
    """
    parsed = parse_id(given, memory_type, field=field)
    if isinstance(parsed, UUID):
        return parsed
    rows = await of_kind(memory_type, sql).between(
        first=parsed.first, last=parsed.last, most=_MOST_CANDIDATES + 1
    )
    return _only(rows, parsed, memory_type, field=field)


async def find_entity_id(sql: KnowledgeStatements, given: UUID | str, *, field: str) -> UUID:
    """Return the id of the only entity of the tenant that a short id such as ``n:3k7q2`` names; see :func:`find_id`."""
    parsed = parse_id(given, ENTITY, field=field)
    if isinstance(parsed, UUID):
        return parsed
    rows = await sql.entities_between(first=parsed.first, last=parsed.last, most=_MOST_CANDIDATES + 1)
    return _only(rows, parsed, ENTITY, field=field)


def _only(rows: Sequence[Columns], wanted: ShortId, noun: IdNoun, *, field: str) -> UUID:
    if not rows:
        raise NotFoundError(noun, wanted.text)
    if len(rows) > 1:
        raise InvalidInputError(field, f"the id of one {noun}, such as {_listed(rows, noun)}", wanted.text)
    return rows[0]["id"]


def _listed(rows: Sequence[Columns], noun: IdNoun) -> str:
    shown = rows[:_MOST_CANDIDATES]
    chars = next(
        (
            chars
            for chars in range(SHORT_ID_CHARS, ID_BITS // DIGIT_BITS + 1)
            if len({short_id(noun, row["id"], chars=chars) for row in rows}) == len(rows)
        ),
        None,
    )
    names = [row["id"] if chars is None else short_id(noun, row["id"], chars=chars) for row in shown]
    texts = [trim_to(collapse_whitespace(row["content"]), _SHOWN_CHARS) for row in shown]
    candidates = [f"{name} ({text})" for name, text in zip(names, texts, strict=True)]
    return ", ".join(candidates) + (", or another one" if len(rows) > len(shown) else "")
