"""Checks of an entity's names and type. Pure; ids and metadata are checked as for every memory."""

from enum import StrEnum
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError, SecretRefusedError
from commonplace.core.secrets import find_secret
from commonplace.core.text import require_text
from commonplace.knowledge.entities.names import normal_name, without_repeats

MAX_NAME_CHARS: Final = 500
MAX_ALIASES: Final = 200
"""The most aliases in one call; a merge keeps all aliases of both entities."""

MERGED_INTO: Final = "merged_into"
"""The metadata key of a merged entity that names its target; only a merge sets it. Source: KNW-18.4."""

RESERVED_METADATA: Final = frozenset({MERGED_INTO})


class EntityType(StrEnum):
    """The types of an entity. Source: KNW-16.1."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"
    OTHER = "other"


def require_type(value: object) -> EntityType:
    """Return an entity's type.

    Raises:
        InvalidInputError: The type is unknown; the message lists the types (KNW-16.3).
    """
    try:
        return EntityType(cast("str", value))
    except ValueError:
        raise InvalidInputError("entity_type", f"one of {', '.join(EntityType)}", value) from None


def require_name(value: object, *, field: str, allow_secrets: bool) -> str:
    """Return a name as it is stored.

    Raises:
        InvalidInputError: The name is not a text of 1 to 500 characters.
        SecretRefusedError: The name looks like a secret, and ``allow_secrets`` is not set.
    """
    name = normal_name(require_text(value, field=field, max_chars=MAX_NAME_CHARS))
    finding = None if allow_secrets else find_secret(name)
    if finding is not None:
        raise SecretRefusedError(field, finding.kind)
    return name


def require_aliases(value: object, *, allow_secrets: bool) -> list[str]:
    """Return aliases in their order, without repeats in other case; an empty list for ``None``.

    Raises:
        InvalidInputError: The value is not a list of at most 200 names.
        SecretRefusedError: An alias looks like a secret, and ``allow_secrets`` is not set.
    """
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise InvalidInputError("aliases", "a list of names", value)
    names = cast("list[Any]", value)
    if len(names) > MAX_ALIASES:
        raise InvalidInputError("aliases", f"at most {MAX_ALIASES} names", f"{len(names)} names")
    return without_repeats(require_name(name, field="aliases", allow_secrets=allow_secrets) for name in names)
