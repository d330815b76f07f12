"""The executor: applies an answer in one transaction, each action in a savepoint of its own (KNW-14).

An action that fails leaves a message and nothing else, and the others go on. A server that fails ends the transaction
with nothing written, and the same answer is applied again; one that was applied is not applied twice.

A rehearsal does all of it and rolls it back: what people are shown before they approve is what it did.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.errors import CommonplaceError, InvalidInputError, StorageUnavailableError
from commonplace.core.text import collapse_whitespace
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.active_model import refused_vectors
from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.leases import Lease, describe
from commonplace.knowledge.consolidation.policy import OUTAGES
from commonplace.knowledge.consolidation.results import ConsolidationResult
from commonplace.knowledge.consolidation.runs import Run, RunAction, RunState, action_of
from commonplace.knowledge.consolidation.steps import (
    Confirm,
    Group,
    Step,
    Steps,
    StoreFact,
    StoreRule,
    prepare,
)
from commonplace.knowledge.facts import GLOBAL_SCOPE, fact_key, insert_facts
from commonplace.knowledge.inputs import MemoryType
from commonplace.knowledge.rules import insert_rules
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Statements

PAUSES_S: Final = (0.2, 1.0, 3.0)
"""Before the answer is applied again when the server failed: the longest is what a server takes to start."""

FORGOTTEN: Final = "an episode of the group expired or was forgotten while the model worked"
"""Why all of an answer was refused; the others of its episodes wait as before."""

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
"""No fault of an action: all of the group is tried again. The last is a deadlock."""

_LATE: Final = "the result came late: the lease had ended, and another worker had taken over"

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class _RollBack(Exception):  # noqa: N818 - no error: the end of every rehearsal
    """Takes back what a rehearsal did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactText:
    """What a fact says."""

    id: UUID
    subject: str
    predicate: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedAction:
    """An action, what it would take the place of, and how many of the group's episodes it was learned from."""

    action: RunAction
    replaced: tuple[FactText, ...]
    evidence_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What applying an answer does as things stand: its actions in their order, and what cannot be done and why."""

    actions: tuple[RehearsedAction, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What a step did, as it is written down."""

    action: str
    memory_id: UUID
    superseded_ids: Sequence[UUID] = ()
    confirmed_before: datetime | None = None
    confirmed_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class _Record:
    """What has been done so far."""

    errors: list[str]
    counts: Counter[str] = field(default_factory=Counter[str])
    steps: list[Step] = field(default_factory=list[Step])
    """Those that were done; the place of each is its action's position."""


async def apply(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    lease: Lease,
    result: ConsolidationResult,
    known: Known,
    *,
    clock: Clock,
) -> Run:
    """Apply an answer: store, update and confirm, link what is new to its episodes, and mark these as consolidated.

    New facts and rules are the butler's: scope and source are its name. A fact or rule that says just what a visible
    one says already is confirmed in place of being stored once more. No connection is held while vectors are computed.

    Returns:
        The run as it is now: ``applied``, with what could not be done in ``errors``; or ``refused``, without any
        effect, where the lease was lost or an episode was forgotten meanwhile. A run that had been applied is
        returned as it was.

    Raises:
        EmbeddingError: The model of vectors cannot be used, or is another than that of the memories; nothing was
            written.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached, also after several attempts; nothing was written.

    Source: KNW-14, R-KNW-3.
    """
    steps = await _prepare(pool, engine, lease, result, known)
    return await _until_the_server_answers(
        lease, lambda: _apply(pool, lease, steps, result.parse_errors, clock())
    )


async def rehearse(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    lease: Lease,
    result: ConsolidationResult,
    known: Known,
    *,
    clock: Clock,
) -> Rehearsal | str:
    """Apply an answer, look at what came of it, and roll it back.

    Returns:
        What :func:`apply` would do as things stand; where it would refuse all of it, why.

    Raises:
        EmbeddingError: The model of vectors cannot be used, or is another than that of the memories.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached, also after several attempts.
    """
    steps = await _prepare(pool, engine, lease, result, known)
    return await _until_the_server_answers(
        lease, lambda: _rehearse(pool, lease, steps, result.parse_errors, clock())
    )


async def _prepare(
    pool: asyncpg.Pool, engine: EmbeddingEngine, lease: Lease, result: ConsolidationResult, known: Known
) -> Steps:
    episode_ids = tuple(episode.id for episode in lease.episodes)
    return await prepare(
        pool, engine, result, Group(butler=lease.butler, episode_ids=episode_ids, known=known)
    )


