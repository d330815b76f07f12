"""The life cycle of a memory: learning, correction, review decisions, staleness, edits.

Each function runs in a transaction that its caller opened, and returns a receipt.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from commonplace.core import confidence
from commonplace.core.clock import format_timestamp
from commonplace.core.text import plural
from commonplace.judge import Compared, Judgement, PairVerdict, Verdict, joined, judge
from commonplace.operational.model.bounds import DEFAULT_CONFIDENCE
from commonplace.operational.model.markers import MemoryMarker
from commonplace.operational.model.memories import Author, ChangeKind, Lesson
from commonplace.operational.model.receipts import Effect, LearningReceipt, ReceiptOutcome
from commonplace.operational.model.reviews import Review
from commonplace.operational.rules import decay
from commonplace.operational.rules.endings import Saying, read_ending
from commonplace.operational.rules.pairs import VERDICT_OF, pair_name
from commonplace.operational.store import memories, reviews
from commonplace.operational.store.statements import OperationalStatements

REINFORCEMENT: Final = Decimal("0.1")
CONTRADICTION: Final = Decimal("-0.2")

MOST_COMPARED: Final = 20
"""The maximum number of memories that an observation is compared with.

Source: of fifty memories, the one that an observation corrects is among the nearest 16 in 98 % of German and French
pairs, 96 to 100 % of English and 88 % of Japanese ones.
"""

STALENESS: Final = "staleness"

_WITNESSED: Final = (ChangeKind.REINFORCED, ChangeKind.REFINED)
_DOUBTED: Final = (ChangeKind.CONTRADICTED, ChangeKind.CONTRADICTED)
"""The kinds of change that a session makes to a memory at most once; a refinement counts as a reinforcement."""

_Judged = tuple[Lesson, Judgement]


async def learn(
    sql: OperationalStatements, marker: MemoryMarker, author: Author, *, asks_model: bool = False
) -> LearningReceipt:
    """Learn an observation: reinforce, refine or correct known memories, or store it as a new one.

    The observation is compared with the active memories of the same service and category, the nearest 20 of them. All
    memories that it corrects lose confidence. The most certain memory that says the same is reinforced. Otherwise the
    most certain memory that it refines takes in the new words, if one text of 300 characters can hold both, and is
    reinforced. Otherwise the observation becomes a new memory. Doubtful pairs go to the review queue, unless they were
    decided before. A session counts as one witness: it reinforces or contradicts a memory at most once. If a model
    decides doubtful pairs, every possible correction waits for the model. What the agent itself says that its
    observation corrects or confirms is not judged.

    Source: OPS-09, OPS-10, R-OPS-5, R-OPS-6, JDG-07.
    """
    known = await memories.lock_candidates(sql, marker.service, marker.category)
    ending = read_ending(marker.observation, known)
    saying = ending and ending.saying
    if saying is not None:
        marker = replace(marker, observation=saying.observation)
    decided = await reviews.decided_pairs(sql, marker) if known else {}
    judged = await _judged(known, marker, decided, asks_model=asks_model)
    if saying is not None:
        judged = _with_saying(judged, saying)
    receipt = await _hold(sql, marker, judged, author)
    effects = [
        await _contradict(sql, memory, author.because(verdict.reason, receipt.memory.id))
        for memory, verdict in _of(judged, Verdict.CORRECT)
    ]
    if receipt.outcome is ReceiptOutcome.CREATED:
        for memory, verdict in judged:
            if verdict.verdict is Verdict.DOUBTFUL:
                await reviews.add(sql, memory, receipt.memory, verdict.reason, author.now)
    return replace(
        receipt,
        contradicted=tuple(effect for effect in effects if effect is not None),
        remark=ending.remark if ending else "",
    )


async def _judged(
    known: Sequence[Lesson],
    marker: MemoryMarker,
    decided: Mapping[str, PairVerdict],
    *,
    asks_model: bool,
) -> list[_Judged]:
    """Return the nearest memories with their judgements, in their order; a decision in review counts as judgement."""
    near, judgements = await asyncio.to_thread(_compared, known, marker)
    judged: list[_Judged] = []
    for memory, found in zip(near, judgements, strict=True):
        decision = decided.get(pair_name(memory, marker.observation)) if decided else None
        if decision is not None:
            grounds = f"This pair was decided in review: {decision}"
            decided_pair = replace(
                found, verdict=VERDICT_OF[decision], between=(), grounds=grounds, texts=None
            )
            judged.append((memory, decided_pair))
        elif asks_model and found.between:
            judged.append((memory, replace(found, verdict=Verdict.DOUBTFUL)))
        else:
            judged.append((memory, found))
    return judged


def _compared(known: Sequence[Lesson], marker: MemoryMarker) -> tuple[list[Lesson], list[Judgement]]:
    places = judge.nearest(marker.observation, [memory.observation for memory in known], MOST_COMPARED)
    near = [known[place] for place in places]
    pairs = [Compared(memory.observation, marker.observation, marker.service) for memory in near]
    return near, judge.compare_all(pairs)


def _with_saying(judged: Sequence[_Judged], saying: Saying) -> list[_Judged]:
    """Return the judged memories with what the agent said of one; what it confirms, no other memory takes in."""
    joins = {Verdict.SAME, Verdict.REFINE} if saying.judgement.verdict is Verdict.SAME else set[Verdict]()
    others = [
        (memory, judgement)
        for memory, judgement in judged
        if memory.id != saying.memory.id and judgement.verdict not in joins
    ]
    return [(saying.memory, saying.judgement), *others]


def _of(judged: Sequence[_Judged], verdict: Verdict) -> list[_Judged]:
    """Return the pairs with one verdict, the most certain first; ties: oldest first."""
    found = [pair for pair in judged if pair[1].verdict is verdict]
    return sorted(found, key=lambda pair: (-pair[1].probability, pair[0].id))


async def _hold(
    sql: OperationalStatements, marker: MemoryMarker, judged: Sequence[_Judged], author: Author
) -> LearningReceipt:
    """Return the memory that holds the observation, after changing or creating it."""
    for memory, verdict in _of(judged, Verdict.SAME):
        return await _reinforce(sql, memory, marker.observation, author.because(verdict.reason))
    refined = _of(judged, Verdict.REFINE)
    for memory, verdict in refined:
        text = joined(memory.observation, marker.observation)
        if text is not None:
            return await _refine(sql, memory, text, marker.observation, author.because(verdict.reason))
    related, reason = _relation(judged, refined)
    created = await memories.create(
        sql,
        service=marker.service,
        category=marker.category,
        observation=marker.observation,
        confidence=DEFAULT_CONFIDENCE,
        author=author.because(reason, related) if related else author,
    )
    for memory, verdict in refined[:1]:
        await _reinforce(sql, memory, marker.observation, author.because(verdict.reason, created.id))
    return LearningReceipt(outcome=ReceiptOutcome.CREATED, memory=created, reason=reason)


def _relation(judged: Sequence[_Judged], refined: Sequence[_Judged]) -> tuple[int | None, str]:
    """Return the memory that a new memory is linked to, and why the new memory was created."""
    for memory, verdict in _of(judged, Verdict.CORRECT):
        return memory.id, f"corrects #{memory.id}: {verdict.reason}"
    for memory, verdict in refined:
        return (
            memory.id,
            f"refines #{memory.id}, kept beside it because a joined text would be too long: {verdict.reason}",
        )
    for memory, verdict in _of(judged, Verdict.DOUBTFUL):
        return (
            memory.id,
            f"may correct #{memory.id}, kept beside it for review: {verdict.reason}",
        )
    if judged:
        return None, f"differs from {plural(len(judged), 'memory', 'memories')} of its service and category"
    return None, "the first memory of its service and category"


async def _reinforce(
    sql: OperationalStatements, memory: Lesson, wording: str, author: Author
) -> LearningReceipt:
    if await memories.session_changed(sql, memory, _WITNESSED, author.session_id):
        if wording != memory.observation:
            alone = author.because(author.reason)
            await memories.replace(sql, memory, memory, ChangeKind.REPEATED, alone, wording=wording)
        why = "this session has already reinforced it"
        return LearningReceipt(outcome=ReceiptOutcome.UNCHANGED, memory=memory, reason=why)
    stronger = replace(
        memory, confidence=confidence.step(memory.confidence, REINFORCEMENT), updated_at=author.now
    )
    stronger = await memories.replace(sql, memory, stronger, ChangeKind.REINFORCED, author, wording=wording)
    return LearningReceipt(outcome=ReceiptOutcome.REINFORCED, memory=stronger, reason=author.reason)


async def _refine(
    sql: OperationalStatements, memory: Lesson, text: str, wording: str, author: Author
) -> LearningReceipt:
    """Give a memory a text with both wordings, and reinforce it unless the session has already reinforced it."""
    witnessed = await memories.session_changed(sql, memory, _WITNESSED, author.session_id)
    trusted = memory.confidence if witnessed else confidence.step(memory.confidence, REINFORCEMENT)
    refined = replace(memory, observation=text, confidence=trusted, updated_at=author.now)
    refined = await memories.replace(sql, memory, refined, ChangeKind.REFINED, author, wording=wording)
    why = f"{author.reason} Its text holds both wordings."
    return LearningReceipt(outcome=ReceiptOutcome.REFINED, memory=refined, reason=why)


async def _contradict(sql: OperationalStatements, memory: Lesson, author: Author) -> Effect | None:
    """Weaken a memory without refreshing it; return ``None`` if this session has already weakened it."""
    if await memories.session_changed(sql, memory, _DOUBTED, author.session_id):
        return None
    weaker = _with_confidence(memory, confidence.step(memory.confidence, CONTRADICTION))
    await memories.replace(sql, memory, weaker, ChangeKind.CONTRADICTED, author)
    return _effect(memory, weaker, author.reason)


async def settle(
    sql: OperationalStatements,
    review: Review,
    decision: PairVerdict,
    author: Author,
    *,
    explanation: str = "",
) -> Review:
    """Apply a decision to a waiting pair, and remember it for the pair.

    ``same`` and ``refines`` reinforce the old memory, which takes in the new words unless the text would be too long; a
    new memory whose words the old memory contains becomes inactive. ``corrects`` weakens the old memory. ``distinct``
    keeps both. A memory that has become inactive is not changed.

    Raises:
        ConflictError: The pair is already decided.
    """
    old, new = [await memories.lock(sql, memory_id) for memory_id in (review.old_id, review.new_id)]
    await reviews.decide(sql, review, decision, (old, new), author, explanation=explanation)
    reason = f"Decided in review {review.id}: #{new.id} {_PHRASES[decision]} #{old.id}."
    reason += f" {explanation}" if explanation else ""
    if old.active and new.active:
        by_new, by_old = author.because(reason, new.id), author.because(reason, old.id)
        match decision:
            case PairVerdict.SAME:
                await _reinforce(sql, old, new.observation, by_new)
                await _retire(sql, new, by_old)
            case PairVerdict.REFINES:
                text = joined(old.observation, new.observation)
                if text is None:
                    await _reinforce(sql, old, new.observation, by_new)
                else:
                    await _refine(sql, old, text, new.observation, author.because(reason))
                    await _retire(sql, new, by_old)
            case PairVerdict.CORRECTS:
                await _contradict(sql, old, by_new)
            case PairVerdict.DISTINCT:
                pass
    return await reviews.get(sql, review.id)


async def undo(sql: OperationalStatements, review: Review, author: Author) -> Review:
    """Restore both memories of a decided pair to their state before the decision; the pair waits again.

    A memory that was seen again or edited after the decision stays as it is, because what was learned since must not
    be lost.

    Raises:
        ConflictError: The pair is not decided yet.
    """
    states = await reviews.reopen(sql, review)
    decided_at = review.decided_at or author.now
    for memory_id in (review.old_id, review.new_id):
        memory = await memories.lock(sql, memory_id)
        before = replace(memory, **states[memory_id])
        if before != memory and not await memories.seen_since(sql, memory, decided_at):
            undone = author.because(f"Undid the decision of review {review.id}.")
            await memories.replace(sql, memory, before, ChangeKind.EDITED, undone)
    return await reviews.get(sql, review.id)


_PHRASES: Final = {
    PairVerdict.SAME: "says the same as",
    PairVerdict.REFINES: "refines",
    PairVerdict.CORRECTS: "corrects",
    PairVerdict.DISTINCT: "is about something other than",
}


async def _retire(sql: OperationalStatements, memory: Lesson, author: Author) -> None:
    """Make a memory inactive because another memory now contains its words."""
    await memories.replace(sql, memory, replace(memory, active=False), ChangeKind.EDITED, author)


async def run_decay(
    sql: OperationalStatements, now: datetime, grace: timedelta = decay.GRACE
) -> list[Effect]:
    """Charge every active memory for the weeks without reinforcement, and return the changed memories.

    Source: OPS-11, R-OPS-7: ``updated_at`` does not change, and checking twice charges once.
    """
    effects: list[Effect] = []
    author = Author(actor=STALENESS, now=now)
    horizon = format_timestamp(now - grace)
    for row in await sql.lock_stale(updated_before=horizon):
        memory = Lesson.from_row(row)
        weeks = decay.weeks_stale(memory.updated_at, now, grace)
        due = weeks - row["weeks_charged"]
        if due <= 0:
            continue
        weaker = _with_confidence(memory, decay.decayed(memory.confidence, due))
        reason = f"not reinforced since {memory.updated_at:%Y-%m-%d}: {due} more week{'s'[: due > 1]} past the grace"
        await memories.replace(sql, memory, weaker, ChangeKind.DECAYED, author.because(reason))
        await sql.charge_decay(
            memory_id=memory.id,
            counted_from=row["updated_at"],
            weeks_charged=weeks,
            lost=row["lost"] + memory.confidence - weaker.confidence,
        )
        effects.append(_effect(memory, weaker, reason))
    return effects


def _with_confidence(memory: Lesson, value: float) -> Lesson:
    """Return a memory with less confidence; below the threshold it is inactive."""
    return replace(memory, confidence=value, active=memory.active and confidence.is_active(value))


def _effect(before: Lesson, after: Lesson, reason: str) -> Effect:
    return Effect(
        memory_id=before.id,
        observation=before.observation,
        confidence_before=before.confidence,
        confidence_after=after.confidence,
        active=after.active,
        reason=reason,
    )
