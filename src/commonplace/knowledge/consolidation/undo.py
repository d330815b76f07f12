"""Undoing a run: what it stored goes out of every search, and what it replaced comes back, unless that has changed.

Nothing is deleted. What somebody changed after the run is left as it is, and the report says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.consolidation.runs import Run, RunAction, RunState, action_of
from commonplace.knowledge.facts import fact_key
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Statements


@dataclass(slots=True, kw_only=True)
class _Undone:
    """What has been undone so far; ``own`` are the memories that the run changed."""

    own: frozenset[UUID] = frozenset()
    facts_retracted: int = 0
    facts_restored: int = 0
    rules_forgotten: int = 0
    confirmations_undone: int = 0
    kept: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """What undoing a run did.

    Attributes:
        run_id: The run.
        already_undone: Whether somebody had undone it before; then nothing was done now.
        facts_retracted: Facts that it had stored.
        facts_restored: Facts that it had superseded, active again.
        rules_forgotten: Rules that it had stored.
        confirmations_undone: Facts and rules whose decay counts again from when they had been confirmed before.
        episodes_requeued: Episodes that will be consolidated again, where that was asked for.
        kept: What was left as it is, and why: somebody has changed it since.
    """

    run_id: UUID
    already_undone: bool
    facts_retracted: int
    facts_restored: int
    rules_forgotten: int
    confirmations_undone: int
    episodes_requeued: int
    kept: tuple[str, ...]


async def undo_run(
    pool: asyncpg.Pool, run_id: UUID | str, *, requeue: bool = False, clock: Clock = utc_now
) -> UndoReport:
    """Undo a run, in one transaction.

    Args:
        pool: Of the database.
        run_id: A run that was applied.
        requeue: Consolidate its episodes again; else they stay consolidated.
        clock: The present.

    Raises:
        InvalidInputError: The id is malformed, or the run had no effects.
        NotFoundError: There is no such run.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached; nothing was written.
    """
    key = inputs.require_id(run_id, field="run_id")
    async with unit_of_work(pool) as sql:
        await sql.set_run(run_id=str(key))
        row = await sql.lock_run(run_id=key)
        if row is None:
            raise NotFoundError("run", str(key))
        run = Run.of(row)
        if run.state not in {RunState.APPLIED, RunState.UNDONE}:
            raise InvalidInputError("run_id", "a run that was applied", f"one that is {run.state}")
        undone, requeued = _Undone(), 0
        if run.state is RunState.APPLIED:
            requeued = await sql.requeue_run(run_id=key) if requeue else 0
            actions = [action_of(each) for each in await sql.run_actions(run_id=key)]
            await _lock(sql, actions)
            undone.own = frozenset(each.memory_id for each in actions)
            for action in reversed(actions):
                await _undo(sql, run, action, undone)
            await sql.mark_undone(run_id=key, now=clock())
    return UndoReport(
        run_id=key,
        already_undone=run.state is RunState.UNDONE,
        facts_retracted=undone.facts_retracted,
        facts_restored=undone.facts_restored,
        rules_forgotten=undone.rules_forgotten,
        confirmations_undone=undone.confirmations_undone,
        episodes_requeued=requeued,
        kept=tuple(undone.kept),
    )


async def _lock(sql: Statements, actions: Sequence[RunAction]) -> None:
    facts = {each.memory_id for each in actions if each.memory_type == "fact"}
    facts |= {superseded for each in actions for superseded in each.superseded_ids}
    keys = [fact_key(row) for row in await sql.fact_keys(ids=list(facts))]
    await sql.serialise_fact_keys(keys=keys)
    await sql.lock_facts(ids=list(facts), scopes=[], subjects=[], predicates=[])
    await sql.lock_rules(ids=[each.memory_id for each in actions if each.memory_type == "rule"])


async def _undo(sql: Statements, run: Run, action: RunAction, undone: _Undone) -> None:
    match action.action:
        case "fact_created" | "fact_updated":
            await _retract(sql, action, undone)
        case "rule_created":
            if action.state == "forgotten":
                undone.kept.append(f"rule {action.memory_id} had been forgotten before")
            elif await sql.forget_rule(id=action.memory_id) is not None:
                undone.rules_forgotten += 1
        case _:
            await _unconfirm(sql, run, action, undone)


async def _retract(sql: Statements, action: RunAction, undone: _Undone) -> None:
    """Retract a fact of the run, then make what it had superseded active again."""
    if action.state == "retracted":
        undone.kept.append(f"fact {action.memory_id} had been retracted before")
    elif await sql.retract_fact(id=action.memory_id) is not None:
        undone.facts_retracted += 1
    for superseded_id in action.superseded_ids:
        if superseded_id in undone.own:
            continue  # stored by this very run, and about to be retracted
        if await sql.restore_fact(id=superseded_id) is not None:
            undone.facts_restored += 1
        else:
            undone.kept.append(
                f"fact {superseded_id} stays as it is: it was changed since, or a newer one of its key is active"
            )


async def _unconfirm(sql: Statements, run: Run, action: RunAction, undone: _Undone) -> None:
    is_fact = action.memory_type == "fact"
    unconfirm = sql.unconfirm_fact if is_fact else sql.unconfirm_rule
    changed = await unconfirm(
        id=action.memory_id, confirmed_before=action.confirmed_before, confirmed_at=action.confirmed_at
    )
    if changed is None:
        undone.kept.append(f"{action.memory_type} {action.memory_id} has been confirmed again since")
    else:
        undone.confirmations_undone += 1
    await sql.remove_derivation(
        source_type=action.memory_type, source_id=action.memory_id, episode_ids=list(run.episode_ids)
    )
