"""Undoing a run: what it stored disappears from every search, and what it replaced comes back, unless that has changed.

Nothing is deleted. What somebody changed after the run is left as it is, and the report says so. Runs that build on
each other can be undone in any order: the last one also takes back what an earlier undo had to leave to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import asyncpg

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.consolidation.runs import Run, RunAction, RunState, action_of
from commonplace.knowledge.facts import fact_key
from commonplace.knowledge.unit_of_work import unit_of_work
from commonplace.storage.database import Row, Statements

_STORING = frozenset({"fact_created", "fact_updated", "rule_created"})


@dataclass(slots=True, kw_only=True)
class _Undone:
    """What has been undone so far.

    ``own`` is what the run stored itself. ``replaced`` has, for all that runs stored which are undone by now, the
    facts that each had taken the place of.
    """

    own: frozenset[UUID]
    replaced: dict[UUID, tuple[UUID, ...]]
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
        episodes_expired: Episodes that will not, though it was asked for: they have expired or were deleted since.
        kept: What was left as it is, and why: somebody has changed it since.
    """

    run_id: UUID
    already_undone: bool
    facts_retracted: int
    facts_restored: int
    rules_forgotten: int
    confirmations_undone: int
    episodes_requeued: int
    episodes_expired: int
    kept: tuple[str, ...]


