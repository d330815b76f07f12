"""The actions of a run on facts and rules, each in its own savepoint (KNW-14.4)."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import asyncpg

from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.knowledge.consolidation.leases import Lease, describe
from commonplace.knowledge.consolidation.runs import ActionKind
from commonplace.knowledge.consolidation.step_kinds import (
    Confirm,
    Retract,
    Step,
    Steps,
    StoreFact,
    StoreRule,
)
from commonplace.knowledge.entities.subjects import Subjects
from commonplace.knowledge.memories.facts import (
    insert_facts,
    queue_reviews,
    with_entities,
)
from commonplace.knowledge.memories.rules import insert_rules, supersede_rule
from commonplace.knowledge.model.fact_drafts import all_keys
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, MemoryType
from commonplace.knowledge.model.permanence import Permanence
from commonplace.knowledge.rules.consolidation_policy import OUTAGES
from commonplace.knowledge.rules.siblings import plain
from commonplace.knowledge.rules.supersession import LEAST_IMPORTANCE, Placement
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.knowledge.store.vectors import refused_vectors

_SERVER_FAULTS: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.LockNotAvailableError,
    asyncpg.TransactionRollbackError,
)
"""Faults of the server, not of an action, after which the whole group is retried. The last one is a deadlock."""

_IMPORTANT: Final = ", which is important; decide with: commonplace review"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """The record of a completed action."""

    action: ActionKind
    memory_id: UUID
    superseded_ids: Sequence[UUID] = ()
    confirmed_before: datetime | None = None
    confirmed_at: datetime | None = None
    note: str = ""
    is_held: bool = False

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``consolidation_actions``."""
        values = {name: getattr(self, name) for name in self.__slots__ if name not in {"note", "is_held"}}
        return values | {"superseded_ids": list(self.superseded_ids)}


@dataclass(slots=True, kw_only=True)
class Progress:
    """The results of the steps so far; the index of a step in ``steps`` is the position of its action."""

    errors: list[str]
    notes: list[str] = field(default_factory=list[str])
    counts: Counter[ActionKind] = field(default_factory=Counter[ActionKind])
    steps: list[Step] = field(default_factory=list[Step])


