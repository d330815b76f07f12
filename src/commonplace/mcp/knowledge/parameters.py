"""Parameters that several tools have, as a model reads about them.

Models send lists and objects as JSON in a string about as often as they send the real thing; both are taken.
"""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _from_json(value: object) -> object:
    """Read a list or object that came as JSON in a string; whatever else comes is judged by its type."""
    if not isinstance(value, str) or not value.strip().startswith(("[", "{", "null")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


JSON = BeforeValidator(_from_json)

MemoryTypeName = Annotated[
    str, Field(description="What it is: episode, fact or rule, as the result that showed the id says.")
]
MemoryId = Annotated[
    str, Field(description="The id (a UUID) from a search or recall result, or from a receipt.")
]
RuleId = Annotated[str, Field(description="The id (a UUID) of the rule that you followed.")]
EntityId = Annotated[str, Field(description="The id (a UUID) of the entity, as entity_resolve gives it.")]

Importance = Annotated[
    float, Field(description="0 to 10: 5 is ordinary; 8 and more is for what must not be missed.")
]
Scope = Annotated[
    str, Field(description="global for everybody, or the name of the one butler (agent) that it is for.")
]
ScopeFilter = Annotated[
    str | None,
    Field(
        description="Name of a butler: facts and rules that are global or its own, and its episodes. "
        "Leave it out to look everywhere."
    ),
]
Tags = Annotated[
    list[str] | None, JSON, Field(description='Labels to group by, such as ["infra", "deploy"].')
]
Metadata = Annotated[
    dict[str, Any] | None, JSON, Field(description="Further details as a JSON object of plain values.")
]
Limit = Annotated[int, Field(description="Most results, 1 to 1000.")]
TenantId = Annotated[
    str, Field(description="Your own tenant. No other can be reached: leave it out where you may.")
]
