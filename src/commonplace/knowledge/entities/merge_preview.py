"""What a merge of two entities would do, for a person to look at before it is done."""

from dataclasses import dataclass
from uuid import UUID

import asyncpg

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.entities.merge_plan import plan_merge
from commonplace.knowledge.entities.merging import fact_state, require_living
from commonplace.knowledge.entities.names import without_repeats
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.inputs import require_id
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row, Statements


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedFact:
    """A fact with its confidence; ``of_target`` says whose it is now."""

    id: UUID
    predicate: str
    content: str
    scope: str
    confidence: float
    of_target: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePreview:
    """What a merge would do.

    Attributes:
        source: The entity that would become a tombstone.
        target: The entity that it would live on in.
        moving: How many active facts of the source would be the target's.
        history: How many facts of the source that are not active would move along.
        conflicts: Pairs of a fact that would stay and the one that it would supersede.
        names: What the target would be called as well.
    """

    source: Entity
    target: Entity
    moving: int
    history: int
    conflicts: tuple[tuple[PreviewedFact, PreviewedFact], ...]
    names: tuple[str, ...]


async def preview_merge(
    pool: asyncpg.Pool, source_entity_id: UUID | str, target_entity_id: UUID | str
) -> MergePreview:
    """Tell what merging one entity into another would do now; nothing is changed.

    Raises:
        InvalidInputError: Both ids are the same, one names no entity, or one was merged away already.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.

    Source: KNW-18.
    """
    source_id = require_id(source_entity_id, field="source_entity_id")
    target_id = require_id(target_entity_id, field="target_entity_id")
    if source_id == target_id:
        raise InvalidInputError("target_entity_id", "another entity than the source", str(target_id))
    async with unit_of_work(pool, readonly=True) as sql:
        source = await _living(sql, source_id, field="source_entity_id")
        target = await _living(sql, target_id, field="target_entity_id")
        rows = await sql.facts_of_entities(entity_ids=[source_id, target_id])
    plan = plan_merge(source_id, target_id, [fact_state(row) for row in rows])
    shown = {row["id"]: _previewed(row, target_id) for row in rows}
    known = [target.canonical_name, *target.aliases]
    return MergePreview(
        source=source,
        target=target,
        moving=plan.repointed,
        history=plan.history,
        conflicts=tuple((shown[winner], shown[loser]) for winner, loser in plan.supersessions),
        names=tuple(without_repeats([source.canonical_name, *source.aliases], known=known)),
    )


async def _living(sql: Statements, entity_id: UUID, *, field: str) -> Entity:
    row = await sql.entity_by_id(id=entity_id)
    return require_living(None if row is None else Entity.from_row(row), entity_id, field=field)


def _previewed(row: Row, target_id: UUID) -> PreviewedFact:
    return PreviewedFact(
        id=row["id"],
        predicate=row["predicate"],
        content=row["content"],
        scope=row["scope"],
        confidence=row["confidence"],
        of_target=row["entity_id"] == target_id,
    )
