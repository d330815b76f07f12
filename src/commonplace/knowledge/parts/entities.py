"""Entities of knowledge memory, their names and their relations."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from commonplace.knowledge.entities.merging import EntityMerging, MergePreview, MergeReceipt
from commonplace.knowledge.entities.registry import Entity, EntityRegistry
from commonplace.knowledge.entities.relations import EntityRelation, EntityRelations
from commonplace.knowledge.entities.resolution import EntityCandidate, EntityResolution
from commonplace.knowledge.entities.unmerging import EntityUnmerging, UnmergeReceipt
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import Moment
from commonplace.knowledge.store.session import KnowledgeSession


class Entities:
    """Entities of one tenant: ``memory.entities``."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._registry = EntityRegistry(session)
        self._resolution = EntityResolution(session)
        self._merging = EntityMerging(session)
        self._unmerging = EntityUnmerging(session)
        self._relations = EntityRelations(session)

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
        """Add an entity, or take over an entity with this name and type that a fact created.

        Args:
            canonical_name: 1 to 500 characters.
            entity_type: ``person``, ``organization``, ``place`` or ``other``.
            tenant_id: The request's tenant, if given.
            aliases: A list of at most 200 further names; repeats in other case are left out.
            metadata: A JSON object of at most 65,536 characters.
            allow_secrets: Whether to store text that looks like a secret; only an operator may set this.

        Raises:
            InvalidInputError: A value is malformed, or an entity with this name and type exists, possibly merged
                (KNW-16.2); the message names it. Nothing was written.
            SecretRefusedError: A name, an alias or the metadata looks like a secret.

        Source: KNW-16.
        """
        return await self._registry.create(
            canonical_name=canonical_name,
            entity_type=entity_type,
            tenant_id=tenant_id,
            aliases=aliases,
            metadata=metadata,
            allow_secrets=allow_secrets,
        )

    async def get(
        self, entity_id: UUID | str, *, tenant_id: str | None = None, as_of: Moment | None = None
    ) -> Entity:
        """Return an entity; the ``survivor_id`` of a merged entity names the entity that replaced it.

        Args:
            entity_id: The entity.
            tenant_id: The request's tenant, if given.
            as_of: Return the entity with the names, the metadata and the merge of this moment.

        Raises:
            InvalidInputError: The id is malformed, or the tenant is not the request's.
            NotFoundError: The entity does not exist, or did not exist at that moment.
        """
        return await self._registry.get(entity_id, tenant_id=tenant_id, as_of=as_of)

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
        """Change an entity; a field that is ``None`` stays unchanged.

        Args:
            entity_id: The entity.
            tenant_id: The request's tenant, if given.
            canonical_name: The new name.
            aliases: The new list of aliases; an empty list removes all.
            metadata: Keys to set; other keys stay.
            allow_secrets: Whether to store text that looks like a secret; only an operator may set this.

        Raises:
            InvalidInputError: A value is malformed, no field is given, no entity has the id, the entity was merged, or
                another entity has the name. Nothing was written.
            SecretRefusedError: A name, an alias or the metadata looks like a secret.

        Source: KNW-16.4.
        """
        return await self._registry.update(
            entity_id,
            tenant_id=tenant_id,
            canonical_name=canonical_name,
            aliases=aliases,
            metadata=metadata,
            allow_secrets=allow_secrets,
        )

    async def resolve(
        self,
        name: str,
        *,
        tenant_id: str | None = None,
        entity_type: str | None = None,
        context_hints: Mapping[str, Any] | None = None,
        enable_fuzzy: bool = False,
    ) -> list[EntityCandidate]:
        """Return the entities that a name may refer to, most likely first; an empty list if no entity matches.

        The search ignores case, the encoding of accents and runs of spaces; ``%`` and ``_`` have no special meaning.
        Merged entities are left out.

        Args:
            name: 1 to 500 characters.
            tenant_id: The request's tenant, if given.
            entity_type: Only entities of this type.
            context_hints: Hints about the entity, see :func:`~.neighbourhood.require_hints`.
            enable_fuzzy: Also find similar names, if the name has three or more characters.

        Returns:
            Candidates by score, then canonical name, then id; at most 500 by name and 500 by similarity.

        Source: KNW-17, R-KNW-7, R-KNW-10.
        """
        return await self._resolution.resolve(
            name,
            tenant_id=tenant_id,
            entity_type=entity_type,
            context_hints=context_hints,
            enable_fuzzy=enable_fuzzy,
        )

    async def relations(
        self,
        entity_id: UUID | str,
        *,
        scope: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        limit: int = LIST_LIMIT,
    ) -> list[EntityRelation]:
        """Return the relations of an entity in either direction, latest fact first.

        Args:
            entity_id: The entity; a merged entity stands for the entity that replaced it.
            scope: Only relations from facts of this scope and global facts; ``None`` for all.
            as_of: Relations that were known at this moment, between today's entities.
            valid_at: Relations that were true at this moment.
            limit: Maximum number of relations, 1 to 1,000.

        Raises:
            NotFoundError: The entity does not exist.
        """
        return await self._relations.list(entity_id, scope=scope, as_of=as_of, valid_at=valid_at, limit=limit)

    async def preview_merge(self, source_entity_id: UUID | str, target_entity_id: UUID | str) -> MergePreview:
        """Return the effects of merging one entity into another, without changing anything.

        Raises:
            InvalidInputError: Both ids are the same, an id names no entity, or an entity was already merged.

        Source: KNW-18.
        """
        return await self._merging.preview(source_entity_id, target_entity_id)

    async def merge(
        self,
        source_entity_id: UUID | str,
        target_entity_id: UUID | str,
        *,
        tenant_id: str | None = None,
    ) -> MergeReceipt:
        """Merge one entity into another; the source stays as a tombstone that names the target.

        Facts move as in :mod:`.merge_plan`. The target gets the source's names and the metadata keys that it lacks.
        Both entities are locked in the order of their ids, then their facts.

        Raises:
            InvalidInputError: Both ids are the same, an id names no entity, or an entity was already merged. Nothing
                was written.
        """
        return await self._merging.merge(source_entity_id, target_entity_id, tenant_id=tenant_id)

    async def unmerge(self, source_entity_id: UUID | str, *, tenant_id: str | None = None) -> UnmergeReceipt:
        """Undo the merge of an entity into another.

        Args:
            source_entity_id: The entity that was merged.
            tenant_id: The request's tenant, if given.

        Raises:
            InvalidInputError: No entity has the id, the entity was not merged, its target was merged further, the merge
                has no record, or later facts conflict; the message says which. Nothing was written.
        """
        return await self._unmerging.unmerge(source_entity_id, tenant_id=tenant_id)
