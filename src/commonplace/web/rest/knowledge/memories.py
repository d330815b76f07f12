"""Episodes, facts and rules under ``/api/v1/knowledge``: store, find, confirm, forget. Source: KNW-05 to KNW-09."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import Depends, Path, Query

from commonplace.core.sources import Source
from commonplace.knowledge import (
    DEFAULT_MIN_CONFIDENCE,
    MAX_LIMIT,
    MAX_QUERY_CHARS,
    MAX_TAGS,
    EpisodeReceipt,
    FactReceipt,
    Found,
    KnowledgeMemory,
    Memory,
    MemoryStats,
    MemoryType,
    Rule,
    RuleReceipt,
    SearchMode,
)
from commonplace.web.http.access import KnowledgeOfCaller, at_once, reader, writer
from commonplace.web.http.limits import BudgetTokens
from commonplace.web.http.problems import MODEL_UNAVAILABLE, NOT_FOUND, STORAGE_UNAVAILABLE
from commonplace.web.rest import api as rest
from commonplace.web.rest.knowledge import shapes
from commonplace.web.rest.workspace.routes import BlockShape

OUTAGES: Final = (STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE)
BODY: Final = (*rest.BODY, *OUTAGES)

Kind = Annotated[MemoryType, Path(alias="memoryType", description="episode, fact or rule")]
MemoryId = Annotated[
    str, Path(alias="memoryId", description="the id of a memory, or its short id, such as `f:3k7q2`")
]
RuleId = Annotated[
    str, Path(alias="ruleId", description="the id of a rule, or its short id, such as `r:9x2vd`")
]
Scope = Annotated[
    str | None,
    Query(max_length=200, description="the name of a butler: its memories, and global facts and rules"),
]
MostFound = Annotated[
    int | None, Query(ge=1, le=MAX_LIMIT, description="the maximum number of results; 10 unless configured")
]
Explain = Annotated[bool, Query(description="whether to explain each result")]
Confidence = Annotated[
    float,
    Query(
        alias="minConfidence",
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="the minimum confidence of facts and rules today",
    ),
]

Relevance = Annotated[
    float | None,
    Query(
        alias="minRelevance",
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="minimum similarity of the best memory; below it, no memory is returned; 0: no minimum; by "
        "default as configured",
    ),
]

AsOf = Annotated[
    str | None,
    Query(
        alias="asOf",
        max_length=40,
        description="a time, or a date for the end of that day: return what was known then; by default now",
    ),
]
ValidAt = Annotated[
    str | None,
    Query(
        alias="validAt",
        max_length=40,
        description="a time, or a date for the end of that day: return facts that were true then",
    ),
]

MinTrust = Annotated[
    Source | None,
    Query(alias="minTrust", description="leave out memories that are less trusted than this source"),
]

OnlyTags = Annotated[
    list[str] | None,
    Query(alias="tag", max_length=MAX_TAGS, description="only memories with all of these tags"),
]
Since = Annotated[
    str | None,
    Query(max_length=40, description="a date or time: only memories that were stored then or later"),
]
Until = Annotated[
    str | None, Query(max_length=40, description="a date or time: only memories that were stored before")
]
LearnedBy = Annotated[
    str | None,
    Query(
        alias="learnedBy", max_length=200, description="the name of a butler: only memories that it learned"
    ),
]
OnlyEntity = Annotated[
    UUID | None,
    Query(
        alias="entityId",
        description="the id of an entity: only facts about this entity, or facts that mention it",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Parameters that searches and recalls share."""

    scope: Scope = None
    limit: MostFound = None
    min_confidence: Confidence = DEFAULT_MIN_CONFIDENCE
    as_of: AsOf = None
    valid_at: ValidAt = None
    min_trust: MinTrust = None
    tags: OnlyTags = None
    since: Since = None
    until: Until = None
    learned_by: LearnedBy = None
    entity_id: OnlyEntity = None
    explain: Explain = False

    def of(self, memory: KnowledgeMemory) -> dict[str, Any]:
        """Return the arguments of the memory's method."""
        most = memory.config.retrieval.door_limit if self.limit is None else self.limit
        return vars(self) | {"limit": most}


