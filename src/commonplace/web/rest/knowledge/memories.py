"""Episodes, facts and rules under ``/api/v1/knowledge``: store, find, confirm, forget. Source: KNW-05 to KNW-09."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Path, Query

from commonplace.core.bounds import Share
from commonplace.knowledge import (
    DEFAULT_MIN_CONFIDENCE,
    BlockStyle,
    EpisodeReceipt,
    FactReceipt,
    Limit,
    Memory,
    MemoryStats,
    MemoryType,
    Rule,
    RuleReceipt,
    Scope,
    SearchMode,
    SearchResult,
)
from commonplace.knowledge import Query as QueryText
from commonplace.web.http.access import KnowledgeOfCaller, reader, writer
from commonplace.web.http.limits import WantedBudget
from commonplace.web.http.problems import MODEL_UNAVAILABLE, NOT_FOUND, STATE_CONFLICT, STORAGE_UNAVAILABLE
from commonplace.web.rest import api as rest
from commonplace.web.rest.knowledge import shapes
from commonplace.web.rest.knowledge.narrowing import AsOf, ScopeFilter, Within, WithinBlock
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
MostFound = Annotated[Limit | None, Query(description="the maximum number of results; 10 unless configured")]
Explain = Annotated[bool, Query(description="whether to explain each result")]
MinConfidence = Annotated[
    Share, Query(alias="minConfidence", description="the minimum confidence of facts and rules today")
]

Relevance = Annotated[
    Share | None,
    Query(
        alias="minRelevance",
        description="minimum similarity of the best memory; below it, no memory is returned; 0: no minimum; by "
        "default as configured",
    ),
]

api = rest.Api("/api/v1/knowledge", "knowledge memory")


@api("POST /episodes", writer, "The receipt", *BODY, status=HTTPStatus.CREATED)
async def store_episode(memory: KnowledgeOfCaller, wanted: shapes.NewEpisode) -> EpisodeReceipt:
    """Store an episode.

    An episode lives for seven days, unless it is consolidated first.

    Parameters:
        body: the episode
    """
    return await memory.store_episode(**wanted.model_dump(), fail_open=False)


@api("POST /facts", writer, "The receipt", STATE_CONFLICT, NOT_FOUND, *BODY, status=HTTPStatus.CREATED)
async def store_fact(memory: KnowledgeOfCaller, wanted: shapes.NewFact) -> FactReceipt:
    """Store a fact.

    A fact supersedes the active fact with the same subject, predicate and scope. A fact that contradicts a more trusted
    fact is held instead, and waits for a person. `replaces` names a fact with another key that is superseded likewise.

    Parameters:
        body: the fact
    """
    return await memory.store_fact(**wanted.model_dump())


@api("POST /rules", writer, "The receipt", STATE_CONFLICT, NOT_FOUND, *BODY, status=HTTPStatus.CREATED)
async def store_rule(memory: KnowledgeOfCaller, wanted: shapes.NewRule) -> RuleReceipt:
    """Store a rule.

    A rule starts as a candidate. A rule that is there already is confirmed instead, and the receipt says so. The rule
    that `replaces` names is superseded, unless it is more trusted: then both wait for a person.

    Parameters:
        body: the rule
    """
    return await memory.store_rule(**wanted.model_dump())


@api("GET /search", reader, "The results", *OUTAGES)
async def search_knowledge(
    memory: KnowledgeOfCaller,
    narrowing: Within,
    query: QueryText,
    types: Annotated[list[MemoryType] | None, Query(alias="type")] = None,
    mode: SearchMode | None = None,
    limit: MostFound = None,
    min_confidence: MinConfidence = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Annotated[Share, Query(alias="minRelevance")] = 0.0,
    *,
    explain: Explain = False,
) -> shapes.FindingsShape:
    """Find episodes, facts and rules.

    Search by meaning and words, unless `mode` is given. Searching does not count as a use.

    Parameters:
        query: a question or key words
        type: the kinds to search; by default all three
        mode: by meaning, by words, by both, or by context
        minRelevance: the minimum similarity of the best memory; below it, no memory is found; only in mode contextual
    """
    found = await memory.search(
        query,
        types=types,
        narrowing=narrowing,
        mode=mode,
        limit=memory.config.retrieval.at_door(limit),
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
    )
    return _findings(found)


@api("GET /recall", reader, "The results", *OUTAGES)
async def recall_knowledge(
    memory: KnowledgeOfCaller,
    narrowing: Within,
    topic: QueryText,
    limit: MostFound = None,
    min_confidence: MinConfidence = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Relevance = None,
    *,
    explain: Explain = False,
) -> shapes.FindingsShape:
    """Recall facts and rules for a topic.

    Rank by relevance, importance, recency and confidence, and count a use of each result.

    Parameters:
        topic: the task or question
    """
    found = await memory.recall(
        topic,
        narrowing=narrowing,
        limit=memory.config.retrieval.at_door(limit),
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
    )
    return _findings(found)


@api("GET /context", reader, "The block", *OUTAGES)
async def knowledge_context(
    memory: KnowledgeOfCaller,
    narrowing: WithinBlock,
    prompt: QueryText,
    butler: Scope,
    budget_tokens: WantedBudget = None,
    min_relevance: Relevance = None,
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
        narrowing=narrowing,
        budget_tokens=budget_tokens,
        min_relevance=min_relevance,
        style=BlockStyle(ids=with_ids, dates=with_dates),
        fail_open=False,
    )
    return BlockShape(text=text)


@api("GET /stats", reader, "The counts")
async def knowledge_stats(memory: KnowledgeOfCaller, scope: ScopeFilter = None) -> MemoryStats:
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


@api(
    "POST /memories/{memoryType}/{memoryId}/confirm",
    writer,
    "The decay starts over",
    NOT_FOUND,
    STATE_CONFLICT,
)
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


def _findings(found: list[SearchResult]) -> shapes.FindingsShape:
    return shapes.FindingsShape.model_validate(
        {"results": [each.to_json() for each in found], "count": len(found)}
    )
