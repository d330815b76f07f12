"""Entries of lists."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from commonplace.knowledge.model.entity_fields import EntityType
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntity(Noun):
    """An entity of a list.

    Attributes:
        merged_into: The entity that it was merged into, if any.
        facts: The number of its active facts.
    """

    id: UUID
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    merged_into: UUID | None
    facts: int
