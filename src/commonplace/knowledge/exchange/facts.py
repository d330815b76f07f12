"""Facts of other databases: those of one key compete as an import's do, and one stays active."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, ClassVar, Final
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.core.sources import RANKS, Source
from commonplace.knowledge.exchange.fields import Fields, by_id, fields_of, record_of
from commonplace.knowledge.exchange.kinds import ExchangeKind
from commonplace.knowledge.exchange.origins import with_sources
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.fact_drafts import FactDraft, all_keys, fact_text
from commonplace.knowledge.model.kinds import MemoryType, Validity
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.events import NewEvent, change_event, record_events
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

_WAITING: Final = {"waits": True}
"""The metadata of a fact that waits because another fact of its key is active. Elsewhere it may be the active one."""

_VALIDITY: Final = {"held": Validity.HELD, "replaced": Validity.SUPERSEDED}


class FactTable:
    """Facts."""

    most: ClassVar[int | None] = None

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Lock facts in any state."""
        del now
        return by_id(await sql.lock_exchanged_facts(ids=list(map(UUID, names))))

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert or change facts, and let them compete; those whose entity has not arrived wait."""
        del now
        entities = await _survivors(sql, [each.fields["entity_id"] for each in rows])
        waiting = {
            each.name: _waiting_for_entity(each.fields)
            for each in rows
            if each.fields["entity_id"] is not None and each.fields["entity_id"] not in entities
        }
        ready = [each for each in rows if each.name not in waiting]
        if not ready:
            return waiting
        names = [each.name for each in ready]
        ids = list(map(UUID, names))
        await sql.serialise_fact_keys(keys=all_keys(_draft(each.fields) for each in ready))
        records = [_record(place, each, entities) for place, each in enumerate(ready, start=1)]
        await sql.put_facts(rows=await with_sources(sql, records), **vectors.parameters(names))
        await vectors.store_passages(sql, ExchangeKind.FACT, names)
        await sql.point_successors(ids=ids)
        await settle(sql, ids)
        await record_events(sql, list(map(_event, ready)))
        return waiting

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Forget facts that were forgotten elsewhere.

        A fact that replaced one of them meanwhile, on a device that did not know, waits for a person everywhere:
        nothing that was forgotten comes back by itself.
        """
        del now
        replaced = [UUID(each.name) for each in rows if each.was_replaced]
        if replaced:
            successors = await sql.successors(memory_type=MemoryType.FACT, ids=replaced)
            await sql.hold_successors(ids=[row["id"] for row in successors])
        ids = [UUID(each.name) for each in rows]
        for key in ids:
            await sql.retract_fact(id=key)
        await settle(sql, ids)


async def settle_all(sql: KnowledgeStatements) -> None:
    """Let the facts that wait compete again: what they waited for may have been forgotten here."""
    await settle(sql, [row["id"] for row in await sql.waiting_facts()])


async def settle(sql: KnowledgeStatements, ids: Sequence[UUID]) -> None:
    """Let the most trusted fact of each key be active, of equal ones that of the later evidence; the others wait.

    Args:
        sql: The transaction.
        ids: Facts, one or more of each key.
    """
    rivals = sorted(await sql.rivals_of_facts(ids=list(ids)), key=_key)
    groups = [list(group) for _, group in groupby(rivals, key=_key)]
    best = [max(group, key=_rank) for group in groups]
    active = [each["id"] for each in best if each["validity"] != Validity.ACTIVE]
    winners = {each["id"] for each in best}
    held = [
        each["id"] for each in rivals if each["id"] not in winners and each["validity"] == Validity.ACTIVE
    ]
    if held:
        await sql.hold_rivals(ids=held)
    if active:
        await sql.activate_facts(ids=active)


def _key(row: Columns) -> tuple[str, str, str]:
    return (row["scope"], row["predicate"], row["about"])


def _rank(row: Columns) -> tuple[object, ...]:
    return (RANKS[Source(row["trust"])], row["began_at"], row["created_at"], row["id"])


async def _survivors(sql: KnowledgeStatements, ids: Iterable[str | None]) -> Mapping[str, str]:
    """Return the entity that each id stands for here, if it is known."""
    names = {each for each in ids if each is not None}
    if not names:
        return {}
    rows = await sql.survivors(ids=sorted(map(UUID, names)))
    return {str(row["id"]): str(row["survivor_id"]) for row in rows}


def _waiting_for_entity(fields: Fields) -> ConflictError:
    message = "A fact waits for its entity, which has not arrived yet."
    return ConflictError("entity_id", message, fields["entity_id"])


def _record(place: int, write: RowPut, entities: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a fact for its statement; a fact that may be active waits until it has competed."""
    record = record_of(write.fields)
    validity = _validity(write.fields, write.row)
    if validity is Validity.ACTIVE:
        validity, record["metadata"] = Validity.HELD, {**record["metadata"], **_WAITING}
    return {
        **record,
        "id": write.name,
        "place": place,
        "entity_id": entities.get(record["entity_id"]),
        "search_text": search_text(fact_text(_draft(write.fields))),
        "validity": validity,
    }


def _validity(fields: Fields, row: Columns | None) -> Validity:
    """Return the state of a row; a fact that expired here is active again if it was confirmed since."""
    stays = row is not None and row["validity"] == Validity.EXPIRED and fields["state"] == "current"
    if stays and _is_as_old(fields, row):
        return Validity.EXPIRED
    return _VALIDITY.get(fields["state"], Validity.ACTIVE)


def _is_as_old(fields: Fields, row: Columns | None) -> bool:
    here = fields_of(row) or {}
    return (fields["last_confirmed_at"] or "") <= (here.get("last_confirmed_at") or "")


def _draft(fields: Fields) -> FactDraft:
    return FactDraft(
        subject=fields["subject"],
        predicate=fields["predicate"],
        content=fields["content"],
        scope=fields["scope"],
        entity_id=fields["entity_id"],
    )


def _event(write: RowPut) -> NewEvent:
    """Return the event of a change: by its state, if that changed."""
    before = fields_of(write.row)
    states = (None if before is None else before["state"], write.fields["state"])
    match states:
        case (None, _):
            event = EventType.FACT_CREATED
        case (_, "replaced") if states[0] != "replaced":
            event = EventType.FACT_SUPERSEDED
        case ("replaced", _) if states[1] != "replaced":
            event = EventType.FACT_RESTORED
        case _:
            event = EventType.FACT_SYNCED
    return change_event(event, MemoryType.FACT, write.name, *states)
