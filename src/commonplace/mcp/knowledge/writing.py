"""Tools that store: an episode, a fact, a rule."""

from typing import Annotated, Any, Final

from pydantic import Field

from commonplace.knowledge import KnowledgeMemory
from commonplace.mcp.knowledge.parameters import Importance, Scope, Tags
from commonplace.mcp.knowledge.tool import OUTAGE_HINT, Offer


async def memory_store_episode(
    memory: KnowledgeMemory,
    *,
    content: Annotated[
        str,
        Field(description="What happened, in whole sentences that make sense without this conversation."),
    ],
    butler: Annotated[str, Field(description="Name of the butler (agent) whose session it was.")],
    session_id: Annotated[str | None, Field(description="The session's id, a UUID.")] = None,
    importance: Importance = 5.0,
) -> dict[str, Any]:
    """Keep what happened in a session: an observation, an outcome, what the user said.

    Episodes live for seven days; what several of them have in common is consolidated into facts and rules. For what
    you already know to be lasting use memory_store_fact, for how to act memory_store_rule. Do not store secrets, or
    text that memory itself gave you. Returns stored and the id; stored is false where memory is out of reach.
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
    subject: Annotated[
        str, Field(description='Whom or what it is about, such as "Anna" or "staging database".')
    ],
    predicate: Annotated[
        str,
        Field(description='The attribute or relation, as a short stable key, such as "lives_in" or "port".'),
    ],
    content: Annotated[str, Field(description="What is known, as one sentence that makes sense on its own.")],
    importance: Importance = 5.0,
    permanence: Annotated[
        str,
        Field(
            description="How long it will hold: permanent (never fades), stable (years), standard (months), "
            "volatile (weeks) or ephemeral (days)."
        ),
    ] = "standard",
    scope: Scope = "global",
    tags: Tags = None,
) -> dict[str, Any]:
    """Keep one lasting piece of knowledge about a subject.

    There is one current fact for each subject, predicate and scope: storing another with the same three replaces the
    old one, which is kept as history. So to correct a fact, store it again under the same subject and predicate.
    Search first, so that you use the names that are there. Do not store secrets. Returns the id, and superseded_id
    where a fact was replaced.
    """
    receipt = await memory.store_fact(
        subject=subject,
        predicate=predicate,
        content=content,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tags,
    )
    return {"id": receipt.id, "superseded_id": receipt.superseded_id}


async def memory_store_rule(
    memory: KnowledgeMemory,
    *,
    content: Annotated[
        str, Field(description='What to do and when, such as "Run the linter before every commit".')
    ],
    scope: Scope = "global",
    tags: Tags = None,
) -> dict[str, Any]:
    """Keep guidance for how to act, learned from what worked and what did not.

    A rule begins as a candidate and is promoted as memory_mark_helpful says that it helped. Store what is known about
    the world with memory_store_fact instead. Returns the id, for that feedback.
    """
    receipt = await memory.store_rule(content=content, scope=scope, tags=tags)
    return {"id": receipt.id, "maturity": "candidate"}


OFFERS: Final = (
    Offer(run=memory_store_episode, title="Store an episode"),
    Offer(run=memory_store_fact, title="Store a fact"),
    Offer(run=memory_store_rule, title="Store a rule"),
)
