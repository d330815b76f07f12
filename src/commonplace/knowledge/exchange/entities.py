"""Entities of other databases: of two with one name and type, the older one stays and the other is merged into it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.entities.merging import merge_locked
from commonplace.knowledge.entities.registry import Entity, lock_entities, write_entity
from commonplace.knowledge.exchange.fields import Fields, by_id, fields_of, parameters
from commonplace.knowledge.exchange.vectors import PageVectors
from commonplace.knowledge.exchange.writes import RowDrop, RowPut
from commonplace.knowledge.model.entity_fields import MERGED_INTO
from commonplace.knowledge.model.entity_names import fold_names
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.short_ids import ENTITY, short_id
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

_NAMED: Final = ("canonical_name", "aliases", "metadata")
"""The fields of an entity in its events."""


class EntityTable:
    """Entities, written one by one: one of them may be merged into another one of the same page."""

    most: ClassVar[int | None] = 1

    async def lock(
        self, sql: KnowledgeStatements, names: Sequence[str], *, now: datetime
    ) -> Mapping[str, Columns]:
        """Lock entities."""
        del now
        return by_id(await sql.lock_exchanged_entities(ids=list(map(UUID, names))))

    async def put(
        self, sql: KnowledgeStatements, rows: Sequence[RowPut], vectors: PageVectors, *, now: datetime
    ) -> Mapping[str, ConflictError]:
        """Insert or change entities; one with the name and type of another one and that one become one."""
        del vectors
        for each in rows:
            await _put_entity(sql, UUID(each.name), each.fields, each.row, now=now)
        return {}

    async def drop(self, sql: KnowledgeStatements, rows: Sequence[RowDrop], *, now: datetime) -> None:
        """Delete entities that were deleted elsewhere, unless a fact that holds is about them."""
        del now
        for each in rows:
            await sql.delete_entity(id=UUID(each.name))


async def _put_entity(
    sql: KnowledgeStatements, key: UUID, fields: Fields, row: Columns | None, *, now: datetime
) -> None:
    values = parameters(fields)
    namesake = await _namesake(sql, key, fields)
    if namesake is not None:  # The database has room for one entity of a name and type.
        values["canonical_name"] = _apart(fields["canonical_name"], key)
    await sql.put_entity(
        id=key,
        now=now,
        name_keys=fold_names(values["canonical_name"], fields["aliases"]),
        metadata=_metadata(fields),
        **{name: value for name, value in values.items() if name not in {"metadata", "merged_into"}},
    )
    before = fields_of(row)
    event = EventType.ENTITY_CREATED if before is None else EventType.ENTITY_UPDATED
    payload = {"entity_id": key, "before": before, "after": {name: fields[name] for name in _NAMED}}
    await record_event(sql, event, payload=payload)
    if namesake is not None and namesake.merged_into is None and fields["merged_into"] is None:
        await _join(sql, namesake.id, key, fields["canonical_name"])


async def _namesake(sql: KnowledgeStatements, key: UUID, fields: Fields) -> Entity | None:
    row = await sql.entity_named(canonical_name=fields["canonical_name"], entity_type=fields["entity_type"])
    return None if row is None or row["id"] == key else Entity.from_row(row)


async def _join(sql: KnowledgeStatements, known: UUID, arrived: UUID, name: str) -> None:
    """Merge the younger of two entities of one name into the older one, which has the name then."""
    both = (await lock_entities(sql, known, arrived)).values()
    target, source = sorted(both, key=lambda each: (each.created_at, each.id))
    source = await write_entity(sql, replace(source, canonical_name=_apart(name, source.id)))
    target = await write_entity(sql, replace(target, canonical_name=name))
    await merge_locked(sql, source, target)
    after = (await lock_entities(sql, target.id))[target.id]
    others = (_apart(name, known), _apart(name, arrived))
    await write_entity(
        sql, replace(after, aliases=tuple(each for each in after.aliases if each not in others))
    )


def _apart(name: str, key: UUID) -> str:
    """Return the name of the row of a merged entity."""
    return f"{name} ({short_id(ENTITY, key)})"


def _metadata(fields: Fields) -> Mapping[str, Any]:
    merged_into = fields["merged_into"]
    return fields["metadata"] if merged_into is None else {**fields["metadata"], MERGED_INTO: merged_into}
