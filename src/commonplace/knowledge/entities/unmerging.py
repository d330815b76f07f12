"""Undo of a merge.

The event of the merge holds the state before it. A field that the merge changed gets its old value back, unless the
field changed again since; the receipt names the fields that stay. Facts that were stored after the merge stay with the
target. If two facts would then be active for one key, or if the target was merged further, nothing changes and the
error says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import ConflictError, InvalidInputError
from commonplace.core.quoting import quoted
from commonplace.knowledge.entities.merging import lock_facts, payload_of, point_facts, set_validities
from commonplace.knowledge.entities.registry import Entity, lock_entities, require_tenant, write_entity
from commonplace.knowledge.model.entity_fields import MERGED_INTO
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.rules.merge_plan import FactChange, UnmergePlan, plan_unmerge
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.id_lookup import find_entity_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements

_SHOWN_CONFLICTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergeReceipt:
    """The result of an unmerge.

    Attributes:
        source_entity_id: The entity that is restored.
        target_entity_id: The entity that it was merged into.
        facts_restored: Facts of either entity that were restored.
        aliases_removed: Names that the target lost.
        kept: Fields that stay because they changed after the merge, in words.
        event_id: The event in the audit trail.
    """

    source_entity_id: UUID
    target_entity_id: UUID
    facts_restored: int
    aliases_removed: int
    kept: tuple[str, ...]
    event_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """The record of a merge in its event."""

    event_id: UUID
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    facts: tuple[FactChange, ...]
    links: tuple[tuple[UUID, UUID], ...]


class EntityUnmerging:
    """The undo of merges."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def unmerge(self, source_entity_id: UUID | str, *, tenant_id: str | None = None) -> UnmergeReceipt:
        """Undo the merge of an entity into another."""
        require_tenant(self._session.tenant_id, tenant_id)
        async with self._session.writing() as sql:
            source_id = await find_entity_id(sql, source_entity_id, field="source_entity_id")
            source, target = await _lock_pair(sql, source_id)
            record = await _read_record(sql, source, target)
            involved = [change.fact_id for change in record.facts]
            facts = await lock_facts(sql, entities=[source.id, target.id], facts=involved)
            plan = plan_unmerge(record.facts, facts)
            if plan.conflicts:
                reasons = "; ".join(plan.conflicts[:_SHOWN_CONFLICTS])
                raise _refused(
                    f"The merge cannot be undone, because later facts conflict: {reasons}", source_id
                )
            # Facts move back before they become active: a key has one active fact at any moment.
            await point_facts(sql, plan.changes)
            await set_validities(sql, plan.changes)
            await _unlink(sql, record)
            return await _restore_both(sql, source, target, record, plan)


async def _lock_pair(sql: KnowledgeStatements, source_id: UUID) -> tuple[Entity, Entity]:
    row = await sql.entity_by_id(id=source_id)
    if row is None:
        raise InvalidInputError("source_entity_id", "the id of an entity", str(source_id))
    target_id = Entity.from_row(row).merged_into
    if target_id is None:
        raise _refused(f"The entity {source_id} was not merged, so there is nothing to undo.", source_id)
    found = await lock_entities(sql, source_id, target_id)
    source, target = found[source_id], found.get(target_id)
    if target is None:
        message = f"The merge cannot be undone, because its target {target_id} no longer exists."
        raise _refused(message, source_id)
    if source.merged_into != target_id:
        raise _refused("Another request has just undone the merge of this entity.", source_id)
    if target.merged_into is not None:
        message = (
            f"The target {target.id} was itself merged into {target.merged_into}. Undo that merge first."
        )
        raise _refused(message, source_id)
    return source, target


async def _read_record(sql: KnowledgeStatements, source: Entity, target: Entity) -> _Record:
    row = await sql.entity_last_merge(source_entity_id=str(source.id), target_entity_id=str(target.id))
    if row is None or "facts" not in row["payload"]:
        message = "The merge cannot be undone, because no record of the state before it exists."
        raise _refused(message, source.id)
    return _record(row["id"], row["payload"])


def _record(event_id: UUID, payload: Mapping[str, Any]) -> _Record:
    return _Record(
        event_id=event_id,
        before=payload["before"],
        after=payload["after"],
        facts=tuple(map(FactChange.from_json, payload["facts"])),
        links=tuple((UUID(winner), UUID(loser)) for winner, loser in payload["links"]),
    )


async def _unlink(sql: KnowledgeStatements, record: _Record) -> None:
    if record.links:
        winners, losers = zip(*record.links, strict=True)
        await sql.entity_unlink_superseded(winners=list(winners), losers=list(losers))


async def _restore_both(
    sql: KnowledgeStatements, source: Entity, target: Entity, record: _Record, plan: UnmergePlan
) -> UnmergeReceipt:
    without_target = {key: value for key, value in source.metadata.items() if key != MERGED_INTO}
    risen = await write_entity(
        sql, replace(source, metadata=without_target), updated_at=_updated_at(source, record, "source")
    )
    metadata, changed_keys = _metadata_without(target, record)
    poorer = await write_entity(
        sql,
        replace(target, aliases=_aliases_without(target, record), metadata=metadata),
        updated_at=_updated_at(target, record, "target"),
    )
    kept = (*plan.kept, *(f"metadata {quoted(key)} of the target" for key in changed_keys))
    counts = {
        "facts_restored": len(plan.changes),
        "aliases_removed": len(target.aliases) - len(poorer.aliases),
    }
    payload = payload_of((source, target), (risen, poorer), plan.changes, record.links, counts)
    payload |= {"merge_event_id": record.event_id, "kept": kept}
    event_id = await record_event(sql, EventType.ENTITY_UNMERGED, payload=payload)
    return UnmergeReceipt(
        source_entity_id=source.id, target_entity_id=target.id, kept=kept, event_id=event_id, **counts
    )


def _aliases_without(target: Entity, record: _Record) -> tuple[str, ...]:
    """Return the target's aliases without the aliases that the merge added."""
    added = set(record.after["target"]["aliases"]) - set(record.before["target"]["aliases"])
    return tuple(alias for alias in target.aliases if alias not in added)


def _metadata_without(target: Entity, record: _Record) -> tuple[dict[str, Any], list[str]]:
    """Return the target's metadata without the keys added by the merge, and the added keys that changed and stay."""
    before, after = record.before["target"]["metadata"], record.after["target"]["metadata"]
    added = {key: value for key, value in after.items() if key not in before}
    changed = [
        key for key, value in added.items() if key in target.metadata and target.metadata[key] != value
    ]
    removed = added.keys() - set(changed)
    return {key: value for key, value in target.metadata.items() if key not in removed}, changed


def _updated_at(entity: Entity, record: _Record, role: str) -> datetime | None:
    """Return the time of the last change before the merge; ``None`` (now) if the entity changed since."""
    if entity.image()["updated_at"] != record.after[role]["updated_at"]:
        return None
    return parse_timestamp(record.before[role]["updated_at"])


def _refused(message: str, source_id: UUID) -> ConflictError:
    return ConflictError("source_entity_id", message, str(source_id))
