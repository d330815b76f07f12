"""Leases, which let only one worker at a time hold a butler's oldest episodes (KNW-12, R-KNW-4).

A lease is a run in the state ``running``; a butler has at most one. The worker renews it while the model works. A
worker that does not renew its lease in time loses it: the next worker ends that run and begins its own, and a late
result is refused because its run is no longer running. All times come from the worker's clock. If clocks differ by more
than the lease, work may be done twice but takes effect only once. Times that a wrong clock set far ahead are ignored.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeVar
from uuid import UUID, uuid4

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.text import clean_text, collapse_whitespace, trim_to
from commonplace.knowledge.consolidation.prompt import (
    MAX_EPISODE_CHARS,
    MAX_EPISODES,
    MAX_EPISODES_CHARS,
    PendingEpisode,
    fit,
)
from commonplace.knowledge.consolidation.runs import Run, RunState
from commonplace.knowledge.rules.consolidation_policy import Policy, counts, group_size
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import unit_of_work
from commonplace.storage.database import Columns

RENEWALS: Final = 3
"""Number of renewals within the length of a lease."""

MAX_ERROR_CHARS: Final = 500

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A butler's oldest episodes, leased to a run.

    Attributes:
        run_id: The run whose result will be accepted.
        episodes: The episodes, oldest first.
        attempts: The highest number of attempts on any of the episodes.
        policy: The policy, which sets the length of the lease.
    """

    run_id: UUID
    butler: str
    episodes: tuple[PendingEpisode, ...]
    attempts: int
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDue:
    """The reason why no episode of a butler is due.

    Attributes:
        reason: ``"done"``: no episode waits. ``"busy"``: another run holds the oldest episode. ``"waiting"``: the
            oldest episode failed and is not due yet; younger episodes never overtake it.
        again_at: When to look again, if ``busy`` or ``waiting``.
    """

    reason: Literal["done", "busy", "waiting"]
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The result of a failed run for its episodes.

    Attributes:
        dead: The number of episodes that are now dead letters.
        again_at: When the other episodes are due; ``None`` if there are no others.
    """

    dead: int
    again_at: datetime | None


def this_worker() -> str:
    """Return a worker name for this process: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


async def take(
    pool: asyncpg.Pool, butler: str, *, worker: str, model: str | None, policy: Policy, clock: Clock
) -> Lease | NotDue:
    """Lease as many of a butler's oldest episodes as fit into one run."""
    now = clock()
    async with unit_of_work(pool) as sql:
        await sql.serialise(keys=[f"consolidation of {butler}"])
        running = await sql.running_run(butler=butler)
        if running is not None:
            if now < running["leased_until"] <= policy.latest_lease(now):
                return NotDue(reason="busy", again_at=running["leased_until"])
            await _end_lost_run(sql, running, policy, now)
        rows = await sql.oldest_episodes(
            butler=butler,
            limit=MAX_EPISODES,
            max_chars=MAX_EPISODES_CHARS,
            max_episode_chars=MAX_EPISODE_CHARS,
            now=now,
            latest_attempt=policy.latest_attempt(now),
        )
        group = due_group(rows)
        if not group:
            again_at = rows[0]["next_attempt_at"] if rows else None
            return NotDue(reason="waiting" if rows else "done", again_at=again_at)
        lease = Lease(
            run_id=uuid4(),
            butler=butler,
            episodes=group,
            attempts=max(row["retry_count"] for row in rows[: len(group)]),
            policy=policy,
        )
        await sql.set_run(run_id=str(lease.run_id))
        await sql.begin_run(
            id=lease.run_id,
            butler=butler,
            worker=worker,
            model=model,
            episode_ids=[episode.id for episode in lease.episodes],
            leased_until=now + timedelta(seconds=policy.lease_s),
            now=now,
        )
    return lease


def due_group(rows: Sequence[Columns]) -> tuple[PendingEpisode, ...]:
    """Return the episodes that go into one run.

    Args:
        rows: A butler's oldest episodes, the oldest first, with ``retry_count`` and ``is_due``.

    Returns:
        The episodes before the first that is not due, as many as fit; fewer after failed attempts.
    """
    first_waiting = next((place for place, row in enumerate(rows) if not row["is_due"]), len(rows))
    due = [PendingEpisode.from_row(row) for row in rows[:first_waiting]]
    if not due:
        return ()
    return tuple(due[: group_size(fit(due), attempts=rows[0]["retry_count"])])