WantedFilters = Annotated[Filters, Depends(at_once(Filters))]

api = rest.Api("/api/v1/knowledge", "knowledge memory")


@api("POST /episodes", writer, "The receipt", *BODY, status=HTTPStatus.CREATED)
async def store_episode(memory: KnowledgeOfCaller, wanted: shapes.NewEpisode) -> EpisodeReceipt:
    """Store an episode.

    An episode lives for seven days, unless it is consolidated first.

    Parameters:
        body: the episode
    """
    return await memory.store_episode(**wanted.model_dump(), fail_open=False)


@api("POST /facts", writer, "The receipt", *BODY, status=HTTPStatus.CREATED)
async def store_fact(memory: KnowledgeOfCaller, wanted: shapes.NewFact) -> FactReceipt:
    """Store a fact.

    A fact supersedes the active fact with the same subject, predicate and scope. A fact that contradicts a more trusted
    fact is held instead, and waits for a person.

    Parameters:
        body: the fact
    """
    return await memory.store_fact(**wanted.model_dump())


@api("POST /rules", writer, "The receipt", *BODY, status=HTTPStatus.CREATED)
async def store_rule(memory: KnowledgeOfCaller, wanted: shapes.NewRule) -> RuleReceipt:
    """Store a rule.

    A rule starts as a candidate.

    Parameters:
        body: the rule
    """
    return await memory.store_rule(**wanted.model_dump())


@api("GET /search", reader, "The results", *OUTAGES)
async def search_knowledge(
    memory: KnowledgeOfCaller,
    filters: WantedFilters,
    query: Annotated[str, Query(max_length=MAX_QUERY_CHARS)],
    types: Annotated[list[MemoryType] | None, Query(alias="type")] = None,
    mode: SearchMode | None = None,
    min_relevance: Annotated[float, Query(alias="minRelevance", ge=0, le=1, allow_inf_nan=False)] = 0.0,
) -> shapes.FindingsShape:
    """Find episodes, facts and rules.

    Search by meaning and words, unless `mode` is given. Searching does not count as a use.

    Parameters:
        query: a question or key words
        type: the kinds to search; by default all three
        mode: by meaning, by words, by both, or by context
        minRelevance: the minimum similarity of the best memory; below it, no memory is found; only in mode contextual
    """
    given = filters.of(memory)
    return _findings(await memory.search(query, types=types, mode=mode, min_relevance=min_relevance, **given))


@api("GET /recall", reader, "The results", *OUTAGES)
async def recall_knowledge(
    memory: KnowledgeOfCaller,
    filters: WantedFilters,
    topic: Annotated[str, Query(max_length=MAX_QUERY_CHARS)],
    min_relevance: Relevance = None,
) -> shapes.FindingsShape:
    """Recall facts and rules for a topic.

    Rank by relevance, importance, recency and confidence, and count a use of each result.

    Parameters:
        topic: the task or question
    """
    return _findings(await memory.recall(topic, min_relevance=min_relevance, **filters.of(memory)))


@api("GET /context", reader, "The block", *OUTAGES)
async def knowledge_context(
    memory: KnowledgeOfCaller,
    prompt: Annotated[str, Query(max_length=MAX_QUERY_CHARS)],
    butler: Annotated[str, Query(min_length=1, max_length=200)],
    budget_tokens: BudgetTokens = None,
    min_relevance: Relevance = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    min_trust: MinTrust = None,
    *,
    with_ids: Annotated[bool, Query(alias="withIds")] = False,
    with_dates: Annotated[bool, Query(alias="withDates")] = False,
) -> BlockShape:
    """Read the block for a prompt.

    The block has pinned memories, key facts, then active rules.

    Parameters:
        prompt: the beginning of the session
        butler: the agent that runs the session
        withIds: whether lines end with the short id of the memory
        withDates: whether facts show the date of their last confirmation
    """
    text = await memory.context(
        prompt,
        butler,
        token_budget=budget_tokens,
        min_relevance=min_relevance,
        with_ids=with_ids,
        with_dates=with_dates,
        as_of=as_of,
        valid_at=valid_at,
        min_trust=min_trust,
        fail_open=False,
    )
    return BlockShape(text=text)


