"""The part of a memory that a search, a recall, a block or a list looks at."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.core.choices import optional_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.sources import Source, at_least
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import Moment
from commonplace.language.times import TimeReader


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Narrowing:
    """The memories that a read considers; ``None`` or an empty list does not narrow.

    A narrowing is checked when it is made: moments are in UTC, names and tags are cleaned.

    Attributes:
        scope: Facts and rules of this scope and global ones, and episodes of the butler with this name. A list shows
            facts and rules of this scope only.
        as_of: Memories that were known at this moment; their fields are those of today.
        valid_at: Facts that were true at this moment, also superseded facts.
        min_trust: Memories that are at least as trusted as this source.
        tags: Memories with all of these tags; episodes have none.
        since: Memories that were stored at this moment or later.
        until: Memories that were stored before this moment.
        learned_by: Memories that this butler learned.
        entity_id: Facts that are about this entity or mention it. A list shows the facts about it only.
    """

    scope: str | None
    as_of: datetime | None
    valid_at: datetime | None
    min_trust: Source | None
    tags: tuple[str, ...]
    since: datetime | None
    until: datetime | None
    learned_by: str | None
    entity_id: UUID | None

    def __init__(
        self,
        *,
        scope: str | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        min_trust: str | None = None,
        tags: Sequence[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        learned_by: str | None = None,
        entity_id: UUID | str | None = None,
        times: TimeReader | None = None,
    ) -> None:
        """Check the values; a date for ``as_of`` or ``valid_at`` is the end of that day.

        With ``times``, moments may be words such as "yesterday"; words for ``until`` include the time that they name.

        Raises:
            InvalidInputError: A value is malformed, or ``until`` is not after ``since``.
        """
        first, last = (
            inputs.optional_moment(since, field="since", times=times),
            inputs.optional_moment(until, field="until", before=True, times=times),
        )
        if first is not None and last is not None and last <= first:
            raise InvalidInputError("until", f"a moment after since, {first.isoformat()}", str(until))
        values = {
            "scope": inputs.optional_scope(scope),
            "as_of": inputs.optional_moment(as_of, field="as_of", at_end=True, times=times),
            "valid_at": inputs.optional_moment(valid_at, field="valid_at", at_end=True, times=times),
            "min_trust": optional_one_of(Source, min_trust, field="min_trust"),
            "tags": tuple(inputs.require_tags(tags, allow_secrets=True)),
            "since": first,
            "until": last,
            "learned_by": inputs.optional_scope(learned_by, field="learned_by"),
            "entity_id": inputs.optional_id(entity_id, field="entity_id"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def is_past(self) -> bool:
        """Whether the read is about an earlier moment."""
        return self.as_of is not None or self.valid_at is not None

    @property
    def has_filters(self) -> bool:
        """Whether tags, a time of storing, a butler or an entity narrow the read."""
        others = (self.since, self.until, self.learned_by, self.entity_id)
        return bool(self.tags) or any(value is not None for value in others)

    @property
    def trusts(self) -> tuple[Source, ...]:
        """The sources that are trusted enough."""
        return tuple(Source) if self.min_trust is None else tuple(at_least(self.min_trust))


EVERYTHING: Final = Narrowing()
"""The narrowing of a read that considers all memories of the present."""
