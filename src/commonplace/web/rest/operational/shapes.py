"""JSON shapes of operational memory."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints

from commonplace.core.instructions import Flag
from commonplace.judge import PairVerdict
from commonplace.operational import (
    DEFAULT_CONFIDENCE,
    SERVICE_PATTERN,
    Change,
    Cooldown,
    Effect,
    Event,
    Lesson,
    MemoryCategory,
    MemoryContext,
    Observation,
    OutputLine,
    Review,
    Service,
    Session,
    Wording,
)
from commonplace.web.http.limits import RowIds
from commonplace.web.http.paging import CountedPageShape
from commonplace.web.http.shape import RequestShape, Shape, shows

SERVICE: Final = rf"^{SERVICE_PATTERN.pattern}$"

Confidence = Annotated[float, Field(allow_inf_nan=False, strict=True)]
"""Source: OPS-08.3."""
ObservationText = Annotated[Observation, StringConstraints(strip_whitespace=True)]


@shows(Lesson, without={"quarantine"})
class ObservationShape(Shape):
    """A lesson of the scheduled agent.

    Attributes:
        id: never reused, even after deletion
        service: the service; null for a general lesson
        confidence: 0 to 1; below 0.3 the lesson is inactive
        active: whether the agent sees the lesson
        updated_at: the last creation, reinforcement or edit
        session_id: the session that created the lesson; null if an operator created it
        tier: the tier of that session
        flags: reasons why no prompt shows the lesson until a person confirms it; empty for an inactive lesson
    """

    flags: list[Flag]


class ObservationsShape(CountedPageShape):
    """A page of lessons of the scheduled agent.

    Attributes:
        active: number of active matches
        inactive: number of inactive matches
    """

    memories: list[ObservationShape]
    active: int
    inactive: int


class NewObservation(RequestShape):
    """A lesson to add by hand.

    Attributes:
        observation: the text of the lesson
        service: null or `general` for a general lesson
        confidence: 0 to 1, other values are clamped; below 0.3 the lesson is inactive
    """

    category: MemoryCategory
    observation: ObservationText
    service: Annotated[Service, Field(pattern=SERVICE)] | None = None
    confidence: Confidence = DEFAULT_CONFIDENCE


class ChangedObservation(RequestShape):
    """Changes of a lesson; a field that is left out keeps its value.

    Attributes:
        observation: the new text
        confidence: 0 to 1, other values are clamped; below 0.3 makes the lesson inactive, above it active
    """

    observation: ObservationText | None = None
    confidence: Confidence | None = None


class RowSelection(RequestShape):
    """Several lessons to delete."""

    ids: RowIds


class ChangedConfidences(RequestShape):
    """A confidence for several lessons.

    Attributes:
        confidence: 0 to 1, other values are clamped; below 0.3 makes a lesson inactive, above it active
    """

    ids: RowIds
    confidence: Confidence


class ChangedRowsShape(Shape):
    """Lessons after a change."""

    memories: list[ObservationShape]


class DeletedRowsShape(Shape):
    """Deleted lessons.

    Attributes:
        deleted: their ids, ascending
    """

    deleted: list[int]


@shows(Change)
class ChangeShape(Shape):
    """A change of a lesson.

    Attributes:
        actor: the author of the change
        before: changed fields before the change
        after: changed fields after the change
        wording: the text of the agent, if the lesson is worded differently
        related_id: the lesson that corrects, refines or is corrected by this one
    """


class HistoryShape(Shape):
    """Changes of a lesson, oldest first."""

    changes: list[ChangeShape]


@shows(Wording)
class WordingShape(Shape):
    """A wording of a lesson, current or earlier.

    Attributes:
        number: counts from 1 in order of first use
    """


class WordingsShape(Shape):
    """All wordings of a lesson, in order of first use."""

    wordings: list[WordingShape]


class WordingRequest(RequestShape):
    """The wording to restore.

    Attributes:
        number: the number in the list of wordings
    """

    number: int = Field(ge=1)


@shows(Review)
class ReviewShape(Shape):
    """A pair of lessons whose verdict is in doubt.

    Attributes:
        kind: the kind of both texts: observations
        service: the service of both lessons; null: general
        old_id: the older lesson
        new_id: the newer lesson
        reason: why the verdict is in doubt
        decision: null if the pair waits
        explanation: the reason of the decision, if a model decided
    """


class ReviewsShape(CountedPageShape):
    """A page of pairs of lessons."""

    reviews: list[ReviewShape]


class DecisionRequest(RequestShape):
    """The relation of the new text to the old one."""

    verdict: PairVerdict


@shows(Session)
class SessionShape(Shape):
    """A session of the scheduled agent.

    Attributes:
        tier: 1 observes, 2 investigates, 3 remediates
        trigger: the reason why the session ran
    """


class SessionsShape(CountedPageShape):
    """A page of sessions, newest first."""

    sessions: list[SessionShape]


@shows(OutputLine)
class OutputLineShape(Shape):
    """An output line of a session.

    Attributes:
        seq: counts from 1 in its session
    """


class OutputShape(Shape):
    """Output of a session, in order; more lines may follow the last `seq`."""

    lines: list[OutputLineShape]


@shows(Event)
class EventShape(Shape):
    """An event that the agent reported."""


class EventsShape(CountedPageShape):
    """A page of events, newest first."""

    events: list[EventShape]


@shows(Cooldown)
class CooldownShape(Shape):
    """A remediation that the agent must not repeat at once."""


class CooldownsShape(CountedPageShape):
    """A page of cooldown actions, newest first."""

    cooldowns: list[CooldownShape]


@shows(MemoryContext)
class OperationalContextShape(Shape):
    """The block for the next session's system prompt.

    Attributes:
        text: Markdown; empty if there are no lessons
        memory_ids: the lessons in the block, most trusted first
        eligible: number of active lessons, including lessons in quarantine
        tokens: estimated size of the text
    """


@shows(Effect, without={"observation", "active", "reason"})
class EffectShape(Shape):
    """A confidence that decay lowered."""


class DecayShape(Shape):
    """The lessons whose confidence changed."""

    effects: list[EffectShape]
