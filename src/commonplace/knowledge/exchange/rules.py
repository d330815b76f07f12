"""Rules of other databases."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.exchange.fields import Fields, by_id, fields_of, record_of
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.knowledge.exchange.origins import with_sources
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.events import NewEvent, change_event, record_events
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns


class RuleTable:
    """Rules."""

    most: ClassVar[int | None] = None

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Lock rules in any state."""
        del now
        return by_id(await sql.lock_exchanged_rules(ids=list(map(UUID, names))))

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert or change rules; none has to wait."""
        del now
        names = [each.name for each in rows]
        records = [_record(place, each) for place, each in enumerate(rows, start=1)]
        await sql.put_rules(rows=await with_sources(sql, records), **vectors.parameters(names))
        await vectors.store_passages(sql, ExchangeKind.RULE, names)
        await record_events(sql, list(map(_event, rows)))
        return {}

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Forget rules that were forgotten elsewhere, and what replaced them meanwhile by somebody who did not know."""
        del now
        replaced = [UUID(each.name) for each in rows if each.was_replaced]
        successors = await sql.successors(memory_type=MemoryType.RULE, ids=replaced) if replaced else []
        for key in (*(row["id"] for row in successors), *(UUID(each.name) for each in rows)):
            await sql.forget_rule(id=key)


def _record(place: int, write: RowPut) -> dict[str, Any]:
    """Return the row of a rule for its statement."""
    record = record_of(write.fields)
    if write.fields["state"] == "replaced" or _stays_expired(write.fields, write.row):
        record["metadata"] = {**record["metadata"], "forgotten": True}
    return {
        **record,
        "id": write.name,
        "place": place,
        "search_text": search_text(write.fields["content"]),
    }


def _stays_expired(fields: Fields, row: Columns | None) -> bool:
    """Return whether a rule that expired here was not confirmed since."""
    if row is None or row["state"] != "expired":
        return False
    here = fields_of(row) or {}
    return (fields["last_confirmed_at"] or "") <= (here.get("last_confirmed_at") or "")


def _event(write: RowPut) -> NewEvent:
    before = fields_of(write.row)
    state = None if before is None else before["state"]
    if state is not None:
        event = EventType.RULE_SYNCED
    else:
        event = EventType.RULE_CREATED if write.row is None else EventType.RULE_RESTORED
    return change_event(event, MemoryType.RULE, write.name, state, write.fields["state"])
