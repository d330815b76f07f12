"""Merging an entity into another in one transaction, with a preview, and a record for undoing it (KNW-18)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.entities.registry import (
    Entity,
    lock_entities,
    require_living,
    require_tenant,
    write_entity,
)
from commonplace.knowledge.model.entity_fields import MERGED_INTO
from commonplace.knowledge.model.entity_names import without_repeats
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.rules.merge_plan import FactChange, FactState, MergePlan, plan_merge
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.id_lookup import find_entity_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """Two facts with one key, of which the merge kept one.

    Attributes:
        predicate: The predicate of the fact that stays active.
        kept_id: The fact that stays active.
        kept_text: Its text.
        superseded_id: The fact that it superseded.
        superseded_text: Its text.
    """

    predicate: str
    kept_id: UUID
    kept_text: str
    superseded_id: UUID
    superseded_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReceipt:
    """The result of a merge.

    Attributes:
        source_entity_id: The merged entity.
        target_entity_id: The entity that stays.
        facts_repointed: Active facts that moved from the source to the target.
        facts_superseded: Facts of either entity that the other's fact superseded.
        history_repointed: Facts of the source that were not active and moved too.
        aliases_added: Names of the source that the target did not have, ignoring case.
        event_id: The event in the audit trail.
        conflicts: The facts that were superseded and the facts that superseded them, with their texts.
    """

    source_entity_id: UUID
    target_entity_id: UUID
    facts_repointed: int
    facts_superseded: int
    history_repointed: int
    aliases_added: int
    event_id: UUID
    conflicts: tuple[MergeConflict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedFact:
    """A fact of a preview; ``of_target`` is true for a fact of the target, false for a fact of the source."""

    id: UUID
    predicate: str
    content: str
    scope: str
    confidence: float
    of_target: bool

    @classmethod
    def from_row(cls, row: Columns, target_id: UUID) -> "PreviewedFact":
        """Read a row of ``facts``."""
        return read_row(cls, row, of_target=row["entity_id"] == target_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePreview:
    """The effects that a merge would have.

    Attributes:
        source: The entity to merge away.
        target: The entity that stays.
        moving: The number of active facts that would move to the target.
        history: The number of inactive facts that would move to the target.
        conflicts: Pairs of a fact that would stay and the fact that it would supersede.
        names: Names that the target would get.
    """

    source: Entity
    target: Entity
    moving: int
    history: int
    conflicts: tuple[tuple[PreviewedFact, PreviewedFact], ...]
    names: tuple[str, ...]


class EntityMerging:
    """Merges of entities."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def preview(self, source_entity_id: UUID | str, target_entity_id: UUID | str) -> MergePreview:
        """Return the effects of merging one entity into another, without changing anything."""
        async with self._session.reading() as sql:
            source_id, target_id = await _two_ids(sql, source_entity_id, target_entity_id)
            source = await _living(sql, source_id, field="source_entity_id")
            target = await _living(sql, target_id, field="target_entity_id")
            rows = await sql.facts_of_entities(entity_ids=[source_id, target_id])
        plan = plan_merge(source_id, target_id, FactState.from_rows(rows))
        shown = {row["id"]: PreviewedFact.from_row(row, target_id) for row in rows}
        return MergePreview(
            source=source,
            target=target,
            moving=plan.repointed,
            history=plan.history,
            conflicts=tuple((shown[winner], shown[loser]) for winner, loser in plan.supersessions),
            names=tuple(_added_names(source, target)),
        )

    async def merge(
        self,
        source_entity_id: UUID | str,
        target_entity_id: UUID | str,
        *,
        tenant_id: str | None = None,
    ) -> MergeReceipt:
        """Merge one entity into another; the source stays as a tombstone that names the target."""
        require_tenant(self._session.tenant_id, tenant_id)
        async with self._session.writing() as sql:
            source_id, target_id = await _two_ids(sql, source_entity_id, target_entity_id)
            found = await lock_entities(sql, source_id, target_id)
            source = require_living(found.get(source_id), source_id, field="source_entity_id")
            target = require_living(found.get(target_id), target_id, field="target_entity_id")
            return await merge_locked(sql, source, target)


async def merge_locked(sql: KnowledgeStatements, source: Entity, target: Entity) -> MergeReceipt:
    """Merge a living entity into another one; the transaction has locked both."""
    plan = plan_merge(source.id, target.id, await lock_facts(sql, entities=[source.id, target.id]))
    # Validities first: a key has one active fact at any moment.
    await set_validities(sql, plan.changes)
    await point_facts(sql, plan.changes)
    links = await _link(sql, plan)
    after = await _write_both(sql, source, target)
    receipt = await _record(sql, before=(source, target), after=after, plan=plan, links=links)
    return replace(receipt, conflicts=await _conflicts(sql, plan))


