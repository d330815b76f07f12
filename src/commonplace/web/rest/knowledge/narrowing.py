"""The query parameters that narrow searches, recalls, blocks and lists, and the narrowing that they make."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query

from commonplace.core.bounds import MomentText
from commonplace.core.sources import Source
from commonplace.knowledge import Narrowing, Scope, Tags
from commonplace.web.http.access import KnowledgeOfCaller, at_once

ScopeFilter = Annotated[
    Scope | None,
    Query(description="the name of a butler: its memories, and global facts and rules"),
]
ExactScope = Annotated[
    Scope | None,
    Query(
        alias="scope",
        description="only this scope, without the global scope; by default all scopes",
    ),
]
AsOf = Annotated[
    MomentText | None,
    Query(
        alias="asOf",
        description="a time, or a day for its end, in ISO 8601 or words such as yesterday: return what was known then; "
        "by default now",
    ),
]
ValidAt = Annotated[
    MomentText | None,
    Query(
        alias="validAt",
        description="a time, or a day for its end, in ISO 8601 or words such as yesterday: return facts that were true "
        "then",
    ),
]

MinTrust = Annotated[
    Source | None,
    Query(alias="minTrust", description="leave out memories that are less trusted than this source"),
]

OnlyTags = Annotated[
    Tags | None,
    Query(alias="tag", description="only memories with all of these tags"),
]
Since = Annotated[
    MomentText | None,
    Query(
        description="a date or time, in ISO 8601 or words such as yesterday: only memories that were stored then or "
        "later"
    ),
]
Until = Annotated[
    MomentText | None,
    Query(
        description="a date or time in ISO 8601: only memories that were stored before; or words such as yesterday: "
        "also those of that time"
    ),
]
LearnedBy = Annotated[
    Scope | None,
    Query(alias="learnedBy", description="the name of a butler: only memories that it learned"),
]
OnlyEntity = Annotated[
    UUID | None,
    Query(
        alias="entityId",
        description="the id of an entity: only facts about this entity, or facts that mention it",
    ),
]
EntityOfFacts = Annotated[UUID | None, Query(alias="entityId", description="only facts about this entity")]


def _common(
    memory: KnowledgeOfCaller,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    min_trust: MinTrust = None,
    tags: OnlyTags = None,
    since: Since = None,
    until: Until = None,
    learned_by: LearnedBy = None,
) -> Narrowing:
    """Return the narrowing by the parameters that all routes share."""
    return Narrowing(
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        tags=tags,
        since=since,
        until=until,
        learned_by=learned_by,
        times=memory.times,
    )


Common = Annotated[Narrowing, Depends(at_once(_common))]


def _of_block(common: Common, entity_id: OnlyEntity = None) -> Narrowing:
    return replace(common, entity_id=entity_id)


WithinBlock = Annotated[Narrowing, Depends(at_once(_of_block))]
"""The narrowing of a block, whose scope is its butler."""


def _of_search(within: WithinBlock, scope: ScopeFilter = None) -> Narrowing:
    return replace(within, scope=scope)


Within = Annotated[Narrowing, Depends(at_once(_of_search))]
"""The narrowing of a search or recall."""


def _of_rules(common: Common, scope: ExactScope = None) -> Narrowing:
    return replace(common, scope=scope)


WithinRules = Annotated[Narrowing, Depends(at_once(_of_rules))]
"""The narrowing of a list of rules, which have no entity."""


def _of_facts(within: WithinRules, entity_id: EntityOfFacts = None) -> Narrowing:
    return replace(within, entity_id=entity_id)


WithinFacts = Annotated[Narrowing, Depends(at_once(_of_facts))]
"""The narrowing of a list of facts."""
