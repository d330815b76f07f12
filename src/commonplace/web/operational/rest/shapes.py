"""JSON shapes of operational memory."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from commonplace.operational import (
    DEFAULT_CONFIDENCE,
    MAX_SERVICE_CHARS,
    MAX_TEXT_CHARS,
    SERVICE_PATTERN,
    ChangeKind,
    CooldownAction,
    Decision,
    EventLevel,
    MemoryCategory,
    OutputKind,
    SessionStatus,
)
from commonplace.web.paging import CountedPageShape
from commonplace.web.rows import RowIds
from commonplace.web.shape import Shape, Wanted

SERVICE: Final = rf"^{SERVICE_PATTERN.pattern}$"

Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
Observation = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT_CHARS)
]


class ObservationShape(Shape):
    """A memory of the scheduled agent."""

    id: int = Field(description="never used again, even after deletion")
    service: str | None = Field(description="the service; null for a general memory")
    category: MemoryCategory
    observation: str
    confidence: float = Field(description="0 to 1; below 0.3 the memory is inactive")
    active: bool = Field(description="whether the agent sees the memory")
    created_at: datetime
    updated_at: datetime = Field(description="the last creation, reinforcement or edit")
    session_id: int | None = Field(description="the session that created it; null if an operator did")
    tier: int = Field(description="the tier of that session")


class ObservationsShape(CountedPageShape):
    """A page of memories of the scheduled agent."""

    memories: list[ObservationShape]
    active: int = Field(description="number of active matches")
    inactive: int = Field(description="number of inactive matches")


class NewObservation(Wanted):
    """A memory to add by hand."""

    category: MemoryCategory
    observation: Observation = Field(description="the text of the memory")
    service: Annotated[str, Field(pattern=SERVICE, max_length=MAX_SERVICE_CHARS)] | None = Field(
        default=None, description="null or `general` for a general memory"
    )
    confidence: Confidence = Field(default=DEFAULT_CONFIDENCE, description="below 0.3 the memory is inactive")


class ChangedObservation(Wanted):
    """Changes of a memory; a field that is left out keeps its value."""

    observation: Observation | None = Field(default=None, description="the new text")
    confidence: Confidence | None = Field(
        default=None, description="below 0.3 makes the memory inactive, above it active"
    )


class ChangedConfidences(Wanted):
    """A confidence for several memories."""

    ids: RowIds
    confidence: Confidence = Field(description="below 0.3 makes a memory inactive, above it active")


class WantedRows(Wanted):
    """Several memories to delete."""

    ids: RowIds


class ChangedRowsShape(Shape):
    """Memories after a change."""

    memories: list[ObservationShape]


class DeletedRowsShape(Shape):
    """Deleted memories."""

    deleted: list[int] = Field(description="their ids, ascending")


class ChangeShape(Shape):
    """A change of a memory."""

    memory_id: int
    kind: ChangeKind
    actor: str = Field(description="the author of the change")
    session_id: int | None
    before: dict[str, Any] | None = Field(description="changed fields before the change")
    after: dict[str, Any] | None = Field(description="changed fields after the change")
    reason: str
    created_at: datetime
    wording: str | None = Field(description="what the agent emitted, where the memory says it in other words")
    related_id: int | None = Field(
        description="the memory that corrects, refines or is corrected by this one"
    )


class WordingShape(Shape):
    """A text by which a memory was ever known."""

    number: int = Field(description="counts from 1 in the order of first use")
    text: str
    first_at: datetime
    uses: int


class WordingsShape(Shape):
    """Every text by which a memory was ever known, in the order of first use."""

    wordings: list[WordingShape]


class WantedWording(Wanted):
    """The wording that becomes the memory's text."""

    number: int = Field(ge=1, description="as the list of wordings gives it")


class ReviewShape(Shape):
    """A pair of memories whose verdict is in doubt."""

    id: int
    kind: str = Field(description="what the pair is of: observations")
    service: str | None = Field(description="of both memories; null: general")
    category: MemoryCategory
    old_id: int = Field(description="the memory that was there")
    old_observation: str
    new_id: int = Field(description="the memory that was kept beside it")
    new_observation: str
    reason: str = Field(description="why the judge was in doubt")
    decision: Decision | None = Field(description="null: the pair waits")
    decided_by: str | None
    explanation: str = Field(description="why, where a model decided")
    created_at: datetime
    decided_at: datetime | None


class ReviewsShape(CountedPageShape):
    """Pairs of memories; one page of them."""

    reviews: list[ReviewShape]


class WantedDecision(Wanted):
    """The answer to how the new text bears on the old one."""

    verdict: Decision


class HistoryShape(Shape):
    """Changes of a memory, oldest first."""

    changes: list[ChangeShape]


class SessionShape(Shape):
    """A session of the scheduled agent."""

    id: int
    agent_session_id: str | None
    tier: int = Field(description="1 observes, 2 investigates, 3 remediates")
    status: SessionStatus
    model: str | None
    trigger: str = Field(description="the reason why the session ran")
    prompt_text: str | None
    started_at: datetime
    ended_at: datetime | None
    response: str | None
    cost_usd: float | None
    num_turns: int | None
    duration_ms: int | None
    exit_code: int | None


class SessionsShape(CountedPageShape):
    """A page of sessions, newest first."""

    sessions: list[SessionShape]


class OutputLineShape(Shape):
    """An output line of a session."""

    seq: int = Field(description="counts from 1 in its session")
    kind: OutputKind
    text: str
    at: datetime


class OutputShape(Shape):
    """Output of a session, in order; more lines may follow the last `seq`."""

    lines: list[OutputLineShape]


class EventShape(Shape):
    """An event that the agent reported."""

    id: int
    session_id: int | None
    level: EventLevel
    service: str | None
    message: str
    created_at: datetime


class EventsShape(CountedPageShape):
    """A page of events, newest first."""

    events: list[EventShape]


class CooldownShape(Shape):
    """A remediation that the agent must not repeat at once."""

    id: int
    session_id: int | None
    service: str
    action: CooldownAction
    reason: str
    tier: int
    created_at: datetime


class CooldownsShape(CountedPageShape):
    """A page of cooldown actions, newest first."""

    cooldowns: list[CooldownShape]


class OperationalContextShape(Shape):
    """The block for the next session's system prompt."""

    text: str = Field(description="Markdown; empty if there are no memories")
    memory_ids: list[int] = Field(description="the memories in the block, most trusted first")
    eligible: int = Field(description="number of memories that could have been shown")
    tokens: int = Field(description="estimated size of the text")
    budget_tokens: int


class EffectShape(Shape):
    """A confidence that decay lowered."""

    memory_id: int
    confidence_before: float
    confidence_after: float


class DecayShape(Shape):
    """The memories whose confidence changed."""

    effects: list[EffectShape]
