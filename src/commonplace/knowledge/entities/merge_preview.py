"""Preview of a merge, which a person can check first."""

from dataclasses import dataclass
from uuid import UUID

from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.knowledge.entities.merge_plan import FactState, plan_merge
from commonplace.knowledge.entities.merging import added_names, require_two_ids
from commonplace.knowledge.entities.registry import Entity, require_living
from commonplace.storage.database import Row, Statements
from commonplace.storage.nouns import read_row


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
    def from_row(cls, row: Row, target_id: UUID) -> "PreviewedFact":
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


class MergePreviewMethods(KnowledgeSession):
    """The method of knowledge memory that previews merges."""

    async def preview_merge(self, source_entity_id: UUID | str, target_entity_id: UUID | str) -> MergePreview:
        """Return the effects of merging one entity into another, without changing anything.

        Raises:
            InvalidInputError: Both ids are the same, an id names no entity, or an entity was already merged.

        Source: KNW-18.
        """
        source_id, target_id = require_two_ids(source_entity_id, target_entity_id)
        async with self._reading() as sql:
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
            names=tuple(added_names(source, target)),
        )


async def _living(sql: Statements, entity_id: UUID, *, field: str) -> Entity:
    row = await sql.entity_by_id(id=entity_id)
    return require_living(None if row is None else Entity.from_row(row), entity_id, field=field)
