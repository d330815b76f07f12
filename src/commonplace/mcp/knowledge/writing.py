"""Tools that store: an episode, a fact, a rule."""

from typing import Final, NotRequired
from uuid import UUID

from typing_extensions import TypedDict

from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    FactReceipt,
    KnowledgeMemory,
    Maturity,
    Permanence,
)
from commonplace.mcp.knowledge.parameters import Importance, Lifetime, Scope, Tags
from commonplace.mcp.tool import OUTAGE_HINT, Offer


class StoredEpisode(TypedDict):
    """The outcome of storing an episode."""

    stored: bool
    id: UUID | None
    reason: NotRequired[str]
    hint: NotRequired[str]


class StoredRule(TypedDict):
    """The outcome of storing a rule."""

    id: UUID
    maturity: Maturity


async def memory_store_episode(
    memory: KnowledgeMemory,
    *,
    content: str,
    butler: str,
    session_id: str | None = None,
    importance: Importance = DEFAULT_IMPORTANCE,
) -> StoredEpisode:
    """Keep an event of a session: an observation, an outcome, a statement of the user.

    Episodes live for seven days; lasting knowledge is consolidated from them into facts and rules. To store lasting
    knowledge yourself use memory_store_fact, to store guidance use memory_store_rule. Do not store secrets, or text
    that memory itself gave you. Returns stored and the id; stored is false if memory is out of reach.

    Parameters:
        content: The event, in whole sentences that make sense without this conversation.
        butler: Name of the butler (agent) whose session it was.
        session_id: The session's id, a UUID.
    """
    receipt = await memory.store_episode(
        content=content, butler=butler, session_id=session_id, importance=importance
    )
    if receipt.stored:
        return {"stored": True, "id": receipt.id}
    return {"stored": False, "id": None, "reason": receipt.reason, "hint": OUTAGE_HINT}


async def memory_store_fact(
    memory: KnowledgeMemory,
    *,
    subject: str,
    predicate: str,
    content: str,
    importance: Importance = DEFAULT_IMPORTANCE,
    permanence: Lifetime = Permanence.STANDARD,
    scope: Scope = GLOBAL_SCOPE,
    tags: Tags = None,
    entity_id: str | None = None,
    valid_from: str | None = None,
    valid_to: str | None = None,
) -> FactReceipt:
    """Keep one lasting piece of knowledge about a subject.

    There is one current fact for each subject, predicate and scope: storing another with the same three replaces the
    old one, which is kept as history. So to correct a fact, store it again under the same subject and predicate.
    Search first, so that you use the names that are in use. Do not store secrets. Returns the id and, if any, the
    superseded_id of the fact that was replaced, the entity_id of the subject and the period that was read from the
    sentence.

    Parameters:
        subject: The person or thing that the fact is about, such as "Anna" or "staging database".
        predicate: The attribute or relation, as a short stable key, such as "lives_in" or "port".
        content: The fact as one sentence that makes sense on its own. A period in it, such as "since May", is read.
        permanence: How long it will hold: permanent (never fades), stable (years), standard (months), volatile (weeks)
            or ephemeral (days).
        entity_id: The entity of the subject, as entity_resolve gives it. Without it, the subject's name decides, unless
            two entities have that name.
        valid_from: The date or time (ISO 8601) when it began to hold, if you know it.
        valid_to: The date or time (ISO 8601) when it ceases to hold, if you know it; no search shows it afterwards.
    """
    return await memory.store_fact(
        subject=subject,
        predicate=predicate,
        content=content,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tags,
        entity_id=entity_id,
        valid_from=valid_from,
        valid_to=valid_to,
    )


async def memory_store_rule(
    memory: KnowledgeMemory, *, content: str, scope: Scope = GLOBAL_SCOPE, tags: Tags = None
) -> StoredRule:
    """Keep guidance for how to act, learned from success or failure.

    A rule begins as a candidate; calls of memory_mark_helpful promote it. Store knowledge about the world with
    memory_store_fact instead. Returns the id, for that feedback.

    Parameters:
        content: The action and when to take it, such as "Run the linter before every commit".
    """
    receipt = await memory.store_rule(content=content, scope=scope, tags=tags)
    return {"id": receipt.id, "maturity": Maturity.CANDIDATE}


OFFERS: Final = (
    Offer(run=memory_store_episode, title="Store an episode", agent=("content", "butler")),
    Offer(
        run=memory_store_fact,
        title="Store a fact",
        agent=("subject", "predicate", "content", "permanence", "scope"),
    ),
    Offer(run=memory_store_rule, title="Store a rule", agent=("content", "scope")),
)