async def _two_ids(
    sql: KnowledgeStatements, source_entity_id: UUID | str, target_entity_id: UUID | str
) -> tuple[UUID, UUID]:
    source_id = await find_entity_id(sql, source_entity_id, field="source_entity_id")
    target_id = await find_entity_id(sql, target_entity_id, field="target_entity_id")
    if source_id == target_id:
        raise InvalidInputError("target_entity_id", "another entity than the source", str(target_id))
    return source_id, target_id


async def _living(sql: KnowledgeStatements, entity_id: UUID, *, field: str) -> Entity:
    row = await sql.entity_by_id(id=entity_id)
    return require_living(None if row is None else Entity.from_row(row), entity_id, field=field)


def _added_names(source: Entity, target: Entity) -> list[str]:
    """Return the names of a source that its target lacks."""
    known = [target.canonical_name, *target.aliases]
    return without_repeats([source.canonical_name, *source.aliases], known=known)


async def lock_facts(
    sql: KnowledgeStatements, *, entities: Sequence[UUID], facts: Sequence[UUID] = ()
) -> list[FactState]:
    """Lock all facts of some entities, and of the entities of some facts, in ascending order of their ids."""
    return FactState.from_rows(await sql.entity_lock_facts(entity_ids=list(entities), fact_ids=list(facts)))


async def set_validities(sql: KnowledgeStatements, changes: Sequence[FactChange]) -> None:
    """Write each changed validity."""
    moved = [change for change in changes if change.before.validity != change.after.validity]
    if moved:
        await sql.entity_set_validity(
            ids=[change.fact_id for change in moved], validities=[change.after.validity for change in moved]
        )


async def point_facts(sql: KnowledgeStatements, changes: Sequence[FactChange]) -> None:
    """Write the entity and the superseded fact of each changed fact."""
    if changes:
        await sql.entity_point_facts(
            ids=[change.fact_id for change in changes],
            entity_ids=[change.after.entity_id for change in changes],
            supersedes_ids=[change.after.supersedes_id for change in changes],
        )


async def _link(sql: KnowledgeStatements, plan: MergePlan) -> list[tuple[UUID, UUID]]:
    """Link winning facts to superseded facts, and return the new links."""
    if not plan.supersessions:
        return []
    winners, losers = zip(*plan.supersessions, strict=True)
    rows = await sql.entity_link_superseded(winners=list(winners), losers=list(losers))
    return [(row["source_id"], row["target_id"]) for row in rows]


async def _conflicts(sql: KnowledgeStatements, plan: MergePlan) -> tuple[MergeConflict, ...]:
    ids = {each for pair in plan.supersessions for each in pair}
    texts = {row["id"]: row for row in await sql.memory_texts(ids=list(ids))} if ids else {}
    return tuple(
        MergeConflict(
            predicate=texts[winner]["predicate"] or "",
            kept_id=winner,
            kept_text=texts[winner]["content"],
            superseded_id=loser,
            superseded_text=texts[loser]["content"],
        )
        for winner, loser in plan.supersessions
    )


async def _write_both(sql: KnowledgeStatements, source: Entity, target: Entity) -> tuple[Entity, Entity]:
    buried = replace(source, metadata={**source.metadata, MERGED_INTO: str(target.id)})
    richer = replace(
        target,
        aliases=(*target.aliases, *_added_names(source, target)),
        metadata={**source.metadata, **target.metadata},
    )
    return await write_entity(sql, buried), await write_entity(sql, richer)


def payload_of(
    before: tuple[Entity, Entity],
    after: tuple[Entity, Entity],
    changes: Sequence[FactChange],
    links: Sequence[tuple[UUID, UUID]],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return the payload of the event of a merge or an unmerge, for a source and its target."""
    source, target = before
    return {
        "source_entity_id": source.id,
        "target_entity_id": target.id,
        **counts,
        "before": {"source": source.image(), "target": target.image()},
        "after": {"source": after[0].image(), "target": after[1].image()},
        "facts": changes,
        "links": links,
    }


async def _record(
    sql: KnowledgeStatements,
    *,
    before: tuple[Entity, Entity],
    after: tuple[Entity, Entity],
    plan: MergePlan,
    links: list[tuple[UUID, UUID]],
) -> MergeReceipt:
    source, target = before
    counts = {
        "facts_repointed": plan.repointed,
        "facts_superseded": len(plan.supersessions),
        "history_repointed": plan.history,
        "aliases_added": len(after[1].aliases) - len(target.aliases),
    }
    payload = payload_of(before, after, plan.changes, links, counts)
    event_id = await record_event(sql, EventType.ENTITY_MERGED, payload=payload)
    return MergeReceipt(
        source_entity_id=source.id, target_entity_id=target.id, event_id=event_id, conflicts=(), **counts
    )
