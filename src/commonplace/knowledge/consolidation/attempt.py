"""One attempt: lease a group of a butler's episodes, ask the model, and apply its answer (KNW-12, KNW-14).

No connection is held while the model or the embedder works, and an answer is applied completely or not at all.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final, cast

import asyncpg

from commonplace.core.clock import Clock
from commonplace.core.errors import (
    ModelCannotError,
    ModelOutputError,
    ModelTimeoutError,
    StorageUnavailableError,
)
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.consolidation import leases
from commonplace.knowledge.consolidation.executor import Rehearsal, apply, rehearse
from commonplace.knowledge.consolidation.known import Known, known_to
from commonplace.knowledge.consolidation.leases import Lease, NotDue
from commonplace.knowledge.consolidation.parser import parse_consolidation
from commonplace.knowledge.consolidation.preview import PlannedChange, plan_rows
from commonplace.knowledge.consolidation.prompt import build_prompt
from commonplace.knowledge.consolidation.runs import Run, RunState
from commonplace.knowledge.consolidation.spawner import TRIGGER_SOURCE, Spawner, asks_for_form, name_of
from commonplace.knowledge.model.consolidation_results import ConsolidationResult
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.llm.answers import ask_again

GIVE_BACK_S: Final = 5.0
"""The time limit for releasing the episodes when a worker is stopped."""

_NOT_APPROVED: Final = "the plan was not approved"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationPlan:
    """An answer that waits for approval, with its current effects."""

    lease: Lease
    result: ConsolidationResult
    rehearsal: Rehearsal

    @property
    def changes(self) -> list[PlannedChange]:
        """The effects as a diff for people, in the order in which they are applied."""
        return plan_rows(self.rehearsal)


Approve = Callable[[ConsolidationPlan], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationTools:
    """The shared tools of all attempts of a consolidation."""

    pool: asyncpg.Pool
    engine: EmbeddingEngine
    spawner: Spawner
    worker: str
    policy: Policy
    clock: Clock
    zone: tzinfo
    rule_decay_rate: float
    approve: Approve | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The actions that a model proposes, and the memories that it was shown."""

    result: ConsolidationResult
    known: Known


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A failed attempt; ``again_at`` is when its episodes are due again, if known."""

    error: Exception
    again_at: datetime | None = None

    @property
    def errors(self) -> tuple[str, ...]:
        """The failure in one line."""
        return (leases.describe(self.error),)


async def attempt(means: ConsolidationTools, butler: str) -> Run | NotDue | Failed:
    """Lease the butler's oldest episodes, have the model consolidate them, and apply its answer.

    Raises:
        StorageUnavailableError: The server cannot be reached and no episode was leased.
    """
    lease = await leases.take(
        means.pool,
        butler,
        worker=means.worker,
        model=name_of(means.spawner),
        policy=means.policy,
        clock=means.clock,
    )
    if isinstance(lease, NotDue):
        return lease
    try:
        answer = await leases.while_held(means.pool, lease, _ask(means, lease), clock=means.clock)
        if isinstance(answer, _Answer):
            return await apply(
                means.pool,
                means.engine,
                lease,
                answer.result,
                answer.known,
                clock=means.clock,
                zone=means.zone,
                rule_decay_rate=means.rule_decay_rate,
            )
        reason = "the lease was lost while the model worked" if answer is None else answer
        return await leases.give_back(means.pool, lease, reason, state=RunState.REFUSED, clock=means.clock)
    except asyncio.CancelledError:
        await _stop(means, lease)
        raise
    except Exception as error:  # noqa: BLE001 - any failure releases the episodes; the caller logs and reports it
        return Failed(error=error, again_at=await _fail(means, lease, error))


async def _ask(means: ConsolidationTools, lease: Lease) -> _Answer | str:
    """Ask the model, then ask for approval.

    Returns:
        The answer, or the reason why it must not be applied.

    Raises:
        ModelTimeoutError: The model did not answer in time.
        ModelCannotError: The spawner returned something other than text.
        ModelOutputError: The answer cannot be read.
        Exception: An error of the spawner.
    """
    known = await known_to(means.pool, lease)
    prompt = build_prompt(
        butler=lease.butler,
        episodes=lease.episodes,
        facts=list(known.facts.values()),
        rules=list(known.rules.values()),
        entities=known.entities,
        now=means.clock(),
        zone=means.zone,
        in_block=not asks_for_form(means.spawner),
    )
    result = await _readable_answer(means, lease, prompt)
    if means.approve is not None:
        rehearsal = await rehearse(
            means.pool,
            means.engine,
            lease,
            result,
            known,
            clock=means.clock,
            zone=means.zone,
            rule_decay_rate=means.rule_decay_rate,
        )
        if isinstance(rehearsal, str):
            return rehearsal
        if not await means.approve(ConsolidationPlan(lease=lease, result=result, rehearsal=rehearsal)):
            return _NOT_APPROVED
    return _Answer(result=result, known=known)


async def _readable_answer(means: ConsolidationTools, lease: Lease, prompt: str) -> ConsolidationResult:
    """Ask the model; if the answer is unreadable, name its fault and ask again once (CNS-04)."""
    ids = [episode.id for episode in lease.episodes]
    said = await _said(means, prompt)
    result = parse_consolidation(said, ids)
    if result.unreadable:
        fault = "; ".join(result.parse_errors)
        _log.info("run %s: the answer cannot be read; asking the model again: %s", lease.run_id, fault)
        result = parse_consolidation(await _said(means, ask_again(prompt, answer=said, fault=fault)), ids)
    if result.unreadable:
        # An unreadable answer must not consume its episodes (R-KNW-4).
        raise ModelOutputError("; ".join(result.parse_errors))
    return result


async def _said(means: ConsolidationTools, prompt: str) -> str:
    try:
        async with asyncio.timeout(means.policy.timeout_s):
            said = cast("object", await means.spawner(prompt, trigger_source=TRIGGER_SOURCE))
    except TimeoutError:
        raise ModelTimeoutError(f"the model gave no answer within {means.policy.timeout_s:g} s") from None
    if not isinstance(said, str):
        raise ModelCannotError(
            f"the spawner must return the answer as text, but returned {type(said).__name__}"
        )
    return said


async def _stop(means: ConsolidationTools, lease: Lease) -> None:
    """Release the episodes of a stopped worker; this does not count as an attempt."""
    try:
        async with asyncio.timeout(GIVE_BACK_S):
            await leases.give_back(
                means.pool, lease, "the worker was stopped", state=RunState.FAILED, clock=means.clock
            )
    except (StorageUnavailableError, TimeoutError) as error:
        _log.warning("run %s was not released; its lease will expire: %s", lease.run_id, error)


async def _fail(means: ConsolidationTools, lease: Lease, error: Exception) -> datetime | None:
    """Record a failure and return when the episodes are due again; if recording fails, the lease expires."""
    try:
        failure = await leases.fail(means.pool, lease, error, clock=means.clock)
    except StorageUnavailableError as outage:
        _log.warning("the failure of run %s was not recorded: %s", lease.run_id, outage)
        return None
    if failure.dead:
        _log.error("butler %r: %d episodes are now dead letters: %s", lease.butler, failure.dead, error)
    return failure.again_at
