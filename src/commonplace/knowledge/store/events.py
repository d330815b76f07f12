"""Events of the audit trail, written in the transaction that makes the change."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from commonplace.core.json_values import json_safe
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.statements import KnowledgeStatements


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
