"""The actions of a run on facts and rules, each in a savepoint of its own (KNW-14.4)."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.consolidation.leases import Lease, describe
from commonplace.knowledge.consolidation.policy import OUTAGES
from commonplace.knowledge.consolidation.runs import ActionKind
from commonplace.knowledge.consolidation.steps import Confirm, Step, Steps, StoreFact, StoreRule
from commonplace.knowledge.facts import GLOBAL_SCOPE, insert_facts
from commonplace.knowledge.inputs import MemoryType
from commonplace.knowledge.rules import insert_rules
from commonplace.knowledge.vectors import refused_vectors
from commonplace.storage.database import Statements

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
"""Faults of the server, not of an action: the whole group is tried again. The last one is a deadlock."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """The record of a completed action."""

    action: ActionKind
    memory_id: UUID
    superseded_ids: Sequence[UUID] = ()
    confirmed_before: datetime | None = None
    confirmed_at: datetime | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns of ``consolidation_actions``."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"superseded_ids": list(self.superseded_ids)}


@dataclass(slots=True, kw_only=True)
class Progress:
    """The results of the steps so far; the place of a step in ``steps`` is its action's position."""

    errors: list[str]
    counts: Counter[ActionKind] = field(default_factory=Counter[ActionKind])
    steps: list[Step] = field(default_factory=list[Step])


async def do_steps(
    sql: Statements, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Progress:
    """Lock the memories that the steps can change, then do the steps.

    A step that fails leaves a message and no other effect, and the next step is done.

    Raises:
        ModelMismatchError: The vectors do not belong to the memories' model, so no step can be stored.
        Exception: The server failed.
    """
    await _lock(sql, steps, lease.butler)
    progress = Progress(errors=[*parse_errors, *steps.errors])
    for step in steps.steps:
        await _isolated(sql, step, lease, progress, now)
    return progress


async def _lock(sql: Statements, steps: Steps, butler: str) -> None:
    """Lock in the order that all transactions keep."""
    facts = [step for step in steps.steps if isinstance(step, StoreFact)]
    confirmed = [step for step in steps.steps if isinstance(step, Confirm)]
    await sql.serialise_fact_keys(keys=[step.draft.key for step in facts])
    targets = {step.target_id for step in facts if step.target_id is not None}
    named = {step.memory_id for step in confirmed if step.memory_type is MemoryType.FACT}
    await sql.lock_facts(
        ids=list(targets | named),
        scopes=sorted({GLOBAL_SCOPE, butler} | {step.draft.scope for step in facts}),
        subjects=[step.draft.subject for step in facts],
        predicates=[step.draft.predicate for step in facts],
    )
    await sql.lock_rules(ids=[step.memory_id for step in confirmed if step.memory_type is MemoryType.RULE])


async def _isolated(sql: Statements, step: Step, lease: Lease, progress: Progress, now: datetime) -> None:
    try:
        async with sql.connection.transaction():
            with refused_vectors():
                done = await _do(sql, step, lease.butler, now)
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
        progress.counts[done.action] += 1
        progress.steps.append(step)


async def _do(sql: Statements, step: Step, butler: str, now: datetime) -> _Done:
    match step:
        case StoreFact():
            return await _store_fact(sql, step, butler, now)
        case StoreRule():
            return await _store_rule(sql, step, butler, now)
        case Confirm():
            return await _confirm(sql, step.memory_type, step.memory_id, now)


async def _store_fact(sql: Statements, step: StoreFact, butler: str, now: datetime) -> _Done:
    fact = step.draft
    if step.target_id is None:
        same = await sql.same_fact(
            butler=butler, subject=fact.subject, predicate=fact.predicate, content=fact.content
        )
    else:
        same = await _same_target(sql, step)
    if same is not None:
        await _derive(sql, MemoryType.FACT, same, step, now)
        return await _confirm(sql, MemoryType.FACT, same, now)
    (receipt,) = await insert_facts(sql, [fact], step.embeddings, now=now)
    superseded = [] if receipt.superseded_id is None else [receipt.superseded_id]
    if step.target_id is not None and step.target_id not in superseded:
        # The answer changed the subject or predicate, so the key did not find the target.
        await sql.supersede_fact(id=step.target_id, by_id=receipt.id, now=now)
        superseded.append(step.target_id)
    await _derive(sql, MemoryType.FACT, receipt.id, step, now)
    action = ActionKind.FACT_CREATED if step.target_id is None else ActionKind.FACT_UPDATED
    return _Done(action=action, memory_id=receipt.id, superseded_ids=superseded)


async def _same_target(sql: Statements, step: StoreFact) -> UUID | None:
    """Return the target's id if the target already says the same.

    Raises:
        InvalidInputError: The target is no longer active or belongs to another entity now: a newer fact replaced it
            after the model saw it.
    """
    fact = step.draft
    target = await sql.standing_fact(id=step.target_id)
    if target is None or target["entity_id"] != fact.entity_id:
        raise InvalidInputError(
            "target_id", "a fact that has not changed since the model was shown it", str(step.target_id)
        )
    same_key = (target["subject"], target["predicate"]) == (fact.subject, fact.predicate)
    return step.target_id if same_key and _plain(target["content"]) == _plain(fact.content) else None


def _plain(text: str) -> str:
    return collapse_whitespace(text).lower()


async def _store_rule(sql: Statements, step: StoreRule, butler: str, now: datetime) -> _Done:
    same = await sql.same_rule(butler=butler, content=step.draft.content)
    if same is not None:
        await _derive(sql, MemoryType.RULE, same, step, now)
        return await _confirm(sql, MemoryType.RULE, same, now)
    (receipt,) = await insert_rules(sql, [step.draft], step.embeddings, now=now)
    await _derive(sql, MemoryType.RULE, receipt.id, step, now)
    return _Done(action=ActionKind.RULE_CREATED, memory_id=receipt.id)


async def _derive(
    sql: Statements, memory_type: MemoryType, memory_id: UUID, step: StoreFact | StoreRule, now: datetime
) -> None:
    await sql.derive_from(
        source_type=memory_type, source_id=memory_id, episode_ids=list(step.evidence), now=now
    )


async def _confirm(sql: Statements, memory_type: MemoryType, memory_id: UUID, now: datetime) -> _Done:
    before = await sql.confirmed_at(memory_type=memory_type, id=memory_id)
    is_fact = memory_type is MemoryType.FACT
    confirm = sql.confirm_fact if is_fact else sql.confirm_rule
    if await confirm(id=memory_id, now=now) is None:
        raise InvalidInputError("id", f"a {memory_type} that is still active", str(memory_id))
    action = ActionKind.FACT_CONFIRMED if is_fact else ActionKind.RULE_CONFIRMED
    return _Done(action=action, memory_id=memory_id, confirmed_before=before, confirmed_at=now)
