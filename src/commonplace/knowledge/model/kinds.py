"""The three kinds of memory as they are read: episodes, facts and rules.

The fields of a class are the columns of its table. SQL files refer to them as ``${episode_columns}``,
``${fact_columns}`` and ``${rule_columns}``, so each column is named only here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

from commonplace.core.confidence import effective_confidence
from commonplace.core.sources import Source
from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.model.permanence import Permanence
from commonplace.storage.database import Columns
from commonplace.storage.rows import read_row

GLOBAL_SCOPE: Final = "global"
"""The scope of facts and rules that are for every butler."""
PINNED: Final = "pinned"
"""The tag of facts and rules that appear in every block of their scope."""


Moment = datetime | str
"""An aware datetime, or a date or a time in ISO 8601; in UTC if it names no offset."""


class MemoryType(StrEnum):
    """The three kinds of memory."""

    EPISODE = "episode"
    FACT = "fact"
    RULE = "rule"


class Validity(StrEnum):
    """The states of a fact."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"
    HELD = "held"
    """The fact contradicts a more trusted one and waits for a person."""


class EpisodeStatus(StrEnum):
    """The states of an episode's consolidation."""

    PENDING = "pending"
    CONSOLIDATED = "consolidated"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"


class _Read:
    """The source, trust and flags of an episode, a fact or a rule.

    ``source`` is where the text comes from. ``trust`` is that source, or ``person`` once a person confirmed the memory.
    ``flags`` are the reasons why the text looks like an instruction, of :class:`~commonplace.core.instructions.Flag`.
    """

    __slots__ = ()

    trust: Source
    flags: tuple[str, ...]

    @property
    def is_quarantined(self) -> bool:
        """Whether the memory has flags and was not confirmed by a person, so that blocks leave it out."""
        return bool(self.flags) and self.trust is not Source.PERSON

    @classmethod
    def from_row(cls, row: Columns, *, now: datetime) -> Self:
        """Return the memory of a row, with the confidence left at a moment; episodes do not decay."""
        if not hasattr(cls, "effective_confidence"):
            return read_row(cls, row)
        left = effective_confidence(row["confidence"], row["decay_rate"], row["last_confirmed_at"], now)
        return read_row(cls, row, effective_confidence=left)

    @classmethod
    def from_rows(cls, rows: Iterable[Columns], *, now: datetime) -> list[Self]:
        """Return the memories of some rows, in their order."""
        return [cls.from_row(row, now=now) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(_Read):
    """An event of a session.

    Attributes:
        butler: The agent that ran the session; the scope of an episode.
        importance: 0.0 to 10.0.
        retry_count: Failed attempts to consolidate it.
        expires_at: When searches stop finding it (aware UTC).
        leased_by: The worker that is consolidating it, until ``leased_until``.
        next_attempt_at: When a failed consolidation is retried.
    """

    memory_type: MemoryType = field(default=MemoryType.EPISODE, init=False)
    id: UUID
    butler: str
    session_id: UUID | None
    content: str
    importance: float
    consolidated: bool
    consolidation_status: EpisodeStatus
    retry_count: int
    last_error: str | None
    leased_by: str | None
    leased_until: datetime | None
    next_attempt_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    reference_count: int
    last_referenced_at: datetime | None
    metadata: Mapping[str, Any]
    source: Source = Source.AGENT
    trust: Source = Source.AGENT
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(_Read):
    """A statement about a subject.

    Attributes:
        importance: 0.0 to 10.0.
        confidence: At the last confirmation, 0.0 to 1.0.
        effective_confidence: The confidence left when the fact was read.
        decay_rate: Share of the confidence lost per day, continuously.
        scope: ``"global"``, or the butler that the fact is for.
        supersedes_id: The fact of the same key that this fact replaced.
        valid_from: When the fact became true (aware UTC); ``None`` if only ``created_at`` is known.
        valid_to: When the fact stopped or stops being true (aware UTC); ``None`` if no end is known.
    """

    memory_type: MemoryType = field(default=MemoryType.FACT, init=False)
    id: UUID
    subject: str
    predicate: str
    content: str
    importance: float
    confidence: float
    effective_confidence: float
    decay_rate: float
    permanence: Permanence
    validity: Validity
    scope: str
    entity_id: UUID | None
    source_butler: str | None
    source_episode_id: UUID | None
    supersedes_id: UUID | None
    valid_from: datetime | None
    valid_to: datetime | None
    created_at: datetime
    last_confirmed_at: datetime | None
    reference_count: int
    last_referenced_at: datetime | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    source: Source = Source.AGENT
    trust: Source = Source.AGENT
    flags: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the fact is active."""
        return self.validity is Validity.ACTIVE

    @property
    def is_forgotten(self) -> bool:
        """Whether the fact was forgotten."""
        return self.validity is Validity.RETRACTED

    def begins_after(self, moment: datetime) -> bool:
        """Return whether the fact becomes true after a moment, and thus does not hold yet."""
        return self.valid_from is not None and self.valid_from > moment

    @property
    def is_fading(self) -> bool:
        """Whether the fact is active and was marked as fading by the last sweep."""
        return self.is_current and self.metadata.get("status") == "fading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(_Read):
    """Guidance for how to act.

    Attributes:
        scope: ``"global"``, or the butler that the rule is for.
        confidence: At the last confirmation, 0.0 to 1.0.
        effective_confidence: The confidence left when the rule was read.
        decay_rate: Share of the confidence lost per day, continuously.
        effectiveness_score: 0.0 to 1.0, from the feedback.
        applied_count: Helpful and harmful applications together.
    """

    memory_type: MemoryType = field(default=MemoryType.RULE, init=False)
    id: UUID
    content: str
    scope: str
    maturity: Maturity
    confidence: float
    effective_confidence: float
    decay_rate: float
    permanence: str
    effectiveness_score: float
    applied_count: int
    success_count: int
    harmful_count: int
    source_butler: str | None
    source_episode_id: UUID | None
    created_at: datetime
    last_applied_at: datetime | None
    last_evaluated_at: datetime | None
    last_confirmed_at: datetime | None
    reference_count: int
    last_referenced_at: datetime | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    source: Source = Source.AGENT
    trust: Source = Source.AGENT
    flags: tuple[str, ...] = ()

    @property
    def is_forgotten(self) -> bool:
        """Whether the rule was forgotten, or expired."""
        return self.metadata.get("forgotten") is True

    @property
    def is_current(self) -> bool:
        """Whether the rule is not forgotten."""
        return not self.is_forgotten

    @property
    def is_fading(self) -> bool:
        """Whether the last sweep marked the rule as fading."""
        return self.metadata.get("status") == "fading"

    @property
    def needs_inversion(self) -> bool:
        """Whether the rule did so much harm that its opposite is the better rule."""
        return self.metadata.get("needs_inversion") is True


Memory = Episode | Fact | Rule
_NOT_STORED: Final = frozenset({"memory_type", "effective_confidence"})

NOUNS: Final[Mapping[MemoryType, type[Memory]]] = {
    MemoryType.EPISODE: Episode,
    MemoryType.FACT: Fact,
    MemoryType.RULE: Rule,
}
"""The noun of each kind of memory."""

COLUMNS: Final = {
    kind: tuple(each.name for each in fields(noun) if each.name not in _NOT_STORED)
    for kind, noun in NOUNS.items()
}
"""The columns from which a memory is read."""

_RULE_LIVES: Final = "(metadata -> 'forgotten') IS DISTINCT FROM 'true'"

KIND_GAPS: Final[Mapping[MemoryType, Mapping[str, str]]] = {
    MemoryType.EPISODE: {
        "memories": "episodes",
        "text": "content",
        "heading": "''",
        "usable": "(expires_at IS NULL OR expires_at > :now)",
    },
    MemoryType.FACT: {
        "memories": "facts",
        "text": "concat_ws(' ', subject, predicate, content)",
        "heading": "subject || ' ' || predicate || ' '",
        "usable": "true",
        "lives": "validity = 'active'",
        "expire": "validity = 'expired'",
        "before": "'validity', 'active'",
        "after": "'validity', 'expired'",
    },
    MemoryType.RULE: {
        "memories": "rules",
        "text": "content",
        "heading": "''",
        "usable": _RULE_LIVES,
        "lives": _RULE_LIVES,
        "expire": """metadata = metadata || '{"forgotten": true}'""",
        "before": "'forgotten', false",
        "after": "'forgotten', true",
    },
}
"""The SQL fragments of each kind for statements that are written once for several kinds.

``memories`` is the table, ``text`` the text of a row, and ``usable`` the condition for rows whose use counts. ``lives``
is the condition for current facts and rules, ``expire`` the change of a row that has lost its confidence, and
``before`` and ``after`` are that change in its event.
"""

SQL_GAPS: Final = {
    **{f"{kind}_columns": ", ".join(columns) for kind, columns in COLUMNS.items()},
    "rule_lives": _RULE_LIVES,
}
"""The placeholders in SQL files for the columns of each kind and for the condition of current rules."""
