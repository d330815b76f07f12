"""Tools that store: an episode, a fact, a rule."""

from datetime import datetime
from typing import Final, NotRequired, Required, cast
from uuid import UUID

from typing_extensions import TypedDict

from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    Content,
    Key,
    KnowledgeMemory,
    Maturity,
    MemoryType,
    NearFact,
    Period,
    Permanence,
    Rule,
    Scope,
    json_fields,
)
from commonplace.mcp.knowledge.parameters import (
    ImportanceOf,
    Lifetime,
    Metadata,
    Origin,
    Replaced,
    ScopeOf,
    TagsOf,
)
from commonplace.mcp.protocol.tool import OUTAGE_HINT, ToolSpec
from commonplace.services.catalog.rule_remarks import rule_note


class StoredEpisode(TypedDict):
    """The outcome of storing an episode."""

    stored: bool
    id: UUID | None
    reason: NotRequired[str]
    hint: NotRequired[str]


class StoredFact(TypedDict, total=False):
    """The receipt of a fact, a :class:`~commonplace.knowledge.FactReceipt`, without fields that have no value."""

    id: Required[UUID]
    superseded_id: UUID
    superseded_text: str
    superseded_until: datetime
    entity_id: UUID
    period: Period
    review_id: int
    current_id: UUID
    current_text: str
    contradicts_id: UUID
    flags: list[str]
    near: NearFact
    reworded: bool
    opposed_ids: list[UUID]


class StoredRule(TypedDict):
    """The outcome of storing a rule; the last six only if it replaces, repeats or contradicts an older rule."""

    id: UUID
    maturity: Maturity
    flags: list[str]
    repeated: NotRequired[bool]
    same_ids: NotRequired[list[UUID]]
    opposed_ids: NotRequired[list[UUID]]
    superseded_id: NotRequired[UUID]
    superseded_text: NotRequired[str]
    note: NotRequired[str]


async def memory_store_episode(
    memory: KnowledgeMemory,
    *,
    content: Content,
    butler: Scope,
    session_id: str | None = None,
    importance: ImportanceOf = DEFAULT_IMPORTANCE,
    source: Origin = None,
    metadata: Metadata = None,
) -> StoredEpisode:
    """Store an event of a session: an observation, an outcome, a statement of the user.

    Episodes live for seven days; consolidation turns their lasting knowledge into facts and rules. To store lasting
    knowledge yourself, use memory_store_fact; to store guidance, use memory_store_rule. Do not store secrets, or text
    that memory itself gave you. Returns stored and the id; stored is false if memory is out of reach.

    Parameters:
        content: The event, in whole sentences that make sense without this conversation.
        butler: Name of the butler (agent) whose session it was.
        session_id: The session's id, a UUID.
    """
    receipt = await memory.store_episode(
        content=content,
        butler=butler,
        session_id=session_id,
        importance=importance,
        source=source,
        metadata=metadata,
    )
    if receipt.stored:
        return {"stored": True, "id": receipt.id}
    return {"stored": False, "id": None, "reason": receipt.reason, "hint": OUTAGE_HINT}


