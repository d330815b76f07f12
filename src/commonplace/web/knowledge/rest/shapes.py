"""The JSON of knowledge memory."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    MAX_IMPORTANCE,
    MAX_TAGS,
    EntityType,
    EpisodeStatus,
    Maturity,
    MemoryType,
    NameMatch,
    Permanence,
    Validity,
)
from commonplace.web.paging import PageShape
from commonplace.web.shape import Shape, Wanted

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


class StoredEpisodeShape(Shape):
    """The receipt of an episode."""

    id: UUID | None = Field(description="null if the database or the model was out of reach")
    reason: str = Field(description="why the episode was not stored; send it again later")


class StoredFactShape(Shape):
    """The receipt of a fact."""

    id: UUID
    superseded_id: UUID | None = Field(description="the fact that was replaced")


class StoredRuleShape(Shape):
    """The receipt of a rule."""

    id: UUID


class KnownShape(Shape):
    """An episode, a fact or a rule; fields of other kinds are null."""

    id: UUID
    memory_type: MemoryType
    content: str
    created_at: datetime
    metadata: dict[str, Any]
    reference_count: int = Field(description="the number of uses")
    last_referenced_at: datetime | None
    importance: float | None = Field(default=None, description="of episodes and facts")
    butler: str | None = Field(default=None, description="of an episode: the agent whose session it was")
    session_id: UUID | None = None
    consolidation_status: EpisodeStatus | None = Field(default=None, description="of an episode")
    expires_at: datetime | None = Field(default=None, description="of an episode")
    subject: str | None = Field(default=None, description="of a fact")
    predicate: str | None = Field(default=None, description="of a fact")
    entity_id: UUID | None = Field(default=None, description="of a fact: the entity of the subject")
    validity: Validity | None = Field(default=None, description="of a fact")
    supersedes_id: UUID | None = Field(default=None, description="of a fact: the fact that it replaced")
    scope: str | None = Field(default=None, description="of facts and rules")
    permanence: Permanence | None = Field(default=None, description="of facts and rules")
    confidence: float | None = Field(default=None, description="of facts and rules: at the last confirmation")
    effective_confidence: float | None = Field(default=None, description="of facts and rules: today")
    decay_rate: float | None = Field(default=None, description="of facts and rules: share lost per day")
    last_confirmed_at: datetime | None = None
    tags: list[str] | None = Field(default=None, description="of facts and rules")
    source_butler: str | None = Field(
        default=None, description="of facts and rules: the butler that learned it"
    )
    source_episode_id: UUID | None = Field(
        default=None, description="of facts and rules: the episode that it was learned from"
    )
    maturity: Maturity | None = Field(default=None, description="of a rule")
    effectiveness_score: float | None = Field(default=None, description="of a rule")
    applied_count: int | None = Field(default=None, description="of a rule")
    success_count: int | None = Field(default=None, description="of a rule")
    harmful_count: int | None = Field(default=None, description="of a rule")


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


class EntityShape(Shape):
    """An entity."""

    id: UUID
    canonical_name: str
    entity_type: EntityType
    aliases: list[str]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    survivor_id: UUID = Field(
        description="the entity at the end of its chain of merges; its own id if not merged"
    )


class CandidateShape(Shape):
    """An entity that a name may mean."""

    entity_id: UUID
    canonical_name: str
    entity_type: EntityType
    score: float
    name_match: NameMatch = Field(description="how the name matched")
    aliases: list[str]


class CandidatesShape(Shape):
    """Candidates for a name, the likeliest first."""

    candidates: list[CandidateShape]


class WantedMerge(Wanted):
    """The target of a merge."""

    target_entity_id: UUID = Field(description="the entity that stays")


class MergedShape(Shape):
    """The receipt of a merge."""

    source_entity_id: UUID
    target_entity_id: UUID
    facts_repointed: int
    facts_superseded: int
    history_repointed: int
    aliases_added: int
    event_id: UUID


class UnmergedShape(Shape):
    """The receipt of an unmerge."""

    source_entity_id: UUID
    target_entity_id: UUID
    facts_restored: int
    aliases_removed: int
    kept: list[str] = Field(description="fields that stay because they changed after the merge")
    event_id: UUID


class EventShape(Shape):
    """An event of the audit trail."""

    id: UUID
    event_type: str
    actor: str | None = Field(description="the actor who made the change")
    payload: dict[str, Any] = Field(description="the state before and after, without the memory's text")
    created_at: datetime


class EventsShape(PageShape):
    """A page of events of the audit trail, the latest first."""

    events: list[EventShape]


class SweptShape(Shape):
    """The receipt of a sweep."""

    facts_evaluated: int
    facts_fading: int
    facts_expired: int
    facts_recovered: int
    rules_evaluated: int
    rules_fading: int
    rules_forgotten: int
    rules_recovered: int


class CleanedShape(Shape):
    """The receipt of a cleanup."""

    expired_deleted: int
    expired_unconsolidated: int = Field(description="expired episodes that had never been consolidated")
    capacity_deleted: int
    remaining: int