async def _end_lost_run(sql: KnowledgeStatements, run: Columns, policy: Policy, now: datetime) -> None:
    """End a run whose worker is silent. This counts as an attempt, because an episode may have crashed the worker."""
    message = f"worker {run['worker']} was silent until its lease ended"
    _log.warning("run %s: %s", run["id"], message)
    await sql.set_run(run_id=str(run["id"]))
    await sql.fail_episodes(
        run_id=run["id"], error=message, counted=1, max_attempts=policy.max_attempts, next_attempt_at=None
    )
    await sql.end_run(run_id=run["id"], state=RunState.FAILED, errors=[message], now=now)


async def while_held(
    pool: asyncpg.Pool, lease: Lease, work: Coroutine[Any, Any, _T], *, clock: Clock
) -> _T | None:
    """Do some work while the lease is renewed; no connection is held between renewals.

    Returns:
        The result of the work; ``None`` if the lease was lost and the work was cancelled.
    """
    working = asyncio.create_task(work, name=f"consolidation of {lease.butler}")
    renewing = asyncio.create_task(_renew(pool, lease, clock), name=f"lease of {lease.run_id}")
    try:
        await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        renewing.result()
        return None
    finally:
        for task in (working, renewing):
            task.cancel()
        await asyncio.gather(working, renewing, return_exceptions=True)


async def _renew(pool: asyncpg.Pool, lease: Lease, clock: Clock) -> None:
    """Renew a lease until it is lost; keep trying while the server cannot be reached."""
    while True:
        await asyncio.sleep(lease.policy.lease_s / RENEWALS)
        try:
            async with unit_of_work(pool) as sql:
                leased_until = clock() + timedelta(seconds=lease.policy.lease_s)
                held = await sql.renew_lease(run_id=lease.run_id, leased_until=leased_until)
        except StorageUnavailableError as error:
            _log.warning("the lease of run %s was not renewed: %s", lease.run_id, error)
            continue
        if held is None:
            return


async def give_back(pool: asyncpg.Pool, lease: Lease, reason: str, *, state: str, clock: Clock) -> Run:
    """End a run without effect, release its episodes unchanged, and return the run.

    A run that was applied, undone or refused meanwhile stays as it is. ``state`` is ``"failed"`` or ``"refused"``.

    Raises:
        StorageUnavailableError: The server cannot be reached; the lease expires.
    """
    async with unit_of_work(pool) as sql:
        await sql.set_run(run_id=str(lease.run_id))
        run = Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
        if run.state in {RunState.RUNNING, RunState.FAILED}:
            await sql.release_episodes(run_id=lease.run_id)
            await sql.end_run(run_id=lease.run_id, state=state, errors=[reason], now=clock())
            run = Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
    return run


async def fail(pool: asyncpg.Pool, lease: Lease, error: Exception, *, clock: Clock) -> Failure:
    """End a failed run; its episodes are retried after a pause, or become dead letters.

    Raises:
        StorageUnavailableError: The server cannot be reached; the lease expires.
    """
    now, policy = clock(), lease.policy
    message = describe(error)
    counted = int(counts(error))
    pause = policy.pause(attempts=lease.attempts + counted, error=error)
    async with unit_of_work(pool) as sql:
        await sql.set_run(run_id=str(lease.run_id))
        run = Run.existing(await sql.lock_run(run_id=lease.run_id), lease.run_id)
        if run.state is not RunState.RUNNING:
            return Failure(dead=0, again_at=None)
        dead = await sql.fail_episodes(
            run_id=lease.run_id,
            error=message,
            counted=counted,
            max_attempts=policy.max_attempts,
            next_attempt_at=now + pause,
        )
        await sql.end_run(run_id=lease.run_id, state=RunState.FAILED, errors=[message], now=now)
    return Failure(dead=dead, again_at=now + pause if dead < len(lease.episodes) else None)


def describe(error: BaseException) -> str:
    """Return an error as one line of limited length, with its class name."""
    said = collapse_whitespace(clean_text(str(error)))
    shown = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return trim_to(shown, MAX_ERROR_CHARS)
