"""Two entities that are one: merged in one transaction, with a record from which it can be undone.

Source: KNW-18.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.entities.fields import MERGED_INTO
from commonplace.knowledge.entities.merge_plan import (
    FactChange,
    FactState,
    MergePlan,
    Place,
    plan_merge,
)
from commonplace.knowledge.entities.names import without_repeats
from commonplace.knowledge.entities.registry import Entity, lock_entities, require_tenant, write_entity
from commonplace.knowledge.events import EventType, record_event
from commonplace.knowledge.inputs import require_id
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row, Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReceipt:
    """What a merge did.

    Attributes:
        source_entity_id: The entity that is a tombstone now.
        target_entity_id: The entity that it lives on in.
        facts_repointed: Active facts of the source that are the target's now.
        facts_superseded: Facts of either that lost to the other's.
        history_repointed: Facts of the source that were not active any more and moved along.
        aliases_added: Names that the target gained: the source's aliases and its canonical name, less those that
            it had in any case of letters.
        event_id: The record in the audit stream.
    """

    source_entity_id: UUID
    target_entity_id: UUID
    facts_repointed: int
    facts_superseded: int
    history_repointed: int
    aliases_added: int
    event_id: UUID


async def entity_merge(
    pool: asyncpg.Pool,
    source_entity_id: UUID | str,
    target_entity_id: UUID | str,
    *,
    tenant_id: str | None = None,
) -> MergeReceipt:
    """Merge one entity into another, and leave a tombstone that says where it went.

    Facts move as :mod:`.merge_plan` says. The target gains the source's names and those keys of its metadata that it
    lacks. Both entities are locked in the order of their ids, then their facts likewise.

    Raises:
        InvalidInputError: Both ids are the same, one names no entity, or one was merged away already. Nothing was
            written.
    """
    require_tenant(tenant_id)
    source_id = require_id(source_entity_id, field="source_entity_id")
    target_id = require_id(target_entity_id, field="target_entity_id")
    if source_id == target_id:
        raise InvalidInputError("target_entity_id", "another entity than the source", str(target_id))
    async with unit_of_work(pool) as sql:
        found = await lock_entities(sql, source_id, target_id)
        source = require_living(found.get(source_id), source_id, field="source_entity_id")
        target = require_living(found.get(target_id), target_id, field="target_entity_id")
        plan = plan_merge(source_id, target_id, await lock_facts(sql, entities=[source_id, target_id]))
        # What is no longer active first: a key has one active fact at any moment.
        await set_validities(sql, plan.changes)
        await point_facts(sql, plan.changes)
        links = await _link(sql, plan)
        after = await _write_both(sql, source, target)
        return await _record(sql, before=(source, target), after=after, plan=plan, links=links)


async def lock_facts(
    sql: Statements, *, entities: Sequence[UUID], facts: Sequence[UUID] = ()
) -> list[FactState]:
    """Lock all facts of some entities and of those that some facts belong to, in ascending order of their ids."""
    rows = await sql.entity_lock_facts(entity_ids=list(entities), fact_ids=list(facts))
    return [fact_state(row) for row in rows]


async def set_validities(sql: Statements, changes: Sequence[FactChange]) -> None:
    """Write the validity of the facts whose validity changes."""
    moved = [change for change in changes if change.before.validity != change.after.validity]
    if moved:
        await sql.entity_set_validity(
            ids=[change.fact_id for change in moved], validities=[change.after.validity for change in moved]
        )


async def point_facts(sql: Statements, changes: Sequence[FactChange]) -> None:
    """Write what facts belong to and supersede."""
    if changes:
        await sql.entity_point_facts(
            ids=[change.fact_id for change in changes],
            entity_ids=[change.after.entity_id for change in changes],
            supersedes_ids=[change.after.supersedes_id for change in changes],
        )


def changes_to_json(changes: Sequence[FactChange]) -> list[dict[str, Any]]:
    """Return changes for an event."""
    return [
        {
            "fact_id": str(change.fact_id),
            "before": change.before.to_json(),
            "after": change.after.to_json(),
        }
        for change in changes
    ]


def fact_state(row: Row) -> FactState:
    """Return a fact as a merge sees it."""
    place = Place(entity_id=row["entity_id"], validity=row["validity"], supersedes_id=row["supersedes_id"])
    return FactState(
        id=row["id"],
        place=place,
        scope=row["scope"],
        predicate=row["predicate"],
        confidence=row["confidence"],
    )


def require_living(entity: Entity | None, entity_id: UUID, *, field: str) -> Entity:
    """Return an entity that can take part in a merge.

    Raises:
        InvalidInputError: It is not there, or it was merged away.
    """
    if entity is None:
        raise InvalidInputError(field, "the id of an entity", str(entity_id))
    if entity.merged_into is not None:
        expected = f"an entity that was not merged away; this one lives on in {entity.merged_into}"
        raise InvalidInputError(field, expected, str(entity_id))
    return entity


async def _link(sql: Statements, plan: MergePlan) -> list[tuple[UUID, UUID]]:
    """Link winners to losers, and return the links that were not there before."""
    if not plan.supersessions:
        return []
    winners, losers = zip(*plan.supersessions, strict=True)
    rows = await sql.entity_link_superseded(winners=list(winners), losers=list(losers))
    return [(row["source_id"], row["target_id"]) for row in rows]


async def _write_both(sql: Statements, source: Entity, target: Entity) -> tuple[Entity, Entity]:
    known = [target.canonical_name, *target.aliases]
    added = without_repeats([source.canonical_name, *source.aliases], known=known)
    buried = await write_entity(
        sql,
        source.id,
        canonical_name=source.canonical_name,
        aliases=list(source.aliases),
        metadata={**source.metadata, MERGED_INTO: str(target.id)},
    )
    richer = await write_entity(
        sql,
        target.id,
        canonical_name=target.canonical_name,
        aliases=[*target.aliases, *added],
        metadata={**source.metadata, **target.metadata},
    )
    return Entity.from_row(buried), Entity.from_row(richer)


async def _record(
    sql: Statements,
    *,
    before: tuple[Entity, Entity],
    after: tuple[Entity, Entity],
    plan: MergePlan,
    links: list[tuple[UUID, UUID]],
) -> MergeReceipt:
    source, target = after
    counts = {
        "facts_repointed": plan.repointed,
        "facts_superseded": len(plan.supersessions),
        "history_repointed": plan.history,
        "aliases_added": len(target.aliases) - len(before[1].aliases),
    }
    payload = {
        "source_entity_id": str(source.id),
        "target_entity_id": str(target.id),
        **counts,
        "before": {"source": before[0].image(), "target": before[1].image()},
        "after": {"source": source.image(), "target": target.image()},
        "facts": changes_to_json(plan.changes),
        "links": [[str(winner), str(loser)] for winner, loser in links],
    }
    event_id = await record_event(sql, EventType.ENTITY_MERGED, payload=payload)
    return MergeReceipt(source_entity_id=source.id, target_entity_id=target.id, event_id=event_id, **counts)