async def memory_store_fact(
    memory: KnowledgeMemory,
    *,
    subject: Key,
    predicate: Key,
    content: Content,
    importance: ImportanceOf = DEFAULT_IMPORTANCE,
    permanence: Lifetime = Permanence.STANDARD,
    scope: ScopeOf = GLOBAL_SCOPE,
    tags: TagsOf = None,
    entity_id: str | None = None,
    valid_from: str | None = None,
    valid_to: str | None = None,
    source: Origin = None,
    replaces: Replaced = None,
    metadata: Metadata = None,
) -> StoredFact:
    """Store one lasting piece of knowledge about a subject.

    Each subject, predicate and scope has one current fact: a new fact with the same three replaces the old one, which
    is kept as history. So to correct a fact, store it again under the same subject and predicate, or name its id with
    replaces. Search first, so that you use existing names. Do not store secrets. Returns the id and, if any, the
    superseded_id and superseded_text of the fact that was replaced, the entity_id of the subject and the period that
    the sentence names. If there is a superseded_until, the replaced fact holds until then. If there is a review_id, the
    replaced fact matters: tell the user, who may keep both with `commonplace review`. If there is a current_text, the
    new fact's period has ended: it is kept as history, and the other fact stays current. If there is a contradicts_id,
    the fact contradicts a more trusted one and waits; if there are flags, it looks like an instruction and stays out of
    blocks. In both cases tell the user, who decides with `commonplace review`. If there is a near fact, its subject and
    predicate are another spelling of yours, and both facts are current: if they mean the same, store your fact again
    with replaces and the id of the near fact. If reworded is true, the replaced fact says the same in other words. If
    there are opposed_ids, the fact may contradict these facts of other predicates, and all are current: tell the user.

    Parameters:
        subject: The person or thing that the fact is about, such as "Anna" or "staging database".
        predicate: The attribute or relation, as a short stable key, such as "lives_in" or "port".
        content: The fact as one sentence that makes sense on its own. A period such as "since May" is recognized.
        permanence: How long the fact will hold: permanent (never fades), stable (years), standard (months), volatile
            (weeks) or ephemeral (days).
        entity_id: The entity of the subject, as entity_resolve returns it. Without it, the entity with the subject's
            name is used, unless two entities have that name.
        valid_from: The date or time (ISO 8601, or words such as last Friday) when the fact became true, if you know it.
        valid_to: The last day on which the fact is true, or the time when it ends (ISO 8601), if you know it;
            searches hide it afterwards.
    """
    receipt = await memory.store_fact(
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
        source=source,
        replaces=replaces,
        metadata=metadata,
    )
    answer = {name: value for name, value in json_fields(receipt).items() if value not in (None, [], False)}
    return cast("StoredFact", answer)


async def memory_store_rule(
    memory: KnowledgeMemory,
    *,
    content: Content,
    scope: ScopeOf = GLOBAL_SCOPE,
    tags: TagsOf = None,
    source: Origin = None,
    replaces: Replaced = None,
    metadata: Metadata = None,
) -> StoredRule:
    """Store guidance for how to act, learned from success or failure.

    A rule starts as a candidate; calls of memory_mark_helpful promote it. Store knowledge about the world with
    memory_store_fact instead. Returns the id for that feedback; if a rule with the same words is there, its id.
    If there are flags, the rule stays out of blocks until the user confirms it. If there are opposed_ids, the rule may
    contradict these rules: tell the user, who decides with `commonplace review`. To correct a rule, name its id with
    replaces.

    Parameters:
        content: What to do and when, such as "No fish on Fridays (When: booking a table, planning a dinner)". Only
            searches read the occasions at the end: write them in the words of prompts that need the rule.
    """
    receipt = await memory.store_rule(
        content=content, scope=scope, tags=tags, source=source, replaces=replaces, metadata=metadata
    )
    rule = await memory.read(MemoryType.RULE, receipt.id) if receipt.repeated else None
    maturity = rule.maturity if isinstance(rule, Rule) else Maturity.CANDIDATE
    stored: StoredRule = {"id": receipt.id, "maturity": maturity, "flags": list(receipt.flags)}
    if receipt.superseded_id is not None and receipt.superseded_text is not None:
        stored["superseded_id"] = receipt.superseded_id
        stored["superseded_text"] = receipt.superseded_text
    if note := rule_note(receipt):
        stored["repeated"] = receipt.repeated
        stored["same_ids"] = list(receipt.same_ids)
        stored["opposed_ids"] = list(receipt.opposed_ids)
        stored["note"] = note
    return stored


TOOLS: Final = (
    ToolSpec(run=memory_store_episode, title="Store an episode", agent=("content", "butler")),
    ToolSpec(
        run=memory_store_fact,
        title="Store a fact",
        agent=("subject", "predicate", "content", "permanence", "scope"),
    ),
    ToolSpec(run=memory_store_rule, title="Store a rule", agent=("content", "scope")),
)
