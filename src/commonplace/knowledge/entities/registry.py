"""The registry of entities, which creates, reads and changes them.

A change and its event are one transaction. The database keeps name and type unique, so two callers who create the same
entity at once get one entity and one error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

import asyncpg

from commonplace.core.choices import require_one_of
from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.core.quoting import quoted
from commonplace.knowledge.model.entity_fields import (
    MERGED_INTO,
    RESERVED_METADATA,
    EntityType,
    require_aliases,
    require_name,
)
from commonplace.knowledge.model.entity_names import fold_names, without_repeats
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.inputs import optional_moment, require_metadata
from commonplace.knowledge.model.kinds import Moment
from commonplace.knowledge.model.short_ids import ENTITY, parse_id
from commonplace.knowledge.store.events import record_event
from commonplace.knowledge.store.id_lookup import find_entity_id
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.storage.database import Columns
from commonplace.storage.rows import Noun, read_row

MADE_FROM: Final = "made_from"
"""The metadata key of an entity that a fact created and that nobody has created explicitly since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(Noun):
    """A person, organization, place or other thing that facts are about.

    Attributes:
        canonical_name: The name that is shown; unique in a tenant together with the type.
        aliases: Further names, without repeats in other case.
        metadata: A JSON object; a merged entity has the key ``merged_into``.
        created_at: Aware UTC.
        updated_at: Aware UTC.
        survivor_id: The entity at the end of its chain of merges; its own id if it was not merged.
    """

    id: UUID
    tenant_id: str
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    survivor_id: UUID

    @property
    def merged_into(self) -> UUID | None:
        """The entity that this entity was merged into, which may itself be merged; ``None`` if not merged."""
        target = self.metadata.get(MERGED_INTO)
        return None if target is None else UUID(target)

    @classmethod
    def from_row(cls, row: Columns) -> Self:
        """Read a row of ``entities``; without ``survivor_id``, only the first step of a chain of merges is known."""
        survivor = row.get("survivor_id") or UUID(row["metadata"].get(MERGED_INTO) or str(row["id"]))
        return read_row(cls, row, survivor_id=survivor)

    def restored(self, images: Iterable[Mapping[str, Any] | None]) -> "Entity":
        """Return the entity before some changes, given the fields that each change replaced, latest first."""
        row = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "survivor_id"}
        for image in images:
            row |= image or {}
        if isinstance(row["updated_at"], str):
            row["updated_at"] = parse_timestamp(row["updated_at"])
        return Entity.from_row(row)

    def image(self) -> dict[str, Any]:
        """Return the mutable fields, for an event."""
        return {
            "canonical_name": self.canonical_name,
            "aliases": list(self.aliases),
            "metadata": dict(self.metadata),
            "updated_at": format_timestamp(self.updated_at),
        }


def require_tenant(own: str, tenant_id: str | None) -> None:
    """Raise :class:`InvalidInputError` for a tenant other than the request's own; ``None`` is accepted."""
    if tenant_id not in (None, own):
        raise InvalidInputError("tenant_id", f"the tenant of this request ({quoted(own)})", tenant_id)


