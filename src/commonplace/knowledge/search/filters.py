"""Filters of searches and recalls by tag, time, butler and entity, applied before the ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import MemoryType, Moment

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters of a search; ``None`` turns a filter off.

    Attributes:
        tags: Only memories with all of these tags.
        since: Only memories that were stored at this moment or later.
        until: Only memories that were stored before this moment.
        learned_by: Only memories that this butler learned.
        entity_id: Only facts that are about this entity or mention it.
    """

    tags: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    learned_by: str | None = None
    entity_id: UUID | None = None

    @classmethod
    def of(
        cls,
        *,
        tags: Sequence[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        learned_by: str | None = None,
        entity_id: UUID | str | None = None,
    ) -> "Filters":
        """Return checked filters.

        Raises:
            InvalidInputError: A value is malformed, or ``until`` is not after ``since``.
        """
        wanted = tuple(inputs.require_tags(tags, allow_secrets=True)) or None
        first, last = (
            inputs.optional_moment(since, field="since"),
            inputs.optional_moment(until, field="until"),
        )
        if first is not None and last is not None and last <= first:
            raise InvalidInputError("until", f"a moment after since, {first.isoformat()}", str(until))
        return cls(
            tags=wanted,
            since=first,
            until=last,
            learned_by=inputs.optional_scope(learned_by, field="learned_by"),
            entity_id=inputs.optional_id(entity_id, field="entity_id"),
        )

    def parameters(self) -> dict[str, object]:
        """Return the parameters of :data:`FILTERED`."""
        return {
            "tags": None if self.tags is None else list(self.tags),
            "since": self.since,
            "until": self.until,
            "learned_by": self.learned_by,
            "entity_id": self.entity_id,
        }


NO_FILTERS: Final = Filters()
