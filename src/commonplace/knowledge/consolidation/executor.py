"""The executor: applies an answer in one transaction (KNW-14).

If the server fails, the transaction writes nothing and the same answer is applied again; an answer is never applied
twice. A rehearsal runs the same transaction and rolls it back, so the plan that people approve shows the exact effects.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Final, TypeVar
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.errors import StorageUnavailableError
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation.actions import Progress, do_steps
from commonplace.knowledge.consolidation.known import Known
from commonplace.knowledge.consolidation.leases import Lease
from commonplace.knowledge.consolidation.runs import ActionKind, Run, RunAction, RunState
from commonplace.knowledge.consolidation.step_kinds import Confirm, EpisodeGroup, Steps
from commonplace.knowledge.consolidation.steps import prepare
from commonplace.knowledge.memories.rules import DECAY_RATE
from commonplace.knowledge.model.consolidation_results import ConsolidationResult
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import unit_of_work

PAUSES_S: Final = (0.2, 1.0, 3.0)
"""The pauses before an answer is applied again after a server fault; a server restarts within the longest pause."""

FORGOTTEN: Final = "an episode of the group expired or was forgotten while the model worked"
"""A reason to refuse a whole answer; the other episodes of the group keep waiting."""

_LATE: Final = "the result came too late: the lease had ended, and another worker had taken over"

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class _RollBack(Exception):  # noqa: N818 - not an error: the end of every rehearsal
    """Rolls a rehearsal back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText:
    """The texts of a fact, or of a rule, which has no subject and predicate."""

    id: UUID
    subject: str | None
    predicate: str | None
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedAction:
    """An action, the memories that it would replace, and the number of episodes that it was learned from."""

    action: RunAction
    replaced: tuple[MemoryText, ...]
    evidence_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The effects of an answer at this moment.

    Attributes:
        actions: The actions in order.
        notes: Effects that the answer does not state.
        errors: The entries that cannot be applied.
    """

    actions: tuple[RehearsedAction, ...]
    notes: tuple[str, ...]
    errors: tuple[str, ...]


async def apply(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    lease: Lease,
    result: ConsolidationResult,
    known: Known,
    *,
    clock: Clock,
    zone: tzinfo = UTC,
    rule_decay_rate: float = DECAY_RATE,
) -> Run:
    """Apply an answer: store, update, withdraw and confirm memories, link them to episodes, mark these as consolidated.

    The butler owns new facts and rules: its name is their scope and source. They are as trusted as the least trusted
    episode that the model read, and at most as an agent. If a visible memory already says the same, it is confirmed
    instead. No connection is held while vectors are computed.

    Returns:
        The run: ``applied``, with failed entries in ``errors``, or ``refused``, without any effect, if the lease was
        lost or an episode was forgotten in the meantime. A run that was already applied is returned unchanged.

    Raises:
        EmbeddingError: The embedding model cannot be used, or is not the memories' model; nothing was written.
        StorageUnavailableError: The server could not be reached in several attempts; nothing was written.

    Source: KNW-14, R-KNW-3.
    """
    steps = await _prepare(pool, engine, lease, result, known, zone, rule_decay_rate)
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
    zone: tzinfo = UTC,
    rule_decay_rate: float = DECAY_RATE,
) -> Rehearsal | str:
    """Apply an answer, read the effects, and roll the transaction back.

    Returns:
        The effects that :func:`apply` would have at this moment, or the reason why it would refuse the answer.

    Raises:
        EmbeddingError: The embedding model cannot be used, or is not the memories' model.
        StorageUnavailableError: The server could not be reached in several attempts.
    """
    steps = await _prepare(pool, engine, lease, result, known, zone, rule_decay_rate)
    return await _until_the_server_answers(
        lease, lambda: _rehearse(pool, lease, steps, result.parse_errors, clock())
    )


async def _prepare(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    lease: Lease,
    result: ConsolidationResult,
    known: Known,
    zone: tzinfo,
    rule_decay_rate: float,
) -> Steps:
    said_at = {episode.id: episode.created_at.astimezone(zone) for episode in lease.episodes}
    group = EpisodeGroup(
        butler=lease.butler,
        episode_ids=tuple(said_at),
        known=known,
        said_at=said_at,
        rule_decay_rate=rule_decay_rate,
    )
    return await prepare(pool, engine, result, group)


async def _until_the_server_answers(lease: Lease, work: Callable[[], Awaitable[_T]]) -> _T:
    for pause_s in (*PAUSES_S, None):
        try:
            return await work()
        except (StorageUnavailableError, asyncpg.TransactionRollbackError) as error:
            if pause_s is None:
                raise StorageUnavailableError(f"run {lease.run_id} could not be applied: {error}") from error
            _log.warning("run %s is applied again in %.1f s: %s", lease.run_id, pause_s, error)
            await asyncio.sleep(pause_s)
    raise AssertionError  # The last pass returns or raises.


async def _apply(
    pool: asyncpg.Pool, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Run:
    async with unit_of_work(pool) as sql:
        await sql.set_run(run_id=str(lease.run_id))
        run = Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
        if run.state in {RunState.APPLIED, RunState.UNDONE, RunState.REFUSED}:
            return run
        reason = await _reason_to_refuse(sql, run, lease, now)
        if reason is not None:
            return await _refuse(sql, lease, reason, now)
        await sql.inherit_source(run_id=lease.run_id)
        progress = await do_steps(sql, lease, steps, parse_errors, now)
        await sql.consolidate_episodes(run_id=lease.run_id)
        finished = await sql.finish_run(
            run_id=lease.run_id,
            notes=progress.notes,
            errors=progress.errors,
            now=now,
            **{kind.counted_as: progress.counts[kind] for kind in ActionKind},
        )
    for message in progress.errors:
        _log.warning("run %s of butler %r: %s", lease.run_id, lease.butler, message)
    return Run.existing(finished, lease.run_id)


async def _rehearse(
    pool: asyncpg.Pool, lease: Lease, steps: Steps, parse_errors: Sequence[str], now: datetime
) -> Rehearsal | str:
    rehearsal: Rehearsal | str = ""
    with suppress(_RollBack):
        async with unit_of_work(pool) as sql:
            await sql.set_run(run_id=str(lease.run_id))
            run = Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
            reason = await _reason_to_refuse(sql, run, lease, now)
            if reason is not None:
                return reason
            await sql.inherit_source(run_id=lease.run_id)
            rehearsal = await _effects(sql, lease, await do_steps(sql, lease, steps, parse_errors, now))
            raise _RollBack
    return rehearsal


async def _effects(sql: KnowledgeStatements, lease: Lease, progress: Progress) -> Rehearsal:
    """Return the effects of a transaction so far."""
    actions = [RunAction.from_row(row) for row in await sql.run_actions(run_id=lease.run_id)]
    superseded = {each for action in actions for each in action.superseded_ids}
    texts = {row["id"]: MemoryText(**row) for row in await sql.memory_texts(ids=list(superseded))}
    return Rehearsal(
        actions=tuple(
            RehearsedAction(
                action=action,
                replaced=tuple(texts[each] for each in action.superseded_ids),
                evidence_count=len(lease.episodes if isinstance(step, Confirm) else step.evidence),
            )
            for action, step in zip(actions, progress.steps, strict=True)
        ),
        notes=tuple(progress.notes),
        errors=tuple(progress.errors),
    )


async def _reason_to_refuse(sql: KnowledgeStatements, run: Run, lease: Lease, now: datetime) -> str | None:
    """Lock the episodes of the run and return ``None``, or return why the answer must not be applied."""
    if run.state is RunState.FAILED:
        return _LATE
    episodes = await sql.lock_run_episodes(run_id=lease.run_id, now=now)
    return FORGOTTEN if len(episodes) < len(lease.episodes) else None


async def _refuse(sql: KnowledgeStatements, lease: Lease, reason: str, now: datetime) -> Run:
    _log.warning("run %s of butler %r is refused: %s", lease.run_id, lease.butler, reason)
    await sql.release_episodes(run_id=lease.run_id)
    await sql.end_run(run_id=lease.run_id, state=RunState.REFUSED, errors=[reason], now=now)
    return Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