async def undo_run(
    pool: asyncpg.Pool, run_id: UUID | str, *, requeue: bool = False, clock: Clock = utc_now
) -> UndoReport:
    """Undo a run, in one transaction.

    Args:
        pool: Of the database.
        run_id: A run that was applied.
        requeue: Consolidate those of its episodes again that have not expired; else they stay consolidated.
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
        if run.state is RunState.UNDONE:
            return _report(run, None, requeued=0, expired=0)
        now = clock()
        requeued = await sql.requeue_run(run_id=key, now=now) if requeue else 0
        await sql.mark_undone(run_id=key, now=now)
        undone = await _undo_all(sql, run)
    expired = len(run.episode_ids) - requeued if requeue else 0
    return _report(run, undone, requeued=requeued, expired=expired)


def _report(run: Run, undone: _Undone | None, *, requeued: int, expired: int) -> UndoReport:
    did = undone or _Undone(own=frozenset(), replaced={})
    return UndoReport(
        run_id=run.id,
        already_undone=undone is None,
        facts_retracted=did.facts_retracted,
        facts_restored=did.facts_restored,
        rules_forgotten=did.rules_forgotten,
        confirmations_undone=did.confirmations_undone,
        episodes_requeued=requeued,
        episodes_expired=expired,
        kept=tuple(did.kept),
    )


async def _undo_all(sql: Statements, run: Run) -> _Undone:
    """Undo the actions of a run that is marked as undone already, the last one first."""
    actions = [action_of(each) for each in await sql.run_actions(run_id=run.id)]
    named = {each.memory_id for each in actions} | {id_ for each in actions for id_ in each.superseded_ids}
    undone = _Undone(
        own=frozenset(each.memory_id for each in actions if each.action in _STORING),
        replaced=await _replaced(sql, named),
    )
    facts = {each.memory_id for each in actions if each.memory_type == "fact"}
    facts |= {id_ for each in actions for id_ in each.superseded_ids}
    facts |= {id_ for replaced in undone.replaced.values() for id_ in replaced}
    await _lock(sql, facts, [each.memory_id for each in actions if each.memory_type == "rule"])
    for action in reversed(actions):
        if action.action in _STORING:
            await _take_back(sql, action.memory_type, action.memory_id, undone)
        else:
            await _unconfirm(sql, run, action, undone)
    for left in await sql.left_by_undone_runs(ids=list(facts)):
        if await sql.restore_fact(id=left["id"]) is not None:
            undone.facts_restored += 1
    return undone


async def _replaced(sql: Statements, named: set[UUID]) -> dict[UUID, tuple[UUID, ...]]:
    """Return what undone runs had replaced by the named memories, and by what those had replaced, and so on."""
    replaced: dict[UUID, tuple[UUID, ...]] = {}
    while named:
        rows = await sql.stored_by_undone_runs(ids=list(named))
        found = {row["memory_id"]: tuple(row["superseded_ids"]) for row in rows}
        replaced |= found
        named = {id_ for ids in found.values() for id_ in ids} - replaced.keys()
    return replaced


async def _lock(sql: Statements, facts: set[UUID], rules: Sequence[UUID]) -> None:
    keys = [fact_key(row) for row in await sql.fact_keys(ids=list(facts))]
    await sql.serialise_fact_keys(keys=keys)
    await sql.lock_facts(ids=list(facts), scopes=[], subjects=[], predicates=[])
    await sql.lock_rules(ids=list(rules))


async def _take_back(sql: Statements, memory_type: str, memory_id: UUID, undone: _Undone) -> None:
    """Retract a fact or forget a rule that an undone run stored, and restore what it had taken the place of.

    One that somebody has confirmed, applied or learned again since stays, and so does what it replaced.
    """
    since = await sql.since_stored(id=memory_id)
    if since is None:
        return
    if since["is_gone"]:
        gone = "retracted" if memory_type == "fact" else "forgotten"
        undone.kept.append(f"{memory_type} {memory_id} had been {gone} before")
    elif reason := _why_it_stays(since):
        undone.kept.append(f"{memory_type} {memory_id} stays as it is: {reason}")
        return
    elif memory_type == "fact":
        await sql.retract_fact(id=memory_id)
        undone.facts_retracted += 1
    else:
        await sql.forget_rule(id=memory_id)
        undone.rules_forgotten += 1
    for replaced_id in undone.replaced.get(memory_id, ()):
        if replaced_id not in undone.own:  # else it is about to be taken back itself
            await _restore(sql, replaced_id, undone)


def _why_it_stays(since: Row) -> str | None:
    """Return what somebody has done with a memory since a run stored it; ``None`` where nobody has done anything."""
    if since["is_learned_again"]:
        return "another run has learned it again since"
    if since["times_applied"]:
        return f"it has been applied since ({since['times_applied']} times)"
    return "it has been confirmed since" if since["is_confirmed"] else None


async def _restore(sql: Statements, fact_id: UUID, undone: _Undone) -> None:
    """Make a superseded fact active again; where a run stored it that was undone, what that one had replaced."""
    if await sql.restore_fact(id=fact_id) is not None:
        undone.facts_restored += 1
        return
    since = await sql.since_stored(id=fact_id)
    if fact_id in undone.replaced and since is not None and since["is_gone"]:
        for replaced_id in undone.replaced[fact_id]:
            await _restore(sql, replaced_id, undone)
        return
    undone.kept.append(
        f"fact {fact_id} stays as it is: it was changed since, or what took its place is still active"
    )


async def _unconfirm(sql: Statements, run: Run, action: RunAction, undone: _Undone) -> None:
    """Put a confirmation back; a memory that was left to this run by the undoing of the one that stored it goes."""
    is_fact = action.memory_type == "fact"
    unconfirm = sql.unconfirm_fact if is_fact else sql.unconfirm_rule
    changed = await unconfirm(
        id=action.memory_id,
        confirmed_before=await _confirmed_before(sql, run, action),
        confirmed_at=action.confirmed_at,
    )
    if changed is None:
        undone.kept.append(f"{action.memory_type} {action.memory_id} has been confirmed again since")
    else:
        undone.confirmations_undone += 1
    if action.memory_id in undone.own:
        return  # its episodes are those that it was stored from
    await sql.remove_derivation(
        source_type=action.memory_type, source_id=action.memory_id, episode_ids=list(run.episode_ids)
    )
    if action.memory_id in undone.replaced:
        since = await sql.since_stored(id=action.memory_id)
        if since is not None and not since["is_gone"] and _why_it_stays(since) is None:
            await _take_back(sql, action.memory_type, action.memory_id, undone)


async def _confirmed_before(sql: Statements, run: Run, action: RunAction) -> datetime | None:
    """Return when a memory had been confirmed before a run did it, passing over runs that are undone."""
    before = action.confirmed_before
    while True:
        earlier = await sql.confirmed_before_undone(
            run_id=run.id, memory_id=action.memory_id, confirmed_at=before
        )
        if earlier is None:
            return before
        before = earlier
