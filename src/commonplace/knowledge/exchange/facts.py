"""Facts of other databases: those of one key compete as an import's do, and one stays active."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.core.sources import RANKS, Source
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.exchange.fields import Fields, fields_of
from commonplace.knowledge.exchange.origins import sourced_parameters
from commonplace.knowledge.exchange.texts import Text
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.fact_drafts import FactDraft, all_keys, fact_text
from commonplace.knowledge.model.kinds import MemoryType, Validity
from commonplace.knowledge.model.search_text import search_text
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

_WAITING: Final = {"waits": True}
"""The metadata of a fact that waits because another fact of its key is active. Elsewhere it may be the active one."""

_VALIDITY: Final = {"held": Validity.HELD, "replaced": Validity.SUPERSEDED}


async def put_fact(
    sql: KnowledgeStatements, key: UUID, fields: Fields, row: Columns | None, text: Text
) -> None:
    """Insert or change a fact, and let it compete with the other facts of its key.

    Args:
        sql: The transaction.
        key: The id of the fact.
        fields: What it should show.
        row: The locked row; ``None`` if there is none.
        text: The vector of its text, if that is new.

    Raises:
        ConflictError: Its entity has not arrived yet.
    """
    await sql.serialise_fact_keys(keys=all_keys([_draft(fields)]))
    values = await sourced_parameters(sql, fields)
    values["entity_id"] = await _entity(sql, values["entity_id"])
    before = fields_of(row)
    validity = _validity(fields, row)
    if validity is Validity.ACTIVE:
        validity, values["metadata"] = Validity.HELD, {**values["metadata"], **_WAITING}
    await sql.put_fact(
        id=key,
        validity=validity,
        search_text=search_text(fact_text(_draft(fields))),
        **values,
        **text.columns,
    )
    await sql.point_successors(id=key)
    await settle(sql, key)
    await _record(sql, key, before, fields)


async def drop_fact(sql: KnowledgeStatements, key: UUID, others: Sequence[Fields]) -> None:
    """Forget a fact that was forgotten elsewhere.

    A fact that replaced it meanwhile, on a device that did not know, waits for a person everywhere: nothing that was
    forgotten comes back by itself.
    """
    if any(each.get("state") == "replaced" for each in others):
        ids = [row["id"] for row in await sql.successors(memory_type=MemoryType.FACT, id=key)]
        await sql.hold_successors(ids=ids)
    await sql.retract_fact(id=key)
    await settle(sql, key)


async def settle_all(sql: KnowledgeStatements) -> None:
    """Let the facts that wait compete again: what they waited for may have been forgotten here."""
    for row in await sql.waiting_facts():
        await settle(sql, row["id"])


async def settle(sql: KnowledgeStatements, key: UUID) -> None:
    """Let the most trusted fact of a key be active, of equal ones that of the later evidence; the others wait."""
    rivals: Sequence[Columns] = await sql.rivals_of_fact(id=key)
    if not rivals:
        return
    best = max(rivals, key=_rank)
    ids = [each["id"] for each in rivals if each["id"] != best["id"] and each["validity"] == Validity.ACTIVE]
    if ids:
        await sql.hold_rivals(ids=ids)
    if best["validity"] != Validity.ACTIVE:
        await sql.activate_fact(id=best["id"])


def _rank(row: Columns) -> tuple[object, ...]:
    return (RANKS[Source(row["trust"])], row["began_at"], row["created_at"], row["id"])


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


async def _entity(sql: KnowledgeStatements, key: UUID | None) -> UUID | None:
    """Return the entity that an id stands for here."""
    if key is None:
        return None
    row = await sql.entity_by_id(id=key)
    if row is None:
        raise ConflictError("entity_id", "A fact waits for its entity, which has not arrived yet.", str(key))
    return Entity.from_row(row).survivor_id


async def _record(sql: KnowledgeStatements, key: UUID, before: Fields | None, after: Fields) -> None:
    """Write the event of a change: by its state, if that changed."""
    states = (None if before is None else before["state"], after["state"])
    match states:
        case (None, _):
            event = EventType.FACT_CREATED
        case (_, "replaced") if states[0] != "replaced":
            event = EventType.FACT_SUPERSEDED
        case ("replaced", _) if states[1] != "replaced":
            event = EventType.FACT_RESTORED
        case _:
            event = EventType.FACT_SYNCED
    await record_event(sql, event, payload=payload_of(MemoryType.FACT, key, *states))


def payload_of(kind: str, key: UUID, before: object, after: object) -> dict[str, object]:
    """Return the payload of the event of a memory that came from another database."""
    return {
        "memory_type": kind,
        "memory_id": key,
        "before": None if before is None else {"state": before},
        "after": {"state": after},
    }
