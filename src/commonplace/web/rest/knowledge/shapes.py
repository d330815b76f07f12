"""The JSON of knowledge memory."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, Field

from commonplace.core.sources import Source
from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    AuditEvent,
    CleanupReceipt,
    Content,
    DecayReceipt,
    Entity,
    EntityCandidate,
    EntityRelation,
    EntityType,
    EpisodeReceipt,
    EpisodeStats,
    FactReceipt,
    FactStats,
    Importance,
    Key,
    ListedEntity,
    Memory,
    MemoryStats,
    MergeConflict,
    MergeReceipt,
    NearFact,
    Period,
    Permanence,
    RuleReceipt,
    RuleStats,
    Scope,
    Tags,
    UnmergeReceipt,
)
from commonplace.web.http.paging import PageShape
from commonplace.web.http.shape import RequestShape, Shape, shows

ImportanceOf = Annotated[Importance, Field(strict=True, description="0 to 10; 5 is ordinary")]
TagsOf = Annotated[Tags, Field(description="labels for grouping")]
ScopeOf = Annotated[Scope, Field(description="global, or the name of a butler")]
Origin = Annotated[
    Source | None, Field(description="the source of the text; `agent` is the most trusted source over REST")
]
ReplacedId = Annotated[str | None, Field(max_length=100)]
Details = Annotated[dict[str, Any], Field(default_factory=dict, description="a flat object of plain values")]


class NewEpisode(RequestShape):
    """An event of a session.

    Attributes:
        content: whole sentences that make sense on their own
        butler: the agent that ran the session
        created_at: the date or time when the event happened, such as yesterday; null or a future time means now
    """

    content: Content
    butler: Scope
    session_id: UUID | None = None
    importance: ImportanceOf = DEFAULT_IMPORTANCE
    created_at: str | None = None
    source: Origin = None
    metadata: Details


class NewFact(RequestShape):
    """A lasting piece of knowledge; it supersedes the fact with the same subject, predicate and scope.

    Attributes:
        subject: the person or thing
        predicate: the attribute or relation
        content: one sentence that makes sense on its own
        entity_id: the entity of the subject
        valid_from: the date or time when the fact became true, such as 2026-05-01 or "last friday"
        valid_to: the last day on which the fact is true, or the time when it ends
        replaces: the id of the fact that this one corrects, if that has another subject or predicate
    """

    subject: Key
    predicate: Key
    content: Content
    importance: ImportanceOf = DEFAULT_IMPORTANCE
    permanence: Permanence = Permanence.STANDARD
    scope: ScopeOf = GLOBAL_SCOPE
    tags: TagsOf = Field(default_factory=list)
    entity_id: UUID | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    source: Origin = None
    replaces: ReplacedId = None
    metadata: Details


class NewRule(RequestShape):
    """Guidance for how to act.

    Attributes:
        content: what to do, and when
        replaces: the id of the rule that this one corrects
    """

    content: Content
    scope: ScopeOf = GLOBAL_SCOPE
    tags: TagsOf = Field(default_factory=list)
    source: Origin = None
    replaces: ReplacedId = None
    metadata: Details


@shows(EpisodeReceipt, without={"reason"})
class StoredEpisodeShape(Shape):
    """The receipt of an episode."""

    id: UUID


@shows(Period)
class PeriodShape(Shape):
    """The period that the words of a fact name.

    Attributes:
        words: the words
        valid_from: its beginning, if the words name a beginning
        valid_to: the moment after its end, if the words name an end
        remark: what is wrong with the words, such as a weekday beside a date of another weekday
    """


@shows(NearFact)
class NearFactShape(Shape):
    """An active fact whose key is another spelling of the key of a new fact."""


@shows(FactReceipt)
class StoredFactShape(Shape):
    """The receipt of a fact.

    Attributes:
        superseded_id: the fact that was replaced
        superseded_text: the text of the fact that was replaced
        superseded_until: when the replaced fact stops being true, if it still holds because the new fact begins later
        review_id: the review that decides whether both facts hold, because the replaced fact matters
        current_id: the fact that stays current, because the period of the new fact has ended
        current_text: the text of the fact that stays current
        contradicts_id: the more trusted fact that the new fact contradicts; the new fact is held until a person decides
        flags: reasons why the text looks like an instruction
        period: the period that was read from the words of the fact, if none was given
        entity_id: the entity of the subject, given or found by name
        near: the active fact of the scope whose key is another spelling of the new key; both facts are current
        reworded: whether the replaced fact says the same in other words
        opposed_ids: active facts about the subject that this one may contradict; each pair waits for a decision
    """

    period: PeriodShape | None
    near: NearFactShape | None


@shows(RuleReceipt)
class StoredRuleShape(Shape):
    """The receipt of a rule.

    Attributes:
        flags: reasons why the text looks like an instruction
        repeated: whether the rule was there before; it is confirmed, and nothing else was stored
        same_ids: older rules that say the same in other words
        opposed_ids: older rules that this one may contradict or not replace; each pair waits for a decision
        superseded_id: the rule that was replaced
        superseded_text: the text of the rule that was replaced
    """


@shows(
    Memory,
    without={
        *("consolidated", "retry_count", "last_error", "leased_by", "leased_until", "next_attempt_at"),
        *("last_applied_at", "last_evaluated_at"),
    },
)
class KnownShape(Shape):
    """An episode, a fact or a rule; fields of other kinds are null.

    Attributes:
        reference_count: the number of uses
        butler: the agent whose session it was
        entity_id: the entity of the subject
        supersedes_id: the fact that this fact replaced
        valid_from: when the fact became true
        valid_to: when the fact stopped or stops being true
        source: the source of the text
        trust: the source whose trust the memory has now; `person` once a person has confirmed it
        flags: reasons why the text looks like an instruction
        confidence: the confidence at the last confirmation
        effective_confidence: the confidence today
        decay_rate: the share of the confidence that is lost in a day
        source_butler: the butler that learned the memory
        source_episode_id: the episode that the memory was learned from
    """


class KnownListShape(Shape):
    """A page of episodes, facts or rules, the newest first.

    Attributes:
        next_cursor: the cursor of the next page; null on the last page
    """

    memories: list[KnownShape]
    next_cursor: str | None


class UntilThenShape(Shape):
    """The superseded fact that holds until a fact begins.

    Attributes:
        valid_to: when that fact begins
    """

    id: UUID
    content: str
    valid_to: AwareDatetime


class StandInShape(Shape):
    """A memory that another result stands for.

    Attributes:
        scope: the scope of a fact or rule
        content: at most 1,000 characters of the text
    """

    id: UUID
    scope: str
    content: str


class FoundShape(KnownShape):
    """A result of a search, with its scores.

    Attributes:
        similarity: cosine similarity of memory and query
        rank: score by words
        rrf_score: fused score of both
        contextual_score: the score of a search by context
        composite_score: the score of a recall, from relevance, importance, recency and confidence
        is_stale: whether a memory that it is derived from was superseded or forgotten after its last confirmation
        related_by: the fact that mentions the entity of this fact, if the query did not find this fact directly
        until_then: the superseded fact that holds until this fact begins, if this fact begins in the future
        stands_for: the memories that say the same, or are another value of the same key, without a result of their own
        explanation: the explanation of the result, if `explain` is set
    """

    similarity: float | None = None
    rank: float | None = None
    rrf_score: float | None = None
    contextual_score: float | None = None
    composite_score: float | None = None
    is_stale: bool = False
    related_by: UUID | None = None
    until_then: UntilThenShape | None = None
    stands_for: tuple[StandInShape, ...] = ()
    explanation: dict[str, Any] | None = None


class FindingsShape(Shape):
    """Results, the best first."""

    results: list[FoundShape]
    count: int


class ConfirmedShape(Shape):
    """A confirmed memory."""

    confirmed: bool = True


class ForgottenShape(Shape):
    """A forgotten memory."""

    forgotten: bool = True


class Application(RequestShape):
    """An application of a rule.

    Attributes:
        reason: the harm
        context: details of the application
    """

    reason: str | None = None
    context: dict[str, Any] | None = None


@shows(EpisodeStats)
class EpisodeStatsShape(Shape):
    """Episodes by state.

    Attributes:
        unconsolidated: pending episodes
        leased: episodes held by a worker
        failed: episodes that will be retried
        backlog_age_hours: the age of the oldest pending episode
    """


@shows(FactStats)
class FactStatsShape(Shape):
    """Facts by state.

    Attributes:
        active: facts that are not fading
    """


@shows(RuleStats)
class RuleStatsShape(Shape):
    """Rules by maturity.

    Attributes:
        forgotten: forgotten rules, which no other number counts
    """


@shows(MemoryStats)
class StatsShape(Shape):
    """Counts by state."""

    episodes: EpisodeStatsShape
    facts: FactStatsShape
    rules: RuleStatsShape


class NewEntity(RequestShape):
    """A person, organization, place or other thing that facts are about.

    Attributes:
        canonical_name: the best-known full name
        aliases: further names
    """

    canonical_name: str
    entity_type: EntityType
    aliases: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)


class ChangedEntity(RequestShape):
    """Changes of an entity; a missing field stays unchanged.

    Attributes:
        aliases: the new list of aliases
        metadata: keys to set; other keys stay
    """

    canonical_name: str | None = None
    aliases: list[str] | None = None
    metadata: dict[str, Any] | None = None


@shows(Entity, without={"tenant_id"})
class EntityShape(Shape):
    """An entity.

    Attributes:
        survivor_id: the entity that it was finally merged into; its own id if it was not merged
    """


@shows(ListedEntity)
class ListedEntityShape(Shape):
    """An entity of a list.

    Attributes:
        merged_into: the entity that it was merged into
        facts: the number of its active facts
    """


class EntityListShape(Shape):
    """A page of entities by name.

    Attributes:
        next_cursor: the cursor of the next page; null on the last page
    """

    entities: list[ListedEntityShape]
    next_cursor: str | None


@shows(EntityCandidate)
class CandidateShape(Shape):
    """An entity that a name may refer to.

    Attributes:
        name_match: how the name matched
    """


class CandidatesShape(Shape):
    """Candidates for a name, the likeliest first."""

    candidates: list[CandidateShape]


@shows(EntityRelation)
class RelationShape(Shape):
    """A relation of two entities.

    Attributes:
        predicate: the predicate of the fact, the name of the relation
        source_id: the entity that the fact is about
        target_id: the entity that the text of the fact mentions
        text: the first 300 characters of the fact
    """


class RelationsShape(Shape):
    """Relations of an entity, the latest fact first."""

    relations: list[RelationShape]


class MergeRequest(RequestShape):
    """The target of a merge.

    Attributes:
        target_entity_id: the entity that stays
    """

    target_entity_id: UUID


@shows(MergeConflict)
class MergeConflictShape(Shape):
    """Two facts with one key, of which the merge kept one."""


@shows(MergeReceipt)
class MergedShape(Shape):
    """The receipt of a merge.

    Attributes:
        conflicts: the facts that were superseded and the facts that superseded them
    """

    conflicts: list[MergeConflictShape]


@shows(UnmergeReceipt)
class UnmergedShape(Shape):
    """The receipt of an unmerge.

    Attributes:
        kept: fields that stay because they changed after the merge
    """


@shows(AuditEvent)
class AuditEventShape(Shape):
    """An event of the audit trail.

    Attributes:
        actor: the actor who made the change
        payload: the state before and after, without the memory's text
    """


class AuditEventsShape(PageShape):
    """A page of events of the audit trail, the latest first."""

    events: list[AuditEventShape]


@shows(DecayReceipt)
class SweptShape(Shape):
    """The receipt of a sweep."""


@shows(CleanupReceipt)
class CleanedShape(Shape):
    """The receipt of a cleanup.

    Attributes:
        expired_unconsolidated: expired episodes that had never been consolidated
    """
