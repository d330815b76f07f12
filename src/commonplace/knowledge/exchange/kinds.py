"""The kinds of rows that travel."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.storage.database import Columns

LINK_ENDS: Final = ("source_type", "source_id", "target_type", "target_id")


class ExchangeKind(StrEnum):
    """The kinds, in the order in which they are written: a link, an entity or a rule comes before what names it."""

    LINK = "link"
    ENTITY = "entity"
    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"
    APPLICATION = "application"


TEXT_KINDS: Final = {
    ExchangeKind.EPISODE: MemoryType.EPISODE,
    ExchangeKind.FACT: MemoryType.FACT,
    ExchangeKind.RULE: MemoryType.RULE,
}
"""The kinds with a text that searches find."""


def link_name(row: Columns) -> str:
    """Return the name of a link: the kind and id of both ends."""
    return f"{row['source_type']}:{row['source_id']}>{row['target_type']}:{row['target_id']}"


def link_ends(name: str) -> Mapping[str, Any]:
    """Return the ends of a link by the columns of its row.

    Raises:
        InvalidInputError: This is no name of a link.
    """
    try:
        source, target = (end.split(":") for end in name.split(">"))
        values = (source[0], UUID(source[1]), target[0], UUID(target[1]))
    except (ValueError, IndexError) as error:
        raise InvalidInputError("name", "the name of a link", name) from error
    return dict(zip(LINK_ENDS, values, strict=True))
