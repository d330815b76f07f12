"""Parameters that several tools share, as a model reads about them.

Models send lists and objects as JSON in a string about as often as they send the real thing; both are accepted.
"""

import json
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from commonplace.knowledge import (
    MAX_IMPORTANCE,
    MAX_LIMIT,
    MAX_TAGS,
    EntityType,
    MemoryType,
    Permanence,
    SearchMode,
)


def _from_json(value: object) -> object:
    """Read a list or object that came as JSON in a string; return every other value unchanged."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{", "null")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _words(known: type[StrEnum]) -> WithJsonSchema:
    """Return the schema of a closed set, in place: not every client follows references to definitions."""
    return WithJsonSchema({"type": "string", "enum": [*known]})


JSON = BeforeValidator(_from_json)

Kind = Annotated[MemoryType, _words(MemoryType)]
Mode = Annotated[SearchMode, _words(SearchMode)]
Lifetime = Annotated[Permanence, _words(Permanence)]
EntityKind = Annotated[EntityType, _words(EntityType)]

MemoryTypeName = Annotated[
    Kind, Field(description="The kind of the memory, as the result that showed the id says.")
]
MemoryId = Annotated[
    str, Field(description="The id (a UUID) from a search or recall result, or from a receipt.")
]
RuleId = Annotated[str, Field(description="The id (a UUID) of the rule that you followed.")]
EntityId = Annotated[str, Field(description="The id (a UUID) of the entity, as entity_resolve gives it.")]

Importance = Annotated[
    float,
    Field(
        ge=0,
        le=MAX_IMPORTANCE,
        allow_inf_nan=False,
        description="5 is ordinary; use 8 and more for a memory that must not be missed.",
    ),
]
Scope = Annotated[
    str, Field(description="global for every butler (agent), or the name of the one butler that it is for.")
]
ScopeFilter = Annotated[
    str | None,
    Field(
        description="Name of a butler: facts and rules that are global or its own, and its episodes. "
        "Leave it out to search all memories."
    ),
]
Tags = Annotated[
    Annotated[list[str], Field(max_length=MAX_TAGS)] | None,
    JSON,
    Field(description='Labels to group by, such as ["infra", "deploy"].'),
]
Metadata = Annotated[
    dict[str, Any] | None, JSON, Field(description="Further details as a JSON object of plain values.")
]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Most results.")]
TenantId = Annotated[
    str, Field(description="Your own tenant; leave it out where you may. You cannot reach another tenant.")
]
