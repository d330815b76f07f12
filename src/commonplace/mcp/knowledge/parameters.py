"""Parameters that several tools share, as a model reads about them."""

from typing import Annotated, Any

from pydantic import Field

from commonplace.core.bounds import MomentText, Share
from commonplace.core.parameter_groups import BuiltBy
from commonplace.core.sources import Source
from commonplace.knowledge import (
    EntityType,
    Importance,
    KnowledgeMemory,
    Limit,
    MemoryType,
    Narrowing,
    Permanence,
    Scope,
    SearchMode,
    Tags,
)
from commonplace.mcp.protocol.parameters import JSON, one_of

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

ImportanceOf = Annotated[
    Importance,
    Field(description="5 is normal; use 8 or more for a memory that must not be missed."),
]
ScopeOf = Annotated[
    Scope,
    Field(
        description="global for every butler (agent), or the name of the one butler that the memory is for."
    ),
]
ScopeFilter = Annotated[
    Scope | None,
    Field(
        description="Name of a butler: its own and global facts and rules, and its episodes. "
        "Leave it out for the default shown or, without a default, for all memories."
    ),
]
TagsOf = Annotated[
    Tags | None,
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
MostResults = Annotated[Limit, Field(description="The number of results, at most.")]
MinRelevance = Annotated[
    Share | None,
    Field(
        description="The minimum similarity of the best memory; below it, nothing is returned. 0: no minimum.",
    ),
]
AsOf = Annotated[
    MomentText | None,
    Field(
        description="A time, or a day for its end (ISO 8601 or words such as yesterday): return what was known then. "
        "Leave it out for now."
    ),
]
ValidAt = Annotated[
    MomentText | None,
    Field(
        description="A time, or a day for its end (ISO 8601 or words): return the facts that were true then. "
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
Replaced = Annotated[
    str | None,
    Field(
        max_length=100,
        description="The id of the memory of this kind that is wrong or outdated and that this one corrects, such as "
        "f:3k7q2 or r:9x2vd. It is kept as history.",
    ),
]
MinConfidence = Annotated[
    Share, Field(description="Leave out facts and rules whose confidence has faded below this.")
]
Explain = Annotated[bool, Field(description="Add to each result why it was found.")]
MinTrust = Annotated[
    Annotated[str, one_of(Source)] | None,
    Field(
        description="Leave out memories that are less trusted than this source; the list shows the most trusted "
        "source first."
    ),
]
OnlyTags = Annotated[Tags | None, JSON, Field(description="Only memories with all of these tags.")]
Since = Annotated[
    MomentText | None,
    Field(
        description="A date or time (ISO 8601, or words such as last Friday): only memories stored then or later."
    ),
]
Until = Annotated[
    MomentText | None,
    Field(
        description="A date or time (ISO 8601): only memories that were stored before; or words such as yesterday: "
        "also those of that time."
    ),
]
LearnedBy = Annotated[Scope | None, Field(description="Only memories learned by this butler (agent).")]
OnlyEntity = Annotated[
    str | None,
    Field(description="The id of an entity: only facts about this entity, or facts that mention it."),
]


def narrowing(
    memory: KnowledgeMemory,
    *,
    scope: ScopeFilter = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    min_trust: MinTrust = None,
    tags: OnlyTags = None,
    since: Since = None,
    until: Until = None,
    learned_by: LearnedBy = None,
    entity_id: OnlyEntity = None,
) -> Narrowing:
    """Return the narrowing of a search or recall."""
    return Narrowing(
        times=memory.times,
        scope=scope,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tags=tags,
        since=since,
        until=until,
        learned_by=learned_by,
        entity_id=entity_id,
    )


def narrowing_of_block(
    memory: KnowledgeMemory,
    *,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    min_trust: MinTrust = None,
    tags: OnlyTags = None,
    since: Since = None,
    until: Until = None,
    learned_by: LearnedBy = None,
    entity_id: OnlyEntity = None,
) -> Narrowing:
    """Return the narrowing of a block, whose scope is its butler."""
    return narrowing(
        memory,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tags=tags,
        since=since,
        until=until,
        learned_by=learned_by,
        entity_id=entity_id,
    )


Within = Annotated[Narrowing, BuiltBy(narrowing)]
"""The narrowing of a search or recall; a tool shows its fields as parameters."""

WithinBlock = Annotated[Narrowing, BuiltBy(narrowing_of_block)]
"""The narrowing of a block; a tool shows its fields as parameters."""

TenantId = Annotated[
    str,
    Field(
        description="Your own tenant, such as default. Leave it out if it is optional; other tenants cannot be reached."
    ),
]