@api("GET /stats", reader, "The counts")
async def knowledge_stats(memory: KnowledgeOfCaller, scope: Scope = None) -> MemoryStats:
    """Count memories.

    Count episodes, facts and rules by state; the scope does not apply to episodes.
    """
    return await memory.stats(scope=scope)


@api("GET /memories/{memoryType}/{memoryId}", reader, "The memory", NOT_FOUND)
async def get_knowledge(
    memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId, as_of: AsOf = None
) -> Memory:
    """Read one memory.

    Count a use, unless `asOf` is given. A superseded fact is found; a forgotten memory is not.
    """
    return await memory.get(kind, memory_id, as_of=as_of)


@api("DELETE /memories/{memoryType}/{memoryId}", writer, "The memory is forgotten", NOT_FOUND)
async def forget_knowledge(
    memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId
) -> shapes.ForgottenShape:
    """Forget one memory.

    Remove a memory from every search and prompt. The audit trail keeps its events.
    """
    await memory.forget(kind, memory_id)
    return shapes.ForgottenShape()


@api("POST /memories/{memoryType}/{memoryId}/confirm", writer, "The decay starts over", NOT_FOUND)
async def confirm_knowledge(
    memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId
) -> shapes.ConfirmedShape:
    """Confirm a fact or a rule.

    Restart the decay of a fact or rule that is still right. An episode cannot be confirmed.
    """
    await memory.confirm(kind, memory_id)
    return shapes.ConfirmedShape()


@api("PUT /memories/{memoryType}/{memoryId}/pin", writer, "The memory after the change", NOT_FOUND)
async def pin_knowledge(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> Memory:
    """Pin a fact or a rule.

    Show a fact or rule in every block of its scope. This adds the tag `pinned`.
    """
    return await memory.pin(kind, memory_id)


@api("DELETE /memories/{memoryType}/{memoryId}/pin", writer, "The memory after the change", NOT_FOUND)
async def unpin_knowledge(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> Memory:
    """Unpin a fact or a rule.

    Show a fact or rule only where it is relevant. This removes the tag `pinned`.
    """
    return await memory.pin(kind, memory_id, pinned=False)


@api("POST /rules/{ruleId}/helpful", writer, "The rule after the change", NOT_FOUND, *BODY)
async def mark_helpful(
    memory: KnowledgeOfCaller, rule_id: RuleId, wanted: shapes.Application | None = None
) -> Rule:
    """Mark a rule as helpful.

    Count a helpful application; the rule is promoted if it qualifies.

    Parameters:
        body: details of the application
    """
    return await memory.mark_helpful(rule_id, context=wanted.context if wanted else None)


@api("POST /rules/{ruleId}/harmful", writer, "The rule after the change", NOT_FOUND, *BODY)
async def mark_harmful(
    memory: KnowledgeOfCaller, rule_id: RuleId, wanted: shapes.Application | None = None
) -> Rule:
    """Mark a rule as harmful.

    Count a harmful application, which weighs four times as much; the rule is demoted if necessary.

    Parameters:
        body: the harm, and details of the application
    """
    given = wanted or shapes.Application()
    return await memory.mark_harmful(rule_id, reason=given.reason, context=given.context)


def _findings(found: list[Found]) -> shapes.FindingsShape:
    return shapes.FindingsShape.model_validate(
        {"results": [each.to_json() for each in found], "count": len(found)}
    )
