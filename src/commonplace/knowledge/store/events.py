"""Events of the audit trail, written in the transaction that makes the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to record: its type, and the state before and after."""

    event_type: EventType
    payload: Mapping[str, Any]


def change_event(
    event_type: EventType, kind: MemoryType, name: str, before: object, after: object
) -> NewEvent:
    """Return the event of a memory whose state was changed by another database.

    Args:
        event_type: Its type.
        kind: The kind of the memory.
        name: Its id.
        before: Its state before; ``None`` if it was not there.
        after: Its state now.
    """
    payload = {
        "memory_type": kind,
        "memory_id": name,
        "before": None if before is None else {"state": before},
        "after": {"state": after},
    }
    return NewEvent(event_type=event_type, payload=payload)


async def record_events(sql: KnowledgeStatements, events: Sequence[NewEvent]) -> None:
    """Add events in their order; see :func:`record_event`."""
    rows = [{"event_type": each.event_type, "payload": json_safe(each.payload)} for each in events]
    await sql.record_events(rows=rows)


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
