"""Entities of other databases: of two with one name and type, the older one stays and the other is merged into it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from commonplace.knowledge.entities.merging import merge_locked
from commonplace.knowledge.entities.registry import Entity, lock_entities, write_entity
from commonplace.knowledge.exchange.fields import Fields, fields_of, parameters
from commonplace.knowledge.model.entity_fields import MERGED_INTO
from commonplace.knowledge.model.entity_names import fold_names
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.short_ids import ENTITY, short_id
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns

_NAMED: Final = ("canonical_name", "aliases", "metadata")
"""The fields of an entity in its events."""


async def put_entity(
    sql: KnowledgeStatements, key: UUID, fields: Fields, row: Columns | None, *, now: datetime
) -> None:
    """Insert or change an entity; one with its name and type and it become one."""
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


async def drop_entity(sql: KnowledgeStatements, key: UUID) -> None:
    """Delete an entity that was deleted elsewhere, unless a fact that holds is about it."""
    await sql.delete_entity(id=key)


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
