"""Parameters that several tools share, as a model reads about them."""

from typing import Annotated, Any

from pydantic import Field

from commonplace.core.sources import Source
from commonplace.knowledge import (
    MAX_IMPORTANCE,
    MAX_LIMIT,
    MAX_TAGS,
    EntityType,
    MemoryType,
    Permanence,
    SearchMode,
)
from commonplace.mcp.protocol.parameters import JSON, bounds, one_of

Kind = Annotated[str, one_of(MemoryType)]
Mode = Annotated[str, one_of(SearchMode)]
Lifetime = Annotated[str, one_of(Permanence)]
EntityKind = Annotated[str, one_of(EntityType)]

MemoryTypeName = Annotated[Kind, Field(description="The memory_type of the result that showed the id.")]
MemoryId = Annotated[
    str,
    Field(
        description="The id from a result or a receipt, or the short id at the end of a line in a block, such as "
        "f:3k7q2."
    ),
]
RuleId = Annotated[
    str, Field(description="The id of the rule that you followed, or its short id, such as r:9x2vd.")
]
EntityId = Annotated[str, Field(description="The id (a UUID) of the entity, as entity_resolve returns it.")]

Importance = Annotated[
    float,
    bounds(0, MAX_IMPORTANCE),
    Field(description="5 is normal; use 8 or more for a memory that must not be missed."),
]
Scope = Annotated[
    str,
    Field(
        description="global for every butler (agent), or the name of the one butler that the memory is for."
    ),
]
ScopeFilter = Annotated[
    str | None,
    Field(
        description="Name of a butler: its own and global facts and rules, and its episodes. "
        "Leave it out for the default shown or, without a default, for all memories."
    ),
]
Tags = Annotated[
    Annotated[list[str], Field(json_schema_extra={"maxItems": MAX_TAGS})] | None,
    JSON,
    Field(
        description='Labels to group by, such as ["infra", "deploy"]. "pinned" puts the memory into every block: use '
        "it only "
        "for safety and the user's standing wishes."
    ),
]
Metadata = Annotated[
    dict[str, Any] | None, JSON, Field(description="Further details as a JSON object of plain values.")
]
Limit = Annotated[int, bounds(1, MAX_LIMIT), Field(description="The number of results, at most.")]
MinRelevance = Annotated[
    float | None,
    Field(
        json_schema_extra={"minimum": 0, "maximum": 1},
        description="The minimum similarity of the best memory; below it, nothing is returned. 0: no minimum.",
    ),
]
AsOf = Annotated[
    str | None,
    Field(
        description="A time, or a date for the end of that day (ISO 8601): return what was known then. "
        "Leave it out for now."
    ),
]
ValidAt = Annotated[
    str | None,
    Field(
        description="A time, or a date for the end of that day (ISO 8601): return the facts that were true then. "
        "Leave it out for current facts."
    ),
]
Origin = Annotated[
    Annotated[str, one_of(Source)] | None,
    Field(
        description="Where the text comes from, if you only read it there: web, tool, document or import. Leave it "
        "out for what the user said or you concluded. Text of a less trusted source never replaces trusted knowledge."
    ),
]
MinTrust = Annotated[
    Annotated[str, one_of(Source)] | None,
    Field(
        description="Leave out memories that are less trusted than this source; the list shows the most trusted "
        "source first."
    ),
]
OnlyTags = Annotated[list[str] | None, JSON, Field(description="Only memories with all of these tags.")]
Since = Annotated[
    str | None, Field(description="A date or time (ISO 8601): only memories that were stored then or later.")
]
Until = Annotated[
    str | None, Field(description="A date or time (ISO 8601): only memories that were stored before.")
]
LearnedBy = Annotated[str | None, Field(description="Only memories learned by this butler (agent).")]
OnlyEntity = Annotated[
    str | None,
    Field(description="The id of an entity: only facts about this entity, or facts that mention it."),
]
TenantId = Annotated[
    str,
    Field(
        description="Your own tenant, such as default. Leave it out if it is optional; other tenants cannot be reached."
    ),
]