class EntityRegistry:
    """Creating, reading and changing of entities."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def create(
        self,
        *,
        canonical_name: str,
        entity_type: str,
        tenant_id: str | None = None,
        aliases: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> Entity:
        """Add an entity, or take over an entity with this name and type that a fact created."""
        require_tenant(self._session.tenant_id, tenant_id)
        kind = require_one_of(EntityType, entity_type, field="entity_type")
        name = require_name(canonical_name, field="canonical_name", allow_secrets=allow_secrets)
        others = require_aliases(aliases, allow_secrets=allow_secrets)
        data = require_metadata(metadata, reserved=RESERVED_METADATA, allow_secrets=allow_secrets)
        async with self._session.writing() as sql:
            row = await sql.entity_insert(
                canonical_name=name,
                entity_type=kind,
                aliases=others,
                metadata=data,
                name_keys=fold_names(name, others),
            )
            if row is None:
                return await _take_over(sql, name, kind, others, data)
            entity = Entity.from_row(row)
            await record_change(sql, EventType.ENTITY_CREATED, None, entity)
            return entity

    async def get(
        self, entity_id: UUID | str, *, tenant_id: str | None = None, as_of: Moment | None = None
    ) -> Entity:
        """Return an entity; the ``survivor_id`` of a merged entity names the entity that replaced it."""
        require_tenant(self._session.tenant_id, tenant_id)
        moment = optional_moment(as_of, field="as_of", at_end=True, times=self._session.times)
        async with self._session.reading() as sql:
            entity_key = await find_entity_id(sql, entity_id, field="entity_id")
            entity = Entity.existing(await sql.entity_by_id(id=entity_key), str(entity_key))
            if moment is None:
                return entity
            if entity.created_at > moment:
                raise NotFoundError("entity", str(entity_key))
            replaced = await sql.entity_images(id=str(entity_key), as_of=moment)
            return entity.restored(row["before"] for row in replaced)

    async def update(
        self,
        entity_id: UUID | str,
        *,
        tenant_id: str | None = None,
        canonical_name: str | None = None,
        aliases: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> Entity:
        """Change an entity; a field that is ``None`` stays unchanged."""
        require_tenant(self._session.tenant_id, tenant_id)
        parse_id(entity_id, ENTITY, field="entity_id")
        if canonical_name is None and aliases is None and metadata is None:
            raise InvalidInputError("entity_update", "a canonical_name, aliases or metadata to change", None)
        name = None
        if canonical_name is not None:
            name = require_name(canonical_name, field="canonical_name", allow_secrets=allow_secrets)
        others = require_aliases(aliases, allow_secrets=allow_secrets)
        data = require_metadata(metadata, reserved=RESERVED_METADATA, allow_secrets=allow_secrets)
        try:
            async with self._session.writing() as sql:
                entity_key = await find_entity_id(sql, entity_id, field="entity_id")
                before = require_living((await lock_entities(sql, entity_key)).get(entity_key), entity_key)
                changed = replace(
                    before,
                    canonical_name=name or before.canonical_name,
                    aliases=before.aliases if aliases is None else tuple(others),
                    metadata=_merged(before.metadata, data),
                )
                after = await write_entity(sql, changed)
                await record_change(sql, EventType.ENTITY_UPDATED, before, after)
                return after
        except asyncpg.UniqueViolationError:
            async with self._session.reading() as sql:
                entity_key = await find_entity_id(sql, entity_id, field="entity_id")
                row = await sql.entity_by_id(id=entity_key)
                raise await _name_taken(
                    sql, name or "", Entity.existing(row, entity_key).entity_type
                ) from None


async def write_entity(
    sql: KnowledgeStatements, entity: Entity, *, updated_at: datetime | None = None
) -> Entity:
    """Write the mutable fields of a locked entity; ``updated_at`` defaults to now."""
    row = await sql.entity_write(
        id=entity.id,
        canonical_name=entity.canonical_name,
        aliases=list(entity.aliases),
        metadata=dict(entity.metadata),
        name_keys=fold_names(entity.canonical_name, entity.aliases),
        updated_at=updated_at,
    )
    return Entity.existing(row, entity.id)


async def lock_entities(sql: KnowledgeStatements, *ids: UUID) -> dict[UUID, Entity]:
    """Lock entities in ascending order of their ids, and return the entities that exist."""
    return {row["id"]: Entity.from_row(row) for row in await sql.entity_lock(ids=list(ids))}


def require_living(entity: Entity | None, entity_id: UUID, *, field: str = "entity_id") -> Entity:
    """Return an entity that exists and was not merged.

    Raises:
        InvalidInputError: The entity does not exist.
        ConflictError: It was merged into another entity; the message names that entity.
    """
    if entity is None:
        raise InvalidInputError(field, "the id of an entity", str(entity_id))
    if entity.merged_into is not None:
        raise merged_error(field, entity_id, entity.merged_into)
    return entity


def merged_error(field: str, entity_id: UUID, into: object) -> ConflictError:
    """Return the error for an entity that was merged into another entity."""
    message = f"The entity {entity_id} was merged into {into}. Use the entity {into}."
    return ConflictError(field, message, str(entity_id))


def _merged(metadata: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Set keys and check the total size; the texts were already checked for secrets."""
    return require_metadata({**metadata, **changes}, allow_secrets=True) if changes else metadata


async def _take_over(
    sql: KnowledgeStatements, name: str, kind: EntityType, aliases: Sequence[str], metadata: Mapping[str, Any]
) -> Entity:
    """Give an entity that a fact created the aliases and metadata of its explicit creation.

    Raises:
        InvalidInputError: A person or agent has already created an entity with this name and type.
    """
    row = await sql.entity_named(canonical_name=name, entity_type=kind)
    held = None if row is None else (await lock_entities(sql, row["id"])).get(row["id"])
    if held is None or MADE_FROM not in held.metadata or held.merged_into is not None:
        raise await _name_taken(sql, name, kind)
    own = {key: value for key, value in held.metadata.items() if key != MADE_FROM}
    known = [*held.aliases, *without_repeats(aliases, known=held.aliases)]
    after = await write_entity(sql, replace(held, aliases=tuple(known), metadata={**own, **metadata}))
    await record_change(sql, EventType.ENTITY_UPDATED, held, after)
    return after


async def _name_taken(sql: KnowledgeStatements, name: str, entity_type: EntityType) -> InvalidInputError:
    row = await sql.entity_named(canonical_name=name, entity_type=entity_type)
    expected = f"a name that no other {entity_type} has"
    if row is not None:
        holder = Entity.from_row(row)
        expected += f"; it is a duplicate of entity {holder.id}"
        if holder.merged_into is not None:
            expected += f", which was merged into {holder.merged_into}"
    return InvalidInputError("canonical_name", expected, name)


async def record_change(
    sql: KnowledgeStatements, event_type: EventType, before: Entity | None, after: Entity
) -> None:
    """Write the event of a new or changed entity; an update lists only the fields that differ."""
    new = after.image()
    old = before.image() if before else {}
    changed = [key for key in new if key not in old or old[key] != new[key]]
    payload = {
        "entity_id": after.id,
        "before": {key: old[key] for key in changed} if before else None,
        "after": {key: new[key] for key in changed} | ({} if before else {"entity_type": after.entity_type}),
    }
    await record_event(sql, event_type, payload=payload)
