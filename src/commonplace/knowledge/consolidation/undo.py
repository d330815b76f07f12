"""Undo of a run: memories that it stored leave every search; memories that it replaced or withdrew return.

Nothing is deleted. A memory that changed after the run stays unchanged, and the report names it. Runs that build on
each other can be undone in any order: the last undo also retracts memories that an earlier undo left in place.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from commonplace.core.errors import ConflictError
from commonplace.knowledge.consolidation.runs import Run, RunAction, RunState
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.fact_drafts import fact_key
from commonplace.knowledge.model.kinds import MemoryType, Validity
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.knowledge.store.statements import KnowledgeStatements
from commonplace.knowledge.store.unit_of_work import of_kind
from commonplace.storage.rows import Noun


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoReport:
    """The result of undoing a run.

    Attributes:
        already_undone: Whether the run had already been undone, so that this call did nothing.
        facts_retracted: Facts that the run had stored.
        facts_restored: Superseded facts that are active again.
        rules_forgotten: Rules that the run had stored.
        rules_restored: Rules that the run had replaced and that are current again.
        retractions_undone: Facts and rules that the run had withdrawn and that are current again.
        confirmations_undone: Facts and rules whose decay counts from their confirmation before the run.
        episodes_requeued: Episodes that will be consolidated again, if requested.
        episodes_expired: Episodes that cannot be consolidated again because they have expired or were deleted.
        kept: Memories that stay unchanged, with the reasons.
    """

    run_id: UUID
    already_undone: bool
    facts_retracted: int = 0
    facts_restored: int = 0
    rules_forgotten: int = 0
    rules_restored: int = 0
    retractions_undone: int = 0
    confirmations_undone: int = 0
    episodes_requeued: int = 0
    episodes_expired: int = 0
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Since(Noun):
    """The changes of a memory since a run stored it."""

    is_gone: bool
    is_confirmed: bool
    times_applied: int
    is_learned_again: bool

    @property
    def reason_to_stay(self) -> str | None:
        """The reason why the memory must stay; ``None`` if it was not used since."""
        if self.is_learned_again:
            return "another run has learned it again since"
        if self.times_applied:
            return f"it has been applied since ({self.times_applied} times)"
        return "it has been confirmed since" if self.is_confirmed else None


class RunUndo:
    """The undo of runs."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def run(self, run_id: UUID | str, *, requeue: bool = False) -> UndoReport:
        """Undo a run, in one transaction."""
        key = inputs.require_id(run_id, field="run_id")
        async with self._session.writing() as sql:
            await sql.set_run(run_id=str(key))
            run = Run.existing(await sql.lock_run(run_id=key), str(key))
            if run.state is RunState.UNDONE:
                return UndoReport(run_id=key, already_undone=True)
            if run.state is not RunState.APPLIED:
                message = f"The run {key} is {run.state}, and only a run that was applied can be undone."
                raise ConflictError("run_id", message, str(key))
            now = self._session.clock()
            requeued = await sql.requeue_run(run_id=key, now=now) if requeue else 0
            await sql.mark_undone(run_id=key, now=now)
            actions = RunAction.from_rows(await sql.run_actions(run_id=key))
            undoing = _Undoing(sql, run, actions, await _replaced(sql, actions))
            await undoing.undo_all()
        return UndoReport(
            run_id=key,
            already_undone=False,
            episodes_requeued=requeued,
            episodes_expired=len(run.episode_ids) - requeued if requeue else 0,
            kept=tuple(undoing.kept),
            **undoing.counts,
        )


async def _replaced(sql: KnowledgeStatements, actions: Sequence[RunAction]) -> dict[UUID, tuple[UUID, ...]]:
    """Return the facts that undone runs replaced with memories of some actions, and recursively with those facts."""
    replaced: dict[UUID, tuple[UUID, ...]] = {}
    named = {id_ for each in actions for id_ in (each.memory_id, *each.superseded_ids)}
    while named:
        rows = await sql.stored_by_undone_runs(ids=list(named))
        found = {row["memory_id"]: tuple(row["superseded_ids"]) for row in rows}
        replaced |= found
        named = {id_ for ids in found.values() for id_ in ids} - replaced.keys()
    return replaced


