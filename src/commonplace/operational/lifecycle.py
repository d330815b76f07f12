"""What becomes of memories: learning, contradiction, staleness, the operator's hand.

Each function runs in a transaction that its caller opened, and says in a receipt what it did.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from commonplace.core import confidence
from commonplace.core.clock import format_timestamp
from commonplace.operational import decay, memories
from commonplace.operational.judge.matching import Judgement, Verdict, judge
from commonplace.operational.memories import Author, ChangeKind, Memory
from commonplace.operational.transcript.markers import MemoryMarker
from commonplace.storage.database import Statements

REINFORCEMENT: Final = Decimal("0.1")
CONTRADICTION: Final = Decimal("-0.2")

STALENESS: Final = Author(actor="staleness")


class Outcome(StrEnum):
    """What a memory marker led to."""

    CREATED = "created"
    REINFORCED = "reinforced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How one memory's confidence moved, and why."""

    memory_id: int
    observation: str
    confidence_before: float
    confidence_after: float
    active: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningReceipt:
    """What an observation led to.

    Attributes:
        outcome: Whether a memory was created, one was reinforced, or nothing had to change.
        memory: The memory that now holds the observation.
        reason: Why, in one sentence.
        contradicted: The memories that lost confidence over it.
    """

    outcome: Outcome
    memory: Memory
    reason: str
    contradicted: tuple[Effect, ...]


async def learn(sql: Statements, marker: MemoryMarker, author: Author, now: datetime) -> LearningReceipt:
    """Take in an observation: reinforce what says the same, weaken what says the opposite, else remember it.

    It is compared with each active memory of the same service and category on its own. The closest of those that
    say the same is reinforced; all that say the opposite are weakened. A session counts as one witness: it
    reinforces or contradicts a memory at most once.

    Source: OPS-09, OPS-10, R-OPS-5, R-OPS-6.
    """
    known = await memories.lock_candidates(sql, marker.service, marker.category)
    judged = [(memory, judge(memory.observation, marker.observation)) for memory in known]
    opposed = [pair for pair in judged if pair[1].verdict is Verdict.CONTRADICTS]
    same = [pair for pair in judged if pair[1].verdict is Verdict.REINFORCES]
    effects = [await _contradict(sql, memory, verdict, author, now) for memory, verdict in opposed]
    contradicted = tuple(effect for effect in effects if effect is not None)
    if same:
        memory, verdict = max(same, key=lambda pair: (pair[1].score, -pair[0].id))
        return await _reinforce(sql, memory, verdict, author, now, contradicted)
    memory = await memories.create(
        sql,
        service=marker.service,
        category=marker.category,
        observation=marker.observation,
        confidence=memories.DEFAULT_CONFIDENCE,
        active=True,
        author=author,
        now=now,
    )
    if effects:
        reason = "contradicts what was known"
    elif known:
        reason = f"says something else than the {len(known)} known of this service and category"
    else:
        reason = "the first of its service and category"
    return LearningReceipt(outcome=Outcome.CREATED, memory=memory, reason=reason, contradicted=contradicted)


async def _reinforce(
    sql: Statements,
    memory: Memory,
    verdict: Judgement,
    author: Author,
    now: datetime,
    contradicted: tuple[Effect, ...],
) -> LearningReceipt:
    if await memories.session_changed(sql, memory, ChangeKind.REINFORCED, author.session_id):
        reason = "this session has reinforced it before"
        return LearningReceipt(
            outcome=Outcome.UNCHANGED, memory=memory, reason=reason, contradicted=contradicted
        )
    stronger = replace(memory, confidence=confidence.step(memory.confidence, REINFORCEMENT), updated_at=now)
    stronger = await memories.replace(
        sql, memory, stronger, ChangeKind.REINFORCED, author, now, reason=verdict.reason
    )
    return LearningReceipt(
        outcome=Outcome.REINFORCED, memory=stronger, reason=verdict.reason, contradicted=contradicted
    )


async def _contradict(
    sql: Statements, memory: Memory, verdict: Judgement, author: Author, now: datetime
) -> Effect | None:
    """Weaken a memory, without refreshing it; ``None`` where this session did so before."""
    if await memories.session_changed(sql, memory, ChangeKind.CONTRADICTED, author.session_id):
        return None
    weaker = _with_confidence(memory, confidence.step(memory.confidence, CONTRADICTION))
    await memories.replace(sql, memory, weaker, ChangeKind.CONTRADICTED, author, now, reason=verdict.reason)
    return _effect(memory, weaker, verdict.reason)


async def run_decay(sql: Statements, now: datetime) -> list[Effect]:
    """Charge every active memory for the weeks that it went without reinforcement, and return what moved.

    Source: OPS-11, R-OPS-7: it does not touch ``updated_at``, and checking twice charges once.
    """
    effects: list[Effect] = []
    horizon = format_timestamp(now - decay.GRACE)
    for row in await sql.lock_stale(updated_before=horizon):
        memory = Memory.from_row(row)
        weeks = decay.weeks_stale(memory.updated_at, now)
        due = weeks - row["weeks_charged"]
        if due <= 0:
            continue
        weaker = _with_confidence(memory, decay.decayed(memory.confidence, due))
        reason = f"not reinforced since {memory.updated_at:%Y-%m-%d}: {due} more week{'s'[: due > 1]} past the grace"
        await memories.replace(sql, memory, weaker, ChangeKind.DECAYED, STALENESS, now, reason=reason)
        await sql.charge_decay(memory_id=memory.id, counted_from=row["updated_at"], weeks_charged=weeks)
        effects.append(_effect(memory, weaker, reason))
    return effects


def edited(
    memory: Memory, *, observation: str | None, confidence_value: float | None, now: datetime
) -> Memory:
    """Return a memory as an operator's edit leaves it.

    A confidence is clamped to 0.0 to 1.0; below 0.3 the memory becomes inactive, above 0.3 active again, and at
    0.3 it stays what it was. A new text alone changes no confidence. Source: OPS-08.3, OPS-13, OPS-16.3, R-OPS-8.
    """
    changed = replace(memory, observation=observation or memory.observation, updated_at=now)
    if confidence_value is None:
        return changed
    value = confidence.clamp(confidence_value)
    at = confidence.to_decimal(value)
    active = memory.active if at == confidence.ACTIVE_THRESHOLD else at > confidence.ACTIVE_THRESHOLD
    return replace(changed, confidence=value, active=active)


def _with_confidence(memory: Memory, value: float) -> Memory:
    """Return a memory with less confidence: inactive once it is below the threshold."""
    return replace(memory, confidence=value, active=memory.active and confidence.is_active(value))


def _effect(before: Memory, after: Memory, reason: str) -> Effect:
    return Effect(
        memory_id=before.id,
        observation=before.observation,
        confidence_before=before.confidence,
        confidence_after=after.confidence,
        active=after.active,
        reason=reason,
    )
