"""Consolidation: a butler's episodes become facts and rules (KNW-12, KNW-14, KNW-24.3).

Gather, ask, decide, apply: no connection is held while the model or the embedder works, and an answer is applied whole
or not at all. One group that fails is logged and reported, and the others go on.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import (
    CommonplaceError,
    ModelOutputError,
    ModelTimeoutError,
    StorageUnavailableError,
)
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import inputs
from commonplace.knowledge.consolidation import leases
from commonplace.knowledge.consolidation.dry_run import PlannedRun, planned_runs
from commonplace.knowledge.consolidation.executor import FORGOTTEN, Rehearsal, apply, rehearse
from commonplace.knowledge.consolidation.known import Known, known_to
from commonplace.knowledge.consolidation.leases import Lease, NotDue
from commonplace.knowledge.consolidation.parser import parse_consolidation
from commonplace.knowledge.consolidation.pending import pending_groups
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.knowledge.consolidation.prompt import build_prompt
from commonplace.knowledge.consolidation.results import ConsolidationResult
from commonplace.knowledge.consolidation.runs import Run, RunState
from commonplace.knowledge.consolidation.spawner import NOT_ASKED, TRIGGER_SOURCE, Spawner, name_of

GIVE_BACK_S: Final = 5.0
"""For giving episodes back when a worker is told to stop."""

_NOT_APPROVED: Final = "the plan was not approved"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An answer before it is applied, for whoever approves it, and what it does as things stand.

    :func:`~.preview.plan_rows` shows that to people.
    """

    lease: Lease
    result: ConsolidationResult
    rehearsal: Rehearsal


