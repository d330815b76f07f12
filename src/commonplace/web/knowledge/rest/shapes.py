"""The JSON of knowledge memory."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    MAX_IMPORTANCE,
    MAX_TAGS,
    Candidate,
    CleanupReceipt,
    DecayReceipt,
    Entity,
    EntityType,
    EpisodeReceipt,
    Event,
    FactReceipt,
    Memory,
    MergeReceipt,
    Permanence,
    RuleReceipt,
    UnmergeReceipt,
)
from commonplace.web.paging import PageShape
from commonplace.web.shape import Shape, Wanted, shows

Importance = Annotated[
    float, Field(ge=0, le=MAX_IMPORTANCE, allow_inf_nan=False, description="0 to 10; 5 is ordinary")
]
Tags = Annotated[list[str], Field(max_length=MAX_TAGS, description="labels to group by")]
Scope = Annotated[str, Field(description="global, or the name of a butler")]
Details = Annotated[dict[str, Any], Field(default_factory=dict, description="a flat object of plain values")]


class NewEpisode(Wanted):
    """An event of a session."""

    content: str = Field(description="whole sentences that make sense on their own")
    butler: str = Field(description="the agent whose session it was")
    session_id: UUID | None = None
    importance: Importance = DEFAULT_IMPORTANCE
    metadata: Details


class NewFact(Wanted):
    """A lasting piece of knowledge; it supersedes the fact of the same subject, predicate and scope."""

    subject: str = Field(description="the person or thing")
    predicate: str = Field(description="the attribute or relation")
    content: str = Field(description="one sentence that makes sense on its own")
    importance: Importance = DEFAULT_IMPORTANCE
    permanence: Permanence = Permanence.STANDARD
    scope: Scope = GLOBAL_SCOPE
    tags: Tags = Field(default_factory=list)
    entity_id: UUID | None = Field(default=None, description="the entity of the subject")
    metadata: Details


class NewRule(Wanted):
    """Guidance for how to act."""

    content: str = Field(description="what to do, and when")
    scope: Scope = GLOBAL_SCOPE
    tags: Tags = Field(default_factory=list)
    metadata: Details


@shows(
    EpisodeReceipt,
    id="null if the database or the model was out of reach",
    reason="why the episode was not stored; send it again later",
)
class StoredEpisodeShape(Shape):
    """The receipt of an episode."""


@shows(FactReceipt, superseded_id="the fact that was replaced")
class StoredFactShape(Shape):
    """The receipt of a fact."""


@shows(RuleReceipt)
class StoredRuleShape(Shape):
    """The receipt of a rule."""


@shows(
    Memory,
    without={
        *("consolidated", "retry_count", "last_error", "leased_by", "leased_until", "next_attempt_at"),
        *("last_applied_at", "last_evaluated_at"),
    },
    reference_count="the number of uses",
    butler="the agent whose session it was",
    entity_id="the entity of the subject",
    supersedes_id="the fact that it replaced",
    confidence="at the last confirmation",
    effective_confidence="today",
    decay_rate="share lost per day",
    source_butler="the butler that learned it",
    source_episode_id="the episode that it was learned from",
)
class KnownShape(Shape):
    """An episode, a fact or a rule; fields of other kinds are null."""


class FoundShape(KnownShape):
    """A result of a search, with its scores."""

    similarity: float | None = Field(default=None, description="cosine of the vectors of memory and query")
    rank: float | None = Field(default=None, description="score by words")
    rrf_score: float | None = Field(default=None, description="fused score of both")
    composite_score: float | None = Field(
        default=None, description="of a recall: relevance, importance, recency, confidence"
    )
    explanation: dict[str, Any] | None = Field(default=None, description="if explain is set")


class FindingsShape(Shape):
    """Results, the best first."""

    results: list[FoundShape]
    count: int


class ConfirmedShape(Shape):
    """A memory is confirmed."""

    confirmed: bool = True


class ForgottenShape(Shape):
    """A memory is forgotten."""

    forgotten: bool = True


class Application(Wanted):
    """An application of a rule."""

    reason: str | None = Field(default=None, description="the harm")
    context: dict[str, Any] | None = Field(default=None, description="details of the application")


class StatsShape(Shape):
    """Counts by state."""

    episodes: dict[str, int | float | None]
    facts: dict[str, int]
    rules: dict[str, int]


class NewEntity(Wanted):
    """A person, organization, place or other thing that facts are about."""

    canonical_name: str = Field(description="the best-known full name")
    entity_type: EntityType
    aliases: list[str] = Field(default_factory=list, description="further names")
    metadata: dict[str, Any] = Field(default_factory=dict)


class ChangedEntity(Wanted):
    """Changes of an entity; a missing field stays as it is."""

    canonical_name: str | None = None
    aliases: list[str] | None = Field(default=None, description="the new list of aliases")
    metadata: dict[str, Any] | None = Field(default=None, description="keys to set; other keys stay")


@shows(
    Entity,
    without={"tenant_id"},
    survivor_id="the entity at the end of its chain of merges; its own id if not merged",
)
class EntityShape(Shape):
    """An entity."""


@shows(Candidate, name_match="how the name matched")
class CandidateShape(Shape):
    """An entity that a name may mean."""


class CandidatesShape(Shape):
    """Candidates for a name, the likeliest first."""

    candidates: list[CandidateShape]


class WantedMerge(Wanted):
    """The target of a merge."""

    target_entity_id: UUID = Field(description="the entity that stays")


@shows(MergeReceipt)
class MergedShape(Shape):
    """The receipt of a merge."""


@shows(UnmergeReceipt, kept="fields that stay because they changed after the merge")
class UnmergedShape(Shape):
    """The receipt of an unmerge."""


@shows(
    Event,
    actor="the actor who made the change",
    payload="the state before and after, without the memory's text",
)
class EventShape(Shape):
    """An event of the audit trail."""


class EventsShape(PageShape):
    """A page of events of the audit trail, the latest first."""

    events: list[EventShape]


@shows(DecayReceipt)
class SweptShape(Shape):
    """The receipt of a sweep."""


@shows(CleanupReceipt, expired_unconsolidated="expired episodes that had never been consolidated")
class CleanedShape(Shape):
    """The receipt of a cleanup."""