async def _until_the_server_answers(lease: Lease, work: Callable[[], Awaitable[_T]]) -> _T:
    for pause_s in (*PAUSES_S, None):
        try:
            return await work()
        except (StorageUnavailableError, asyncpg.TransactionRollbackError) as error:
            if pause_s is None:
                raise StorageUnavailableError(f"run {lease.run_id} could not be applied: {error}") from error
            _log.warning("run %s is applied again in %.1f s: %s", lease.run_id, pause_s, error)
            await asyncio.sleep(pause_s)
    raise AssertionError  # the last pass returns or raises


async def _apply(
    pool: asyncpg.Pool, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Run:
    async with unit_of_work(pool) as sql:
        await sql.set_run(run_id=str(lease.run_id))
        run = Run.of(await sql.lock_run(run_id=lease.run_id))
        if run.state in {RunState.APPLIED, RunState.UNDONE, RunState.REFUSED}:
            return run
        reason = await _reason_to_refuse(sql, run, lease, now)
        if reason is not None:
            return await _refuse(sql, lease, reason, now)
        record = await _do_all(sql, lease, steps, parse_errors, now)
        await sql.consolidate_episodes(run_id=lease.run_id)
        finished = await sql.finish_run(
            run_id=lease.run_id,
            facts_created=record.counts["fact_created"],
            facts_updated=record.counts["fact_updated"],
            facts_confirmed=record.counts["fact_confirmed"],
            rules_created=record.counts["rule_created"],
            rules_confirmed=record.counts["rule_confirmed"],
            errors=record.errors,
            now=now,
        )
    for message in record.errors:
        _log.warning("run %s of butler %r: %s", lease.run_id, lease.butler, message)
    return Run.of(finished)


async def _rehearse(
    pool: asyncpg.Pool, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Rehearsal | str:
    rehearsal: Rehearsal | str = ""
    with suppress(_RollBack):
        async with unit_of_work(pool) as sql:
            await sql.set_run(run_id=str(lease.run_id))
            run = Run.of(await sql.lock_run(run_id=lease.run_id))
            reason = await _reason_to_refuse(sql, run, lease, now)
            if reason is not None:
                return reason
            record = await _do_all(sql, lease, steps, parse_errors, now)
            rehearsal = await _seen(sql, lease, record)
            raise _RollBack
    return rehearsal


async def _seen(sql: Statements, lease: Lease, record: _Record) -> Rehearsal:
    """Return what the steps of a transaction have done so far."""
    actions = [action_of(row) for row in await sql.run_actions(run_id=lease.run_id)]
    superseded = {each for action in actions for each in action.superseded_ids}
    texts = {row["id"]: FactText(**row) for row in await sql.fact_texts(ids=list(superseded))}
    return Rehearsal(
        actions=tuple(
            RehearsedAction(
                action=action,
                replaced=tuple(texts[each] for each in action.superseded_ids),
                evidence_count=len(lease.episodes if isinstance(step, Confirm) else step.evidence),
            )
            for action, step in zip(actions, record.steps, strict=True)
        ),
        errors=tuple(record.errors),
    )


async def _do_all(
    sql: Statements, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> _Record:
    await _lock(sql, steps, lease.butler)
    record = _Record(errors=[*parse_errors, *steps.errors])
    for step in steps.steps:
        await _isolated(sql, step, lease, record, now)
    return record


async def _reason_to_refuse(sql: Statements, run: Run, lease: Lease, now: datetime) -> str | None:
    """Return why nothing of an answer may be applied; lock the episodes of the run where it may."""
    if run.state is RunState.FAILED:
        return _LATE
    episodes = await sql.lock_run_episodes(run_id=lease.run_id, now=now)
    return FORGOTTEN if len(episodes) < len(lease.episodes) else None


async def _refuse(sql: Statements, lease: Lease, reason: str, now: datetime) -> Run:
    _log.warning("run %s of butler %r is refused: %s", lease.run_id, lease.butler, reason)
    await sql.release_episodes(run_id=lease.run_id)
    await sql.end_run(run_id=lease.run_id, state=RunState.REFUSED, errors=[reason], now=now)
    return Run.of(await sql.lock_run(run_id=lease.run_id))


async def _lock(sql: Statements, steps: Steps, butler: str) -> None:
    """Lock all that the steps may change, in the order in which everybody locks."""
    facts = [step for step in steps.steps if isinstance(step, StoreFact)]
    confirmed = [step for step in steps.steps if isinstance(step, Confirm)]
    await sql.serialise_fact_keys(keys=[fact_key(step.row) for step in facts])
    targets = {step.target_id for step in facts if step.target_id is not None}
    named = {step.memory_id for step in confirmed if step.memory_type is MemoryType.FACT}
    await sql.lock_facts(
        ids=list(targets | named),
        scopes=sorted({GLOBAL_SCOPE, butler} | {step.row["scope"] for step in facts}),
        subjects=[step.row["subject"] for step in facts],
        predicates=[step.row["predicate"] for step in facts],
    )
    await sql.lock_rules(ids=[step.memory_id for step in confirmed if step.memory_type is MemoryType.RULE])


async def _isolated(sql: Statements, step: Step, lease: Lease, record: _Record, now: datetime) -> None:
    """Do a step in a savepoint, so that what fails leaves nothing behind and the next one can be done (KNW-14.4).

    Raises:
        ModelMismatchError: The vectors are not of the memories' model. No step can be stored, so none is at fault.
        Exception: The server failed.
    """
    try:
        async with sql.connection.transaction():
            with refused_vectors():
                done = await _do(sql, step, lease.butler, now)
            await sql.record_action(
                run_id=lease.run_id,
                position=len(record.steps),
                action=done.action,
                memory_id=done.memory_id,
                superseded_ids=list(done.superseded_ids),
                confirmed_before=done.confirmed_before,
                confirmed_at=done.confirmed_at,
            )
    except OUTAGES:
        raise
    except Exception as error:
        if isinstance(error, _SERVER_FAULTS) and not isinstance(error, ValueError):
            raise
        if not isinstance(error, CommonplaceError):
            _log.exception("run %s: %s failed", lease.run_id, step.place)
        record.errors.append(f"{step.place}: {describe(error)}")
    else:
        record.counts[done.action] += 1
        record.steps.append(step)


async def _do(sql: Statements, step: Step, butler: str, now: datetime) -> _Done:
    match step:
        case StoreFact():
            return await _store_fact(sql, step, butler, now)
        case StoreRule():
            return await _store_rule(sql, step, butler, now)
        case Confirm():
            return await _confirm(sql, step.memory_type, step.memory_id, now)


async def _store_fact(sql: Statements, step: StoreFact, butler: str, now: datetime) -> _Done:
    row = step.row
    if step.target_id is None:
        same = await sql.same_fact(
            butler=butler, subject=row["subject"], predicate=row["predicate"], content=row["content"]
        )
        standing = same["id"] if same else None
    else:
        standing = await _standing_target(sql, step)
    if standing is not None:
        await sql.derive_from(
            source_type="fact", source_id=standing, episode_ids=list(step.evidence), now=now
        )
        return await _confirm(sql, MemoryType.FACT, standing, now)
    (receipt,) = await insert_facts(sql, [row], step.embeddings, now=now)
    superseded = [] if receipt.superseded_id is None else [receipt.superseded_id]
    if step.target_id is not None and step.target_id not in superseded:
        # The answer gave it another subject or predicate, so that the key did not find it.
        await sql.supersede_fact(id=step.target_id, by_id=receipt.id, now=now)
        superseded.append(step.target_id)
    await sql.derive_from(source_type="fact", source_id=receipt.id, episode_ids=list(step.evidence), now=now)
    action = "fact_created" if step.target_id is None else "fact_updated"
    return _Done(action=action, memory_id=receipt.id, superseded_ids=superseded)


async def _standing_target(sql: Statements, step: StoreFact) -> UUID | None:
    """Return the target's id where it says just this already.

    Raises:
        InvalidInputError: It is not active any more, or is another entity's now: what replaced it is newer than what
            the model was shown.
    """
    row = step.row
    target = await sql.standing_fact(id=step.target_id)
    if target is None or target["entity_id"] != row["entity_id"]:
        raise InvalidInputError(
            "target_id", "a fact that has not changed since the model was shown it", str(step.target_id)
        )
    same_key = (target["subject"], target["predicate"]) == (row["subject"], row["predicate"])
    return target["id"] if same_key and _plain(target["content"]) == _plain(row["content"]) else None


def _plain(text: str) -> str:
    return collapse_whitespace(text).lower()


async def _store_rule(sql: Statements, step: StoreRule, butler: str, now: datetime) -> _Done:
    same = await sql.same_rule(butler=butler, content=step.row["content"])
    if same is not None:
        rule_id = same["id"]
    else:
        (rule_id,) = await insert_rules(sql, [step.row], step.embeddings, now=now)
    await sql.derive_from(source_type="rule", source_id=rule_id, episode_ids=list(step.evidence), now=now)
    if same is not None:
        return await _confirm(sql, MemoryType.RULE, rule_id, now)
    return _Done(action="rule_created", memory_id=rule_id)


async def _confirm(sql: Statements, memory_type: MemoryType, memory_id: UUID, now: datetime) -> _Done:
    before = await sql.confirmed_at(memory_type=memory_type, id=memory_id)
    confirm = sql.confirm_fact if memory_type is MemoryType.FACT else sql.confirm_rule
    if await confirm(id=memory_id, now=now) is None:
        raise InvalidInputError("id", f"a {memory_type} that is still active", str(memory_id))
    return _Done(
        action=f"{memory_type}_confirmed", memory_id=memory_id, confirmed_before=before, confirmed_at=now
    )
