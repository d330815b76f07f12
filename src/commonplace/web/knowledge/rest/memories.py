"""Episodes, facts and rules under ``/api/v1/knowledge``: store, find, confirm, forget. Source: KNW-05 to KNW-09."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query

from commonplace.knowledge import MAX_LIMIT as MAX_FOUND
from commonplace.knowledge import MAX_QUERY_CHARS, Found, MemoryType, SearchMode
from commonplace.web.access import KnowledgeOfCaller, reader, writer
from commonplace.web.knowledge.rest.shapes import (
    Application,
    ConfirmedShape,
    FindingsShape,
    ForgottenShape,
    FoundShape,
    KnownShape,
    NewEpisode,
    NewFact,
    NewRule,
    StatsShape,
    StoredEpisodeShape,
    StoredFactShape,
    StoredRuleShape,
)
from commonplace.web.limits import MAX_BUDGET_TOKENS
from commonplace.web.problems import (
    INVALID_INPUT,
    MODEL_UNAVAILABLE,
    NOT_FOUND,
    REFUSED,
    SECRET_REFUSED,
    STORAGE_UNAVAILABLE,
    TOO_LARGE,
    may_answer,
)
from commonplace.web.workspace.rest.routes import BlockShape

READ: Final = [Depends(reader)]
WRITE: Final = [Depends(writer)]
BODY: Final = may_answer(
    REFUSED, INVALID_INPUT, SECRET_REFUSED, TOO_LARGE, STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE
)

Kind = Annotated[MemoryType, Path(alias="memoryType", description="episode, fact or rule")]
MemoryId = Annotated[UUID, Path(alias="memoryId", description="the id of a memory")]
RuleId = Annotated[UUID, Path(alias="ruleId", description="the id of a rule")]
Scope = Annotated[
    str | None, Query(max_length=200, description="facts and rules of the global scope and this one")
]
MostFound = Annotated[
    int | None, Query(ge=1, le=MAX_FOUND, description="at most this many; 10 unless configured otherwise")
]
Explain = Annotated[bool, Query(description="whether each result says why it was found")]
Confidence = Annotated[
    float | None,
    Query(
        alias="minConfidence",
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="leave out facts and rules that faded below",
    ),
]

router = APIRouter(prefix="/api/v1/knowledge", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT))


@router.post(
    "/episodes",
    operation_id="storeEpisode",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="What became of it",
    summary="Store an episode",
    responses=BODY,
)
async def store_episode(
    memory: KnowledgeOfCaller, wanted: Annotated[NewEpisode, Body(description="the episode")]
) -> StoredEpisodeShape:
    """It lives for seven days, unless it is consolidated before. An outage is no error here: the answer says so."""
    receipt = await memory.store_episode(**wanted.model_dump())
    return StoredEpisodeShape.model_validate(receipt)


@router.post(
    "/facts",
    operation_id="storeFact",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="It is stored",
    summary="Store a fact",
    responses=BODY,
)
async def store_fact(
    memory: KnowledgeOfCaller, wanted: Annotated[NewFact, Body(description="the fact")]
) -> StoredFactShape:
    """The active fact of the same subject, predicate and scope becomes history."""
    return StoredFactShape.model_validate(await memory.store_fact(**wanted.model_dump()))


@router.post(
    "/rules",
    operation_id="storeRule",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="It is stored",
    summary="Store a rule",
    responses=BODY,
)
async def store_rule(
    memory: KnowledgeOfCaller, wanted: Annotated[NewRule, Body(description="the rule")]
) -> StoredRuleShape:
    """It begins as a candidate."""
    return StoredRuleShape.model_validate(await memory.store_rule(**wanted.model_dump()))


@router.get(
    "/search",
    operation_id="searchKnowledge",
    dependencies=READ,
    response_description="What was found",
    summary="Find episodes, facts and rules",
    responses=may_answer(STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def search(
    memory: KnowledgeOfCaller,
    query: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="a question or key words")],
    types: Annotated[
        list[MemoryType] | None, Query(alias="type", description="which kinds; by default all three")
    ] = None,
    scope: Scope = None,
    mode: Annotated[SearchMode | None, Query(description="by meaning, by words, both, or by context")] = None,
    limit: MostFound = None,
    min_confidence: Confidence = None,
    explain: Explain = False,  # noqa: FBT002 - a query parameter
) -> FindingsShape:
    """By meaning and words together, unless `mode` says otherwise; nothing is counted as read."""
    wanted = _given(types=types, mode=mode, min_confidence=min_confidence)
    most = memory.config.retrieval.door_limit if limit is None else limit
    return _findings(await memory.search(query, scope=scope, limit=most, explain=explain, **wanted))


@router.get(
    "/recall",
    operation_id="recallKnowledge",
    dependencies=READ,
    response_description="What matters",
    summary="Recall facts and rules for a topic",
    responses=may_answer(STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def recall(
    memory: KnowledgeOfCaller,
    topic: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="what somebody is about to work on")],
    scope: Scope = None,
    limit: MostFound = None,
    min_confidence: Confidence = None,
    explain: Explain = False,  # noqa: FBT002 - a query parameter
) -> FindingsShape:
    """By relevance, importance, recency and confidence; what is recalled counts as read."""
    wanted = _given(min_confidence=min_confidence)
    most = memory.config.retrieval.door_limit if limit is None else limit
    return _findings(await memory.recall(topic, scope=scope, limit=most, explain=explain, **wanted))


@router.get(
    "/context",
    operation_id="knowledgeContext",
    dependencies=READ,
    response_description="The block",
    summary="The block for a prompt",
)
async def context(
    memory: KnowledgeOfCaller,
    prompt: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="what the session begins with")],
    butler: Annotated[str, Query(min_length=1, max_length=200, description="whose session it is")],
    budget_tokens: Annotated[
        int | None,
        Query(
            alias="budgetTokens",
            ge=0,
            le=MAX_BUDGET_TOKENS,
            description="of the text; by default the configured one",
        ),
    ] = None,
) -> BlockShape:
    """Key facts, then active rules. Empty where memory is out of reach, which is no error here."""
    return BlockShape(text=await memory.context(prompt, butler, token_budget=budget_tokens))


@router.get(
    "/stats",
    operation_id="knowledgeStats",
    dependencies=READ,
    response_description="The counts",
    summary="How many memories there are",
)
async def stats(memory: KnowledgeOfCaller, scope: Scope = None) -> StatsShape:
    """Episodes, facts and rules by their state; episodes are all counted."""
    return StatsShape.model_validate(asdict(await memory.stats(scope=scope)))


@router.get(
    "/memories/{memoryType}/{memoryId}",  # noqa: FAST003 - Kind and MemoryId take them, here and below
    operation_id="getKnowledge",
    dependencies=READ,
    response_description="The memory",
    summary="Read one memory",
    responses=may_answer(NOT_FOUND),
)
async def get_memory(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> KnownShape:
    """Also a fact that is history; this counts as read. What was forgotten is not found."""
    return KnownShape.model_validate(await memory.get_memory(kind, memory_id))


@router.delete(
    "/memories/{memoryType}/{memoryId}",  # noqa: FAST003
    operation_id="forgetKnowledge",
    dependencies=WRITE,
    response_description="It is forgotten",
    summary="Forget one memory",
    responses=may_answer(NOT_FOUND),
)
async def forget(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> ForgottenShape:
    """No search and no prompt shows it any more; the audit stream keeps that it was there."""
    await memory.forget_memory(kind, memory_id)
    return ForgottenShape()


@router.post(
    "/memories/{memoryType}/{memoryId}/confirm",  # noqa: FAST003
    operation_id="confirmKnowledge",
    dependencies=WRITE,
    response_description="Its decay starts over",
    summary="Confirm a fact or a rule",
    responses=may_answer(NOT_FOUND),
)
async def confirm(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> ConfirmedShape:
    """It proved right. An episode has no confidence, so it cannot be confirmed."""
    await memory.confirm_memory(kind, memory_id)
    return ConfirmedShape()


@router.post(
    "/rules/{ruleId}/helpful",  # noqa: FAST003 - RuleId takes it, here and below
    operation_id="markHelpful",
    dependencies=WRITE,
    response_description="The rule as it is now",
    summary="Say that a rule helped",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def mark_helpful(
    memory: KnowledgeOfCaller,
    rule_id: RuleId,
    wanted: Annotated[Application | None, Body(description="what it was applied to")] = None,
) -> KnownShape:
    """It counts as applied, and is promoted where it has earned that."""
    context = wanted.context if wanted else None
    return KnownShape.model_validate(await memory.mark_helpful(rule_id, context=context))


@router.post(
    "/rules/{ruleId}/harmful",  # noqa: FAST003
    operation_id="markHarmful",
    dependencies=WRITE,
    response_description="The rule as it is now",
    summary="Say that a rule did harm",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def mark_harmful(
    memory: KnowledgeOfCaller,
    rule_id: RuleId,
    wanted: Annotated[Application | None, Body(description="why, and what it was applied to")] = None,
) -> KnownShape:
    """Harm weighs four times as much as help; the rule is demoted where that is due."""
    given = wanted or Application()
    marked = await memory.mark_harmful(rule_id, reason=given.reason, context=given.context)
    return KnownShape.model_validate(marked)


def _given(**parameters: object) -> dict[str, Any]:
    """Return the parameters that were given; the configuration decides about the others."""
    return {name: value for name, value in parameters.items() if value is not None}


def _findings(found: list[Found]) -> FindingsShape:
    return FindingsShape(
        results=[FoundShape.model_validate(each.to_json()) for each in found], count=len(found)
    )
