"""Checks of an entity's names and type. Pure; ids and metadata are checked as for every memory."""

from enum import StrEnum
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.entity_names import normal_name, without_repeats
from commonplace.knowledge.model.inputs import require_safe_text

MAX_NAME_CHARS: Final = 500
MAX_ALIASES: Final = 200
"""Maximum number of aliases in one call; a merge keeps all aliases of both entities."""

MERGED_INTO: Final = "merged_into"
"""The metadata key of a merged entity that names its target; only a merge sets it. Source: KNW-18.4."""

RESERVED_METADATA: Final = frozenset({MERGED_INTO})


class EntityType(StrEnum):
    """The types of an entity. Source: KNW-16.1."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"
    OTHER = "other"


def require_name(value: object, *, field: str, allow_secrets: bool) -> str:
    """Return a name of 1 to 500 characters as it is stored; see :func:`.inputs.require_safe_text`."""
    return normal_name(
        require_safe_text(value, field=field, max_chars=MAX_NAME_CHARS, allow_secrets=allow_secrets)
    )


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
