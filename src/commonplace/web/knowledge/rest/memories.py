"""Episodes, facts and rules under ``/api/v1/knowledge``: store, find, confirm, forget. Source: KNW-05 to KNW-09."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Body, Depends, Path, Query

from commonplace.knowledge import (
    DEFAULT_MIN_CONFIDENCE,
    MAX_LIMIT,
    MAX_QUERY_CHARS,
    Found,
    MemoryType,
    SearchMode,
    json_safe,
)
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
MemoryId = Annotated[
    str, Path(alias="memoryId", description="the id of a memory, or its short id in a block: `f:3k7q2`")
]
RuleId = Annotated[
    str, Path(alias="ruleId", description="the id of a rule, or its short id in a block: `r:9x2vd`")
]
Scope = Annotated[
    str | None,
    Query(max_length=200, description="a butler: its memories, and global facts and rules"),
]
MostFound = Annotated[
    int | None, Query(ge=1, le=MAX_LIMIT, description="the number of results, at most; 10 unless configured")
]
Explain = Annotated[bool, Query(description="whether to explain each result")]
Confidence = Annotated[
    float,
    Query(
        alias="minConfidence",
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="the least confidence of facts and rules today",
    ),
]

Relevance = Annotated[
    float | None,
    Query(
        alias="minRelevance",
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="the least likeness of the best memory, or none is shown; 0 for no floor; by default as configured",
    ),
]

router = APIRouter(prefix="/api/v1/knowledge", tags=["knowledge memory"], responses=may_answer(INVALID_INPUT))


@router.post(
    "/episodes",
    operation_id="storeEpisode",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="The receipt",
    summary="Store an episode",
    responses=BODY,
)
async def store_episode(
    memory: KnowledgeOfCaller, wanted: Annotated[NewEpisode, Body(description="the episode")]
) -> StoredEpisodeShape:
    """An episode lives for seven days, unless it is consolidated before. The receipt of an outage has a reason."""
    receipt = await memory.store_episode(**wanted.model_dump())
    return StoredEpisodeShape.model_validate(receipt)


@router.post(
    "/facts",
    operation_id="storeFact",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="The receipt",
    summary="Store a fact",
    responses=BODY,
)
async def store_fact(
    memory: KnowledgeOfCaller, wanted: Annotated[NewFact, Body(description="the fact")]
) -> StoredFactShape:
    """A fact supersedes the active fact of the same subject, predicate and scope."""
    return StoredFactShape.model_validate(await memory.store_fact(**wanted.model_dump()))


@router.post(
    "/rules",
    operation_id="storeRule",
    dependencies=WRITE,
    status_code=HTTPStatus.CREATED,
    response_description="The receipt",
    summary="Store a rule",
    responses=BODY,
)
async def store_rule(
    memory: KnowledgeOfCaller, wanted: Annotated[NewRule, Body(description="the rule")]
) -> StoredRuleShape:
    """A rule begins as a candidate."""
    return StoredRuleShape.model_validate(await memory.store_rule(**wanted.model_dump()))


@router.get(
    "/search",
    operation_id="searchKnowledge",
    dependencies=READ,
    response_description="The results",
    summary="Find episodes, facts and rules",
    responses=may_answer(STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def search(
    memory: KnowledgeOfCaller,
    query: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="a question or key words")],
    types: Annotated[
        list[MemoryType] | None, Query(alias="type", description="the kinds to search; by default all three")
    ] = None,
    scope: Scope = None,
    mode: Annotated[
        SearchMode | None, Query(description="by meaning, by words, by both, or by context")
    ] = None,
    limit: MostFound = None,
    min_confidence: Confidence = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Annotated[
        float,
        Query(
            alias="minRelevance",
            ge=0,
            le=1,
            allow_inf_nan=False,
            description="likeness that the best memory must have, or none is found; in mode contextual only",
        ),
    ] = 0.0,
    explain: Explain = False,  # noqa: FBT002 - a query parameter
) -> FindingsShape:
    """Search by meaning and words, unless `mode` is given. Searching does not count as a use."""
    found = await memory.search(
        query,
        types=types,
        scope=scope,
        mode=mode,
        limit=memory.config.retrieval.door_limit if limit is None else limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
    )
    return _findings(found)


@router.get(
    "/recall",
    operation_id="recallKnowledge",
    dependencies=READ,
    response_description="The results",
    summary="Recall facts and rules for a topic",
    responses=may_answer(STORAGE_UNAVAILABLE, MODEL_UNAVAILABLE),
)
async def recall(
    memory: KnowledgeOfCaller,
    topic: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="the task or question")],
    scope: Scope = None,
    limit: MostFound = None,
    min_confidence: Confidence = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Relevance = None,
    explain: Explain = False,  # noqa: FBT002 - a query parameter
) -> FindingsShape:
    """Rank by relevance, importance, recency and confidence, and count a use of each result."""
    most = memory.config.retrieval.door_limit if limit is None else limit
    found = await memory.recall(
        topic,
        scope=scope,
        limit=most,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        explain=explain,
    )
    return _findings(found)


@router.get(
    "/context",
    operation_id="knowledgeContext",
    dependencies=READ,
    response_description="The block",
    summary="The block for a prompt",
)
async def context(
    memory: KnowledgeOfCaller,
    prompt: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="the beginning of the session")],
    butler: Annotated[str, Query(min_length=1, max_length=200, description="the agent whose session it is")],
    budget_tokens: Annotated[
        int | None,
        Query(
            alias="budgetTokens",
            ge=0,
            le=MAX_BUDGET_TOKENS,
            description="the length of the text, at most; by default as configured",
        ),
    ] = None,
    min_relevance: Relevance = None,
    *,
    with_ids: Annotated[
        bool, Query(alias="withIds", description="whether lines end with the short id of the memory")
    ] = False,
    with_dates: Annotated[
        bool, Query(alias="withDates", description="whether facts have the date of their last confirmation")
    ] = False,
) -> BlockShape:
    """Pinned memories, key facts, then active rules. The text is empty if memory is out of reach."""
    text = await memory.context(
        prompt,
        butler,
        token_budget=budget_tokens,
        min_relevance=min_relevance,
        with_ids=with_ids,
        with_dates=with_dates,
    )
    return BlockShape(text=text)


@router.get(
    "/stats",
    operation_id="knowledgeStats",
    dependencies=READ,
    response_description="The counts",
    summary="Count memories",
)
async def stats(memory: KnowledgeOfCaller, scope: Scope = None) -> StatsShape:
    """Count episodes, facts and rules by state; the scope does not apply to episodes."""
    return StatsShape.model_validate(json_safe(await memory.stats(scope=scope)))


@router.get(
    "/memories/{memoryType}/{memoryId}",  # noqa: FAST003 - Kind and MemoryId take them, here and below
    operation_id="getKnowledge",
    dependencies=READ,
    response_description="The memory",
    summary="Read one memory",
    responses=may_answer(NOT_FOUND),
)
async def get_memory(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> KnownShape:
    """Count a use. A superseded fact is found, a forgotten memory is not."""
    return KnownShape.model_validate(await memory.get_memory(kind, memory_id))


@router.delete(
    "/memories/{memoryType}/{memoryId}",  # noqa: FAST003
    operation_id="forgetKnowledge",
    dependencies=WRITE,
    response_description="The memory is forgotten",
    summary="Forget one memory",
    responses=may_answer(NOT_FOUND),
)
async def forget(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> ForgottenShape:
    """Take a memory out of every search and prompt. The audit trail keeps its events."""
    await memory.forget_memory(kind, memory_id)
    return ForgottenShape()


@router.post(
    "/memories/{memoryType}/{memoryId}/confirm",  # noqa: FAST003
    operation_id="confirmKnowledge",
    dependencies=WRITE,
    response_description="The decay starts over",
    summary="Confirm a fact or a rule",
    responses=may_answer(NOT_FOUND),
)
async def confirm(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> ConfirmedShape:
    """Restart the decay of a fact or rule that proved right. An episode cannot be confirmed."""
    await memory.confirm_memory(kind, memory_id)
    return ConfirmedShape()


@router.put(
    "/memories/{memoryType}/{memoryId}/pin",  # noqa: FAST003
    operation_id="pinKnowledge",
    dependencies=WRITE,
    response_description="The memory after the change",
    summary="Pin a fact or a rule",
    responses=may_answer(NOT_FOUND),
)
async def pin(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> KnownShape:
    """Put a fact or rule into every block of its scope. This adds the tag `pinned`."""
    return KnownShape.model_validate(await memory.pin_memory(kind, memory_id))


@router.delete(
    "/memories/{memoryType}/{memoryId}/pin",  # noqa: FAST003
    operation_id="unpinKnowledge",
    dependencies=WRITE,
    response_description="The memory after the change",
    summary="Unpin a fact or a rule",
    responses=may_answer(NOT_FOUND),
)
async def unpin(memory: KnowledgeOfCaller, kind: Kind, memory_id: MemoryId) -> KnownShape:
    """Show a fact or rule only where it is relevant. This removes the tag `pinned`."""
    return KnownShape.model_validate(await memory.pin_memory(kind, memory_id, pinned=False))


@router.post(
    "/rules/{ruleId}/helpful",  # noqa: FAST003 - RuleId takes it, here and below
    operation_id="markHelpful",
    dependencies=WRITE,
    response_description="The rule after the change",
    summary="Mark a rule as helpful",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def mark_helpful(
    memory: KnowledgeOfCaller,
    rule_id: RuleId,
    wanted: Annotated[Application | None, Body(description="details of the application")] = None,
) -> KnownShape:
    """Count a helpful application; the rule is promoted if it qualifies."""
    context = wanted.context if wanted else None
    return KnownShape.model_validate(await memory.mark_helpful(rule_id, context=context))


@router.post(
    "/rules/{ruleId}/harmful",  # noqa: FAST003
    operation_id="markHarmful",
    dependencies=WRITE,
    response_description="The rule after the change",
    summary="Mark a rule as harmful",
    responses=may_answer(NOT_FOUND) | BODY,
)
async def mark_harmful(
    memory: KnowledgeOfCaller,
    rule_id: RuleId,
    wanted: Annotated[
        Application | None, Body(description="the harm, and details of the application")
    ] = None,
) -> KnownShape:
    """Count a harmful application, which weighs four times; the rule is demoted if necessary."""
    given = wanted or Application()
    marked = await memory.mark_harmful(rule_id, reason=given.reason, context=given.context)
    return KnownShape.model_validate(marked)


def _findings(found: list[Found]) -> FindingsShape:
    return FindingsShape(
        results=[FoundShape.model_validate(each.to_json()) for each in found], count=len(found)
    )