class _Undoing:
    """The undoing of one run, which is already marked as undone, inside a transaction.

    Args:
        sql: The statements of the transaction.
        run: The run.
        actions: The actions of the run, in order.
        replaced: The facts that each memory of an undone run had replaced.
    """

    def __init__(
        self,
        sql: KnowledgeStatements,
        run: Run,
        actions: Sequence[RunAction],
        replaced: dict[UUID, tuple[UUID, ...]],
    ) -> None:
        self._sql = sql
        self._run = run
        self._actions = actions
        self._replaced = replaced
        self._own = {
            each.memory_id
            for each in actions
            if not each.action.is_confirmation and not each.action.is_retraction
        }
        self.counts: Counter[str] = Counter()
        self.kept: list[str] = []

    async def undo_all(self) -> None:
        """Undo the actions, the last action first."""
        facts = await self._lock()
        for action in reversed(self._actions):
            if action.action.is_confirmation:
                await self._unconfirm(action)
            elif action.action.is_retraction:
                await self._bring_back(action)
            else:
                await self._take_back(action)
        for left in await self._sql.left_by_undone_runs(ids=facts):
            await self._restored(left["id"])

    async def _lock(self) -> list[UUID]:
        """Lock all memories that undoing can change, and return the ids of the facts among them."""
        named = {each for action in self._actions for each in (action.memory_id, *action.superseded_ids)}
        ids = list(named.union(*self._replaced.values()))
        rows = await self._sql.fact_keys(ids=ids)
        keys = [fact_key(row["scope"], row["predicate"], row["entity_id"] or row["subject"]) for row in rows]
        await self._sql.serialise_fact_keys(keys=keys)
        facts = await of_kind(MemoryType.FACT, self._sql).lock(ids=ids)
        await of_kind(MemoryType.RULE, self._sql).lock(ids=ids)
        return [row["id"] for row in facts]

    async def _take_back(self, action: RunAction) -> None:
        """Retract a fact or forget a rule that an undone run stored, and restore the facts that it replaced.

        A memory that was confirmed, applied or learned again since stays, and the facts that it replaced stay replaced.
        """
        memory_type, memory_id = action.action.memory_type, action.memory_id
        since = await self._since(memory_id)
        if since is None:
            return
        is_fact = memory_type is MemoryType.FACT
        if since.is_gone:
            gone = "retracted" if is_fact else "forgotten"
            self.kept.append(f"{memory_type} {memory_id} was already {gone}")
        elif since.reason_to_stay:
            self.kept.append(f"{memory_type} {memory_id} stays unchanged: {since.reason_to_stay}")
            return
        elif is_fact:
            await self._sql.retract_fact(id=memory_id)
            self.counts["facts_retracted"] += 1
        else:
            await self._sql.forget_rule(id=memory_id)
            self.counts["rules_forgotten"] += 1
        for replaced_id in self._replaced.get(memory_id, ()):
            if replaced_id not in self._own:  # The run's own facts are retracted separately.
                await (self._restore(replaced_id) if is_fact else self._restore_rule(replaced_id))

    async def _bring_back(self, action: RunAction) -> None:
        """Restore a fact or rule that the run withdrew, unless an undone run had stored it."""
        memory_type, memory_id = action.action.memory_type, action.memory_id
        await self._unlink(action, "contradicts")
        if memory_id in self._replaced:
            return
        if memory_type is MemoryType.FACT:
            restored = await self._sql.restore_fact(id=memory_id, validity=Validity.RETRACTED)
        else:
            restored = await self._sql.restore_rule(id=memory_id)
        if restored is None:
            self.kept.append(
                f"{memory_type} {memory_id} stays unchanged: another {memory_type} has replaced it since"
            )
        else:
            self.counts["retractions_undone"] += 1

    async def _unlink(self, action: RunAction, relation: str) -> None:
        await self._sql.unlink_episodes(
            source_type=action.action.memory_type,
            source_id=action.memory_id,
            episode_ids=list(self._run.episode_ids),
            relation=relation,
        )

    async def _restore_rule(self, rule_id: UUID) -> None:
        """Restore a replaced rule or, if an undone run had stored that rule, the rule that it had replaced."""
        for replaced_id in self._replaced.get(rule_id, ()):
            await self._restore_rule(replaced_id)
        if rule_id in self._replaced:
            return
        if await self._sql.restore_rule(id=rule_id) is None:
            self.kept.append(f"rule {rule_id} stays unchanged: it changed since the run")
        else:
            self.counts["rules_restored"] += 1

    async def _restore(self, fact_id: UUID) -> None:
        """Restore a superseded fact or, if an undone run had stored that fact, the facts that it had replaced."""
        if await self._restored(fact_id):
            return
        since = await self._since(fact_id)
        if fact_id in self._replaced and since is not None and since.is_gone:
            for replaced_id in self._replaced[fact_id]:
                await self._restore(replaced_id)
            return
        self.kept.append(
            f"fact {fact_id} stays unchanged: it changed since the run, or a fact that replaced it is still active"
        )

    async def _unconfirm(self, action: RunAction) -> None:
        """Restore the confirmation before a run; retract a memory that only this run still kept in place."""
        memory_type, memory_id = action.action.memory_type, action.memory_id
        before = await self._confirmed_before(action)
        undone = await of_kind(memory_type, self._sql).unconfirm(
            id=memory_id, confirmed_before=before, confirmed_at=action.confirmed_at
        )
        if undone is None:
            self.kept.append(f"{memory_type} {memory_id} has been confirmed again since")
        else:
            self.counts["confirmations_undone"] += 1
        if memory_id in self._own:
            return  # The memory was stored from these episodes.
        await self._unlink(action, "derived_from")
        if memory_id in self._replaced:
            since = await self._since(memory_id)
            if since is not None and not since.is_gone and since.reason_to_stay is None:
                await self._take_back(action)

    async def _confirmed_before(self, action: RunAction) -> datetime | None:
        """Return when a memory was last confirmed before the run, ignoring undone runs."""
        before = action.confirmed_before
        while earlier := await self._sql.confirmed_before_undone(
            run_id=self._run.id, memory_id=action.memory_id, confirmed_at=before
        ):
            before = earlier
        return before

    async def _since(self, memory_id: UUID) -> _Since | None:
        row = await self._sql.since_stored(id=memory_id)
        return None if row is None else _Since.from_row(row)

    async def _restored(self, fact_id: UUID) -> bool:
        restored = await self._sql.restore_fact(id=fact_id, validity=Validity.SUPERSEDED) is not None
        self.counts["facts_restored"] += restored
        return restored
