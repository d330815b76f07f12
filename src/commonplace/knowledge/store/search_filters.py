"""The conditions of a narrowing by tag, time, butler and entity, in SQL, applied before the ranking."""

from collections.abc import Mapping
from typing import Final

from commonplace.knowledge.model.kinds import MemoryType

_WHEN: Final = (
    "(CAST(:since AS timestamptz) IS NULL OR created_at >= CAST(:since AS timestamptz))"
    " AND (CAST(:until AS timestamptz) IS NULL OR created_at < CAST(:until AS timestamptz))"
)
_TAGGED: Final = "(CAST(:tags AS jsonb) IS NULL OR tags @> CAST(:tags AS jsonb))"
_LEARNED: Final = "(CAST(:learned_by AS text) IS NULL OR {} = CAST(:learned_by AS text))"
_ABOUT: Final = (
    "(CAST(:entity_id AS uuid) IS NULL OR entity_id = CAST(:entity_id AS uuid)"
    " OR CAST(:entity_id AS uuid) IN (SELECT commonplace_mentioned(id)))"
)
_NO_ENTITY: Final = "CAST(:entity_id AS uuid) IS NULL"

FILTERED: Final[Mapping[MemoryType, str]] = {
    MemoryType.EPISODE: f"CAST(:tags AS jsonb) IS NULL AND {_NO_ENTITY} AND {_WHEN} AND {_LEARNED.format('butler')}",
    MemoryType.FACT: f"{_TAGGED} AND {_ABOUT} AND {_WHEN} AND {_LEARNED.format('source_butler')}",
    MemoryType.RULE: f"{_TAGGED} AND {_NO_ENTITY} AND {_WHEN} AND {_LEARNED.format('source_butler')}",
}
"""The conditions of each kind, in SQL. Episodes have no tags; episodes and rules have no entity."""
