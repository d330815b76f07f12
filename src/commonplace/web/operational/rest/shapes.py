"""The JSON of operational memory."""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from commonplace.operational.memories import DEFAULT_CONFIDENCE, ChangeKind
from commonplace.operational.memory import MAX_SERVICE_CHARS
from commonplace.operational.output import OutputKind
from commonplace.operational.reviews import Decision
from commonplace.operational.sessions import SessionStatus
from commonplace.operational.transcript.markers import (
    MAX_TEXT_CHARS,
    SERVICE_PATTERN,
    CooldownAction,
    EventLevel,
    MemoryCategory,
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

    id: int = Field(description="never used again, not after deletion either")
    service: str | None = Field(description="what it is about; null: general")
    category: MemoryCategory
    observation: str
    confidence: float = Field(description="0 to 1; below 0.3 it is inactive")
    active: bool = Field(description="whether the agent is shown it")
    created_at: datetime
    updated_at: datetime = Field(description="the last creation, reinforcement or edit")
    session_id: int | None = Field(description="the session that created it; null: an operator")
    tier: int = Field(description="the tier of that session")


class ObservationsShape(CountedPageShape):
    """Memories of the scheduled agent; one page of them."""

    memories: list[ObservationShape]
    active: int = Field(description="how many active ones it lets through, whatever it says of active")
    inactive: int = Field(description="how many inactive ones, likewise")


class NewObservation(Wanted):
    """A memory to add by hand, as it is: it is compared with no other."""

    category: MemoryCategory
    observation: Observation = Field(description="the text of the memory")
    service: Annotated[str, Field(pattern=SERVICE, max_length=MAX_SERVICE_CHARS)] | None = Field(
        default=None, description="the service that the memory is about; null or `general`: no single service"
    )
    confidence: Confidence = Field(
        default=DEFAULT_CONFIDENCE, description="below 0.3 the memory begins inactive"
    )


class ChangedObservation(Wanted):
    """What is to change of a memory; what is left out stays."""

    observation: Observation | None = Field(default=None, description="the new text")
    confidence: Confidence | None = Field(
        default=None, description="below 0.3 makes the memory inactive, above it active"
    )


class ChangedConfidences(Wanted):
    """A confidence for several memories: all of them change, or none."""

    ids: RowIds
    confidence: Confidence = Field(description="below 0.3 makes a memory inactive, above it active")


class WantedRows(Wanted):
    """Several memories: all of them, or none where one is unknown."""

    ids: RowIds


class ChangedRowsShape(Shape):
    """Memories as they are now."""

    memories: list[ObservationShape]


class DeletedRowsShape(Shape):
    """Memories are gone."""

    deleted: list[int] = Field(description="their ids, ascending")


class ChangeShape(Shape):
    """Something that happened to a memory."""

    memory_id: int
    kind: ChangeKind
    actor: str = Field(description="who did it")
    session_id: int | None
    before: dict[str, Any] | None = Field(description="the fields that differ, as they were")
    after: dict[str, Any] | None = Field(description="and as they became")
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
    """What happened to a memory, oldest first."""

    changes: list[ChangeShape]


class SessionShape(Shape):
    """A session of the scheduled agent."""

    id: int
    agent_session_id: str | None
    tier: int = Field(description="1 observes, 2 investigates, 3 remediates")
    status: SessionStatus
    model: str | None
    trigger: str = Field(description="why it ran")
    prompt_text: str | None
    started_at: datetime
    ended_at: datetime | None
    response: str | None
    cost_usd: float | None
    num_turns: int | None
    duration_ms: int | None
    exit_code: int | None


class SessionsShape(CountedPageShape):
    """Sessions, newest first; one page of them."""

    sessions: list[SessionShape]


class OutputLineShape(Shape):
    """A line that a session showed."""

    seq: int = Field(description="counts from 1 in its session")
    kind: OutputKind
    text: str
    at: datetime


class OutputShape(Shape):
    """What a session showed, in order; more may follow after the last `seq`."""

    lines: list[OutputLineShape]


class EventShape(Shape):
    """Something that the agent said had happened."""

    id: int
    session_id: int | None
    level: EventLevel
    service: str | None
    message: str
    created_at: datetime


class EventsShape(CountedPageShape):
    """Events, newest first; one page of them."""

    events: list[EventShape]


class CooldownShape(Shape):
    """A remediation that must not be repeated at once."""

    id: int
    session_id: int | None
    service: str
    action: CooldownAction
    reason: str
    tier: int
    created_at: datetime


class CooldownsShape(CountedPageShape):
    """Cooldown actions, newest first; one page of them."""

    cooldowns: list[CooldownShape]


class OperationalContextShape(Shape):
    """The block for the next session's system prompt."""

    text: str = Field(description="Markdown; empty where nothing is shown")
    memory_ids: list[int] = Field(description="the memories shown, in the order of their choice")
    eligible: int = Field(description="how many could have been shown")
    tokens: int = Field(description="estimated size of the text")
    budget_tokens: int


class EffectShape(Shape):
    """What decay did to a memory."""

    memory_id: int
    confidence_before: float
    confidence_after: float


class DecayShape(Shape):
    """The memories whose confidence moved."""

    effects: list[EffectShape]
