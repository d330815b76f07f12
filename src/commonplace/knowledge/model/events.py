"""The audit trail: one event for each change of a memory, written in the transaction that makes the change.

Events can never be changed or removed, so they hold the state, numbers and ids before and after the change, but not the
text of an episode, fact or rule. Statements that change many rows write their own events. The database adds the
``run_id`` to all events of a consolidation run.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

from commonplace.core.json_values import json_safe
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.statements import KnowledgeStatements


class EventType(StrEnum):
    """The types of events. Source: KNW-33, KNW-18."""

    EPISODE_CREATED = "episode_created"
    EPISODE_FORGOTTEN = "episode_forgotten"
    EPISODE_EXPIRED = "episode_expired"
    EPISODE_EVICTED = "episode_evicted"
    EPISODE_CONSOLIDATED = "episode_consolidated"
    EPISODE_DEAD_LETTER = "episode_dead_letter"
    EPISODE_REQUEUED = "episode_requeued"
    FACT_CREATED = "fact_created"
    FACT_SUPERSEDED = "fact_superseded"
    FACT_LINKED = "fact_linked"
    FACT_CONFIRMED = "fact_confirmed"
    FACT_UNCONFIRMED = "fact_unconfirmed"
    FACT_PINNED = "fact_pinned"
    FACT_UNPINNED = "fact_unpinned"
    FACT_TAGGED = "fact_tagged"
    FACT_UNTAGGED = "fact_untagged"
    FACT_RETRACTED = "fact_retracted"
    FACT_RESTORED = "fact_restored"
    FACT_FADING = "fact_fading"
    FACT_RECOVERED = "fact_recovered"
    FACT_EXPIRED = "fact_expired"
    RULE_CREATED = "rule_created"
    RULE_CONFIRMED = "rule_confirmed"
    RULE_UNCONFIRMED = "rule_unconfirmed"
    RULE_PINNED = "rule_pinned"
    RULE_UNPINNED = "rule_unpinned"
    RULE_TAGGED = "rule_tagged"
    RULE_UNTAGGED = "rule_untagged"
    RULE_FORGOTTEN = "rule_forgotten"
    RULE_RESTORED = "rule_restored"
    RULE_FADING = "rule_fading"
    RULE_RECOVERED = "rule_recovered"
    RULE_EXPIRED = "rule_expired"
    RULE_HELPFUL = "rule_helpful"
    RULE_HARMFUL = "rule_harmful"
    RULE_INVERTED = "rule_inverted"
    LINK_CREATED = "link_created"
    LINK_REMOVED = "link_removed"
    CONSOLIDATION_APPLIED = "consolidation_applied"
    CONSOLIDATION_FAILED = "consolidation_failed"
    CONSOLIDATION_REFUSED = "consolidation_refused"
    CONSOLIDATION_UNDONE = "consolidation_undone"
    REVIEW_DECIDED = "review_decided"
    REVIEW_REOPENED = "review_reopened"
    SCOPE_MOVED = "scope_moved"
    SCOPE_MOVE_UNDONE = "scope_move_undone"
    ENTITY_CREATED = "entity_created"
    ENTITY_UPDATED = "entity_updated"
    ENTITY_MERGED = "entity_merge"
    ENTITY_UNMERGED = "entity_unmerge"
    MEMORY_ERASED = "memory_erased"


async def record_event(
    sql: KnowledgeStatements, event_type: EventType, *, payload: Mapping[str, Any]
) -> UUID:
    """Add an event to the audit trail, with the tenant and actor of the transaction, and return its id.

    The payload is the state before and after, stored in the form of :func:`~commonplace.core.json_values.json_safe`.
    """
    return await sql.record_event(event_type=event_type, payload=json_safe(payload))


async def record_decision(
    sql: KnowledgeStatements,
    kind: MemoryType,
    memory_id: UUID,
    other: UUID,
    decision: str | None,
    **made: object,
) -> None:
    """Add the event of a decision whether a memory and another memory or entity are the same.

    ``decision`` is ``same`` or ``distinct``; ``None`` undoes a decision. ``made`` has the data that an undo needs.
    """
    event = EventType.REVIEW_REOPENED if decision is None else EventType.REVIEW_DECIDED
    after = {"other": other, "decision": decision, **made}
    payload = {"memory_type": kind, "memory_id": memory_id, "before": None, "after": after}
    await record_event(sql, event, payload=payload)
