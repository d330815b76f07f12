"""Entities: the people, organizations, places and other things that facts are about.

Facts point at an entity and names resolve to it. Two entities that are the same are merged, and a merge can be undone.
Other rooms and the facade import the names in ``__all__``; everything else in this room is private to it.
"""

from commonplace.knowledge.entities.fields import EntityType, require_type
from commonplace.knowledge.entities.merge_preview import MergePreview, preview_merge
from commonplace.knowledge.entities.merging import MergeReceipt, entity_merge
from commonplace.knowledge.entities.names import NameMatch, fold_name
from commonplace.knowledge.entities.registry import Entity, entity_create, entity_get, entity_update
from commonplace.knowledge.entities.resolution import Candidate, entity_resolve
from commonplace.knowledge.entities.unmerging import UnmergeReceipt, entity_unmerge

__all__ = [
    "Candidate",
    "Entity",
    "EntityType",
    "MergePreview",
    "MergeReceipt",
    "NameMatch",
    "UnmergeReceipt",
    "entity_create",
    "entity_get",
    "entity_merge",
    "entity_resolve",
    "entity_unmerge",
    "entity_update",
    "fold_name",
    "preview_merge",
    "require_type",
]