Approve = Callable[[Plan], Awaitable[bool]]
Notify = Callable[[Run], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What a call of :func:`run_consolidation` found and did.

    Attributes:
        dry_run: Whether episodes were only counted, because there was no model to ask.
        groups: How many episodes waited at the beginning, by butler.
        planned: Of a dry run: the runs that would have been made, in order.
        runs: What was applied or refused, in order; those that failed are in ``errors``.
        failed: Butlers of which a group failed; it is tried again later.
        busy: Butlers whose oldest episodes another worker has.
        waiting: Butlers whose oldest episodes failed and are not due again yet.
        again_at: When the first of those that failed, are busy, or wait is due; ``None`` where nothing says so.
        errors: What failed, by whole groups and by single actions, each with its butler.
        note: What an operator should know, for example why nothing was done.
    """

    dry_run: bool
    groups: Mapping[str, int]
    planned: tuple[PlannedRun, ...] = ()
    runs: tuple[Run, ...] = ()
    failed: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    again_at: datetime | None = None
    errors: tuple[str, ...] = ()
    note: str = ""

    @property
    def episodes_pending(self) -> int:
        """How many episodes waited at the beginning."""
        return sum(self.groups.values())

    @property
    def episodes_consolidated(self) -> int:
        """How many are consolidated now."""
        return sum(len(run.episode_ids) for run in self.runs if run.state is RunState.APPLIED)

    def total(self, count: str) -> int:
        """Return the sum over all runs of one of their counts, for example ``"facts_created"``."""
        return sum(getattr(run, count) for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What all groups of a call share."""

    pool: asyncpg.Pool
    engine: EmbeddingEngine
    spawner: Spawner
    worker: str
    policy: Policy
    clock: Clock
    approve: Approve | None
    notify: Notify | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the model proposes, and what it was shown."""

    result: ConsolidationResult
    known: Known


@dataclass(slots=True, kw_only=True)
class _Outcome:
    """What has come of the groups so far."""

    runs: list[Run] = field(default_factory=list[Run])
    failed: list[str] = field(default_factory=list[str])
    busy: list[str] = field(default_factory=list[str])
    waiting: list[str] = field(default_factory=list[str])
    again_at: list[datetime] = field(default_factory=list[datetime])
    errors: list[str] = field(default_factory=list[str])


def this_worker() -> str:
    """Return a name for this process as a worker: machine and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


async def run_consolidation(
    pool: asyncpg.Pool,
    engine: EmbeddingEngine,
    cc_spawner: Spawner | None = None,
    *,
    butler: str | None = None,
    worker: str | None = None,
    policy: Policy | None = None,
    approve: Approve | None = None,
    notify: Notify | None = None,
    clock: Clock = utc_now,
) -> ConsolidationReport:
    """Consolidate the tenant's episodes, butler by butler, the oldest first, until none is due.

    Any number of workers may do this at once: a butler's episodes are one worker's at a time.

    Args:
        pool: Of the database.
        engine: For the vectors of what is stored.
        cc_spawner: Asks the model. Without one, episodes are grouped and counted, the runs that would be made are
            named, and nothing is changed.
        butler: Only this one's episodes.
        worker: Who works, for operators; machine and process where it is not given.
        policy: Time limits and pauses.
        approve: Is shown each plan before it is applied; where it says no, the group stays as it was.
        notify: Is told of each run that was applied or refused.
        clock: The present.

    Raises:
        InvalidInputError: ``butler`` is no name.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached at the beginning; later that is in ``errors``.

    Source: KNW-12, KNW-14, KNW-24.3.
    """
    wanted = None if butler is None else inputs.require_scope(butler, field="butler")
    groups = {
        group.butler: group.episodes
        for group in await pending_groups(pool, clock=clock)
        if wanted in {None, group.butler}
    }
    if cc_spawner is None:
        planned = await planned_runs(pool, list(groups), policy=policy or Policy(), clock=clock)
        return ConsolidationReport(
            dry_run=True,
            groups=groups,
            planned=planned.runs,
            busy=planned.busy,
            waiting=planned.waiting,
            note=NOT_ASKED,
        )
    work = _Work(
        pool=pool,
        engine=engine,
        spawner=cc_spawner,
        worker=worker or this_worker(),
        policy=policy or Policy(),
        clock=clock,
        approve=approve,
        notify=notify,
    )
    outcome = _Outcome()
    for name in groups:
        await _consolidate_butler(work, name, outcome)
    return ConsolidationReport(
        dry_run=False,
        groups=groups,
        runs=tuple(outcome.runs),
        failed=tuple(outcome.failed),
        busy=tuple(outcome.busy),
        waiting=tuple(outcome.waiting),
        again_at=min(outcome.again_at, default=None),
        errors=tuple(outcome.errors),
    )


async def _consolidate_butler(work: _Work, butler: str, outcome: _Outcome) -> None:
    """Consolidate the episodes of a butler, group by group, as long as that goes well.

    A group that was refused because one of its episodes expired or was forgotten meanwhile is tried again without it:
    of a backlog as old as episodes get, one expires during most answers.
    """
    while True:
        try:
            run = await _consolidate_group(work, butler, outcome)
        except Exception as error:  # noqa: BLE001 - the worker's outer door: the other butlers go on (KNW-24.3)
            # Errors of ours say what failed; where from is of interest for those that nobody thought of.
            expected = isinstance(error, CommonplaceError)
            _log.error(
                "consolidation of butler %r failed: %s", butler, leases.describe(error), exc_info=not expected
            )
            outcome.failed.append(butler)
            outcome.errors.append(f"{butler}: {leases.describe(error)}")
            return
        if isinstance(run, NotDue):
            if run.reason != "done":
                (outcome.busy if run.reason == "busy" else outcome.waiting).append(butler)
            if run.until is not None:
                outcome.again_at.append(run.until)
            return
        outcome.runs.append(run)
        outcome.errors.extend(f"{butler}: {message}" for message in run.errors)
        if work.notify is not None:
            work.notify(run)
        if run.state is not RunState.APPLIED and FORGOTTEN not in run.errors:
            return


async def _consolidate_group(work: _Work, butler: str, outcome: _Outcome) -> Run | NotDue:
    """Take a group, have the model consolidate it, and apply its answer.

    Raises:
        Exception: Whatever went wrong; the episodes are given back, to be tried again later.
    """
    lease = await leases.take(
        work.pool,
        butler,
        worker=work.worker,
        model=name_of(work.spawner),
        policy=work.policy,
        clock=work.clock,
    )
    if isinstance(lease, NotDue):
        return lease
    try:
        answer = await leases.while_held(work.pool, lease, _ask(work, lease), clock=work.clock)
        if isinstance(answer, _Answer):
            return await apply(work.pool, work.engine, lease, answer.result, answer.known, clock=work.clock)
        reason = "the lease was lost while the model worked" if answer is None else answer
        return await leases.give_back(work.pool, lease, reason, state=RunState.REFUSED, clock=work.clock)
    except asyncio.CancelledError:
        await _stop(work, lease)
        raise
    except Exception as error:
        again_at = await _fail(work, lease, error)
        if again_at is not None:
            outcome.again_at.append(again_at)
        raise


async def _ask(work: _Work, lease: Lease) -> _Answer | str:
    """Ask the model, and whoever approves.

    Returns:
        The answer, or why it is not to be applied.

    Raises:
        ModelTimeoutError: The model did not answer in time.
        ModelOutputError: Its answer holds nothing that can be used.
        Exception: Whatever the spawner raises.
    """
    known = await known_to(work.pool, lease)
    prompt = build_prompt(
        butler=lease.butler,
        episodes=lease.episodes,
        facts=list(known.facts.values()),
        rules=list(known.rules.values()),
    )
    try:
        async with asyncio.timeout(work.policy.timeout_s):
            said = await work.spawner(prompt, trigger_source=TRIGGER_SOURCE)
    except TimeoutError:
        raise ModelTimeoutError(f"the model gave no answer within {work.policy.timeout_s:g} s") from None
    answer = _Answer(result=_decide(said), known=known)
    refusal = None if work.approve is None else await _refusal(work, work.approve, lease, answer)
    return answer if refusal is None else refusal


async def _refusal(work: _Work, approve: Approve, lease: Lease, answer: _Answer) -> str | None:
    """Show what an answer does to whoever approves; return why it is not to be applied, where it is not."""
    rehearsal = await rehearse(work.pool, work.engine, lease, answer.result, answer.known, clock=work.clock)
    if isinstance(rehearsal, str):
        return rehearsal
    plan = Plan(lease=lease, result=answer.result, rehearsal=rehearsal)
    return None if await approve(plan) else _NOT_APPROVED


def _decide(answer: str) -> ConsolidationResult:
    """Return what an answer proposes; nothing at all is an answer too, as long as it says so.

    Raises:
        ModelOutputError: It cannot be read, so that it must not consume its episodes (R-KNW-4).
    """
    result = parse_consolidation(answer)
    if result.unreadable:
        raise ModelOutputError("; ".join(result.parse_errors))
    return result


async def _stop(work: _Work, lease: Lease) -> None:
    """Give the episodes of a worker that is told to stop back at once; that is no attempt."""
    try:
        async with asyncio.timeout(GIVE_BACK_S):
            await leases.give_back(
                work.pool, lease, "the worker was stopped", state=RunState.FAILED, clock=work.clock
            )
    except (StorageUnavailableError, TimeoutError) as error:
        _log.warning("run %s was not given back, its lease will end: %s", lease.run_id, error)


async def _fail(work: _Work, lease: Lease, error: Exception) -> datetime | None:
    """Write a failure down, and return when it is tried again; where even that fails, the lease ends by itself."""
    try:
        failure = await leases.fail(work.pool, lease, error, clock=work.clock)
    except StorageUnavailableError as outage:
        _log.warning("the failure of run %s was not written down: %s", lease.run_id, outage)
        return None
    if failure.dead:
        _log.error("butler %r: %d episodes are dead letters now: %s", lease.butler, failure.dead, error)
    return failure.again_at