async def do_steps(
    sql: KnowledgeStatements, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Progress:
    """Lock the memories that the steps can change, then run the steps.

    A failed step leaves a message and no other effect, and the next step runs.

    Raises:
        ModelMismatchError: The vectors do not belong to the memories' model, so no step can be stored.
        Exception: The server failed.
    """
    facts = [step for step in steps.steps if isinstance(step, StoreFact)]
    drafts, found = await with_entities(sql, [step.draft for step in facts])
    linked = {step.place: replace(step, draft=draft) for step, draft in zip(facts, drafts, strict=True)}
    steps = replace(steps, steps=tuple(linked.get(step.place, step) for step in steps.steps))
    await _lock(sql, steps, lease.butler)
    progress = Progress(errors=[*parse_errors, *steps.errors])
    for step in steps.steps:
        await _isolated(sql, step, lease, progress, found, now)
    return progress


async def _lock(sql: KnowledgeStatements, steps: Steps, butler: str) -> None:
    """Lock in the order that all transactions use."""
    facts = [step for step in steps.steps if isinstance(step, StoreFact)]
    named = [step for step in steps.steps if isinstance(step, Confirm | Retract)]
    targets = {step.target_id for step in facts if step.target_id is not None}
    rules = {step.target_id for step in steps.steps if isinstance(step, StoreRule) and step.target_id}
    await sql.serialise_fact_keys(keys=all_keys(step.draft for step in facts))
    await sql.lock_facts(
        ids=list(targets | {step.memory_id for step in named if step.memory_type is MemoryType.FACT}),
        scopes=sorted({GLOBAL_SCOPE, butler} | {step.draft.scope for step in facts}),
        subjects=[step.draft.subject for step in facts] * 2,
        predicates=[*(step.draft.predicate for step in facts), *(step.said for step in facts)],
    )
    await of_kind(MemoryType.RULE, sql).lock(
        ids=list(rules | {step.memory_id for step in named if step.memory_type is MemoryType.RULE})
    )


async def _isolated(
    sql: KnowledgeStatements, step: Step, lease: Lease, progress: Progress, found: Subjects, now: datetime
) -> None:
    try:
        async with sql.connection.transaction():
            with refused_vectors():
                done = await _do(sql, step, lease, found, now)
            await sql.record_action(run_id=lease.run_id, position=len(progress.steps), **done.columns())
    except OUTAGES:
        raise
    except Exception as error:
        if isinstance(error, _SERVER_FAULTS) and not isinstance(error, ValueError):
            raise
        if not isinstance(error, CommonplaceError):
            _log.exception("run %s: %s failed", lease.run_id, step.place)
        progress.errors.append(f"{step.place}: {describe(error)}")
    else:
        progress.counts[done.action] += not done.is_held
        progress.steps.append(step)
        progress.notes += [f"{step.place}: {note}" for note in (_stored_as(step), done.note) if note]


def _stored_as(step: Step) -> str:
    """Return a note that a fact is stored under another key than the answer gives."""
    if not isinstance(step, StoreFact):
        return ""
    subject, predicate = step.draft.subject, step.draft.predicate
    if step.is_apart and predicate != step.said:
        return f"{subject} {step.said} holds several values; stored as {predicate}"
    if (subject, predicate) == (step.said_subject or subject, step.said):
        return ""
    return (
        f"{step.said_subject or subject} {step.said} is another name of {subject} {predicate}; stored there"
    )


async def _do(sql: KnowledgeStatements, step: Step, lease: Lease, found: Subjects, now: datetime) -> _Done:
    match step:
        case StoreFact(target_id=None):
            return await _new_fact(sql, step, lease, found, now)
        case StoreFact():
            return await _updated_fact(sql, step, lease, found, now)
        case StoreRule(target_id=None):
            return await _new_rule(sql, step, lease.butler, now)
        case StoreRule():
            return await _updated_rule(sql, step, now)
        case Retract():
            return await _retract(sql, step, now)
        case Confirm():
            return await _confirm(sql, step.memory_type, step.memory_id, now)


async def _new_fact(
    sql: KnowledgeStatements, step: StoreFact, lease: Lease, found: Subjects, now: datetime
) -> _Done:
    """Store a new fact, or confirm a fact that says the same; a superseded fact may wait for a review."""
    draft = step.draft
    same = await sql.same_fact(
        butler=lease.butler,
        subject=draft.subject,
        predicates=[draft.predicate, step.said],
        content=draft.content,
    )
    if same is not None and draft.valid_to is None:
        await _link(sql, MemoryType.FACT, same, step, now)
        return await _confirm(sql, MemoryType.FACT, same, now)
    (placement,) = await insert_facts(
        sql, [draft], step.embeddings, found=found, now=now, period=step.period, is_change=step.is_change
    )
    await _link(sql, MemoryType.FACT, placement.id, step, now)
    if placement.superseded_id is None:
        return _beside(placement)
    waits = await queue_reviews(sql, [placement], now=now, run_id=lease.run_id)
    return _Done(
        action=ActionKind.FACT_CREATED,
        memory_id=placement.id,
        superseded_ids=[placement.superseded_id],
        note=f"superseded the {'earlier' if step.follows else 'known'} fact {placement.superseded_id}"
        f" of {draft.subject} {draft.predicate}{_IMPORTANT if waits else ''}",
    )


async def _updated_fact(
    sql: KnowledgeStatements, step: StoreFact, lease: Lease, found: Subjects, now: datetime
) -> _Done:
    """Store a fact in place of its target, which may wait for a review, or confirm a target that says the same.

    Raises:
        InvalidInputError: The target is no longer active or now belongs to another entity, because it changed after the
            model saw it.
    """
    draft, target_id = step.draft, step.target_id
    target = await sql.standing_fact(id=target_id)
    if target is None or (target["entity_id"] not in {None, draft.entity_id} and draft.entity_id is not None):
        raise InvalidInputError(
            "target_id", "a fact that has not changed since the model was shown it", str(target_id)
        )
    draft = replace(draft, entity_id=draft.entity_id or target["entity_id"])
    same_key = (target["subject"], target["predicate"]) == (draft.subject, draft.predicate)
    if not same_key:
        await _require_rank(sql, MemoryType.FACT, target["id"])
    if same_key and plain(target["content"]) == plain(draft.content) and draft.valid_to is None:
        await _link(sql, MemoryType.FACT, target["id"], step, now)
        return await _confirm(sql, MemoryType.FACT, target["id"], now)
    # The answer may have changed the subject or predicate, so that the key does not find the target.
    (placement,) = await insert_facts(
        sql,
        [draft],
        step.embeddings,
        found=found,
        now=now,
        target_id=target["id"],
        is_change=step.is_change,
    )
    await _link(sql, MemoryType.FACT, placement.id, step, now)
    if not placement.takes_key:
        return _beside(placement)
    waiting = await queue_reviews(sql, [placement], now=now, run_id=lease.run_id)
    return _Done(
        action=ActionKind.FACT_UPDATED,
        memory_id=placement.id,
        superseded_ids=[each for each in dict.fromkeys([placement.superseded_id, target["id"]]) if each],
        note="; ".join(f"superseded the fact {old_id}{_IMPORTANT}" for old_id, _ in waiting),
    )


async def _new_rule(sql: KnowledgeStatements, step: StoreRule, butler: str, now: datetime) -> _Done:
    same = await sql.same_rule(butler=butler, content=step.draft.content)
    if same is not None:
        await _link(sql, MemoryType.RULE, same, step, now)
        return await _confirm(sql, MemoryType.RULE, same, now)
    (receipt,) = await insert_rules(sql, [step.draft], step.embeddings, now=now, decay_rate=step.decay_rate)
    await _link(sql, MemoryType.RULE, receipt.id, step, now)
    return _Done(action=ActionKind.RULE_CREATED, memory_id=receipt.id)


async def _updated_rule(sql: KnowledgeStatements, step: StoreRule, now: datetime) -> _Done:
    """Store a rule in place of its target, which is then forgotten, or confirm a target that says the same.

    Raises:
        InvalidInputError: The target was forgotten after the model saw it.
    """
    content = await sql.standing_rule(id=step.target_id)
    if content is None or step.target_id is None:
        raise InvalidInputError("target_id", "a rule that is not forgotten", str(step.target_id))
    if plain(content) == plain(step.draft.content):
        await _link(sql, MemoryType.RULE, step.target_id, step, now)
        return await _confirm(sql, MemoryType.RULE, step.target_id, now)
    await _require_rank(sql, MemoryType.RULE, step.target_id)
    (receipt,) = await insert_rules(sql, [step.draft], step.embeddings, now=now, decay_rate=step.decay_rate)
    await supersede_rule(sql, step.target_id, by_id=receipt.id, now=now)
    await _link(sql, MemoryType.RULE, receipt.id, step, now)
    return _Done(action=ActionKind.RULE_UPDATED, memory_id=receipt.id, superseded_ids=[step.target_id])


async def _retract(sql: KnowledgeStatements, step: Retract, now: datetime) -> _Done:
    """Withdraw a fact or rule.

    Raises:
        InvalidInputError: The memory is no longer active.
    """
    is_fact = step.memory_type is MemoryType.FACT
    fact = await sql.standing_fact(id=step.memory_id) if is_fact else None
    if fact is None and (is_fact or await sql.standing_rule(id=step.memory_id) is None):
        raise InvalidInputError(
            "target_id", f"a {step.memory_type} that is still active", str(step.memory_id)
        )
    await _require_rank(sql, step.memory_type, step.memory_id)
    await (sql.retract_fact if is_fact else sql.forget_rule)(id=step.memory_id)
    await _link(sql, step.memory_type, step.memory_id, step, now, relation="contradicts")
    note = (
        "withdrew an important fact; if it still holds, undo the run"
        if fact is not None and _matters(fact)
        else ""
    )
    return _Done(action=ActionKind(f"{step.memory_type}_retracted"), memory_id=step.memory_id, note=note)


def _matters(fact: Mapping[str, Any]) -> bool:
    return fact["permanence"] == Permanence.PERMANENT or fact["importance"] >= LEAST_IMPORTANCE


async def _require_rank(sql: KnowledgeStatements, memory_type: MemoryType, memory_id: UUID) -> None:
    """Refuse to replace or withdraw a memory that is more trusted than the episodes of the run.

    Raises:
        InvalidInputError: The memory is more trusted.
    """
    if await of_kind(memory_type, sql).is_outranked(id=memory_id):
        expected = f"a {memory_type} that is at most as trusted as the episodes"
        raise InvalidInputError("target_id", expected, str(memory_id))


def _beside(placement: Placement) -> _Done:
    """Return the action of a new fact that replaced no fact, with a note about the fact that it leaves current."""
    note = ""
    if placement.contradicts_id is not None:
        note = f"held, because it contradicts the more trusted fact {placement.contradicts_id}"
        note += "; decide with: commonplace review"
    elif placement.current_id is not None:
        note = f"kept as history, because its period has ended; the fact {placement.current_id} stays current"
    return _Done(
        action=ActionKind.FACT_CREATED,
        memory_id=placement.id,
        note=note,
        is_held=placement.contradicts_id is not None,
    )


async def _link(
    sql: KnowledgeStatements,
    memory_type: MemoryType,
    memory_id: UUID,
    step: StoreFact | StoreRule | Retract,
    now: datetime,
    *,
    relation: Literal["derived_from", "contradicts"] = "derived_from",
) -> None:
    """Link a memory to the episodes of a step."""
    await sql.link_episodes(
        source_type=memory_type,
        source_id=memory_id,
        episode_ids=list(step.evidence),
        relation=relation,
        now=now,
    )


async def _confirm(
    sql: KnowledgeStatements, memory_type: MemoryType, memory_id: UUID, now: datetime
) -> _Done:
    before = await of_kind(memory_type, sql).confirmed_at(id=memory_id)
    if await of_kind(memory_type, sql).confirm(id=memory_id, now=now) is None:
        raise InvalidInputError("id", f"a {memory_type} that is still active", str(memory_id))
    action = ActionKind(f"{memory_type}_confirmed")
    return _Done(action=action, memory_id=memory_id, confirmed_before=before, confirmed_at=now)
