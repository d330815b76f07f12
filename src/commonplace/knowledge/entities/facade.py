"""The methods of knowledge memory that concern entities."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from commonplace.core.errors import NotFoundError
from commonplace.knowledge.browse import lists
from commonplace.knowledge.config import LIST_LIMIT
from commonplace.knowledge.entities import merge_preview, merging, registry, resolution, unmerging
from commonplace.knowledge.entities.merge_preview import MergePreview
from commonplace.knowledge.entities.merging import MergeReceipt
from commonplace.knowledge.entities.registry import Entity
from commonplace.knowledge.entities.resolution import Candidate
from commonplace.knowledge.entities.unmerging import UnmergeReceipt
from commonplace.knowledge.session import KnowledgeSession


class EntityMethods(KnowledgeSession):
    """Entities: add, read, change, resolve, merge."""

    async def entity_create(
        self,
        *,
        canonical_name: str,
        entity_type: str,
        tenant_id: str | None = None,
        aliases: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> Entity:
        """Add an entity; see :func:`~commonplace.knowledge.entities.registry.entity_create`."""
        async with self.acting() as pool:
            return await registry.entity_create(
                pool,
                canonical_name=canonical_name,
                entity_type=entity_type,
                tenant_id=tenant_id,
                aliases=aliases,
                metadata=metadata,
                allow_secrets=allow_secrets,
            )

    async def entity_get(self, entity_id: UUID | str, *, tenant_id: str | None = None) -> Entity:
        """Return an entity. If it was merged into another, ``survivor_id`` names that one.

        Raises:
            InvalidInputError: The id is malformed.
            NotFoundError: The entity does not exist.
        """
        async with self.acting() as pool:
            entity = await registry.entity_get(pool, entity_id, tenant_id=tenant_id)
        if entity is None:
            raise NotFoundError("entity", str(entity_id))
        return entity

    async def entity_update(
        self,
        entity_id: UUID | str,
        *,
        tenant_id: str | None = None,
        canonical_name: str | None = None,
        aliases: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> Entity:
        """Change an entity; see :func:`~commonplace.knowledge.entities.registry.entity_update`."""
        async with self.acting() as pool:
            return await registry.entity_update(
                pool,
                entity_id,
                tenant_id=tenant_id,
                canonical_name=canonical_name,
                aliases=aliases,
                metadata=metadata,
                allow_secrets=allow_secrets,
            )

    async def entity_resolve(
        self,
        name: str,
        *,
        tenant_id: str | None = None,
        entity_type: str | None = None,
        context_hints: Mapping[str, Any] | None = None,
        enable_fuzzy: bool = False,
    ) -> list[Candidate]:
        """Return the entities that a name may mean; see :func:`~.entities.resolution.entity_resolve`."""
        async with self.acting() as pool:
            return await resolution.entity_resolve(
                pool,
                name,
                tenant_id=tenant_id,
                entity_type=entity_type,
                context_hints=context_hints,
                enable_fuzzy=enable_fuzzy,
            )

    async def list_entities(
        self,
        *,
        name: str | None = None,
        entity_type: str | None = None,
        merged: bool | None = False,
        limit: int = LIST_LIMIT,
        offset: int = 0,
    ) -> list[lists.ListedEntity]:
        """Return entities by canonical name; see :func:`~.browse.lists.list_entities`."""
        async with self.acting() as pool:
            return await lists.list_entities(
                pool, name=name, entity_type=entity_type, merged=merged, limit=limit, offset=offset
            )

    async def preview_merge(self, source_entity_id: UUID | str, target_entity_id: UUID | str) -> MergePreview:
        """Return the effects that a merge would have; see :func:`~.entities.merge_preview.preview_merge`."""
        async with self.acting() as pool:
            return await merge_preview.preview_merge(pool, source_entity_id, target_entity_id)

    async def entity_merge(
        self, source_entity_id: UUID | str, target_entity_id: UUID | str, *, tenant_id: str | None = None
    ) -> MergeReceipt:
        """Merge one entity into another; see :func:`~.entities.merging.entity_merge`."""
        async with self.acting() as pool:
            return await merging.entity_merge(pool, source_entity_id, target_entity_id, tenant_id=tenant_id)

    async def entity_unmerge(
        self, source_entity_id: UUID | str, *, tenant_id: str | None = None
    ) -> UnmergeReceipt:
        """Undo a merge; see :func:`~.entities.unmerging.entity_unmerge`."""
        async with self.acting() as pool:
            return await unmerging.entity_unmerge(pool, source_entity_id, tenant_id=tenant_id)
