"""Consolidation runs: the actions, times and outcome of each run."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final
from uuid import UUID

from commonplace.core.choices import optional_one_of
from commonplace.knowledge.browse.lists import require_page
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import LIST_LIMIT
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun


class RunState(StrEnum):
    """The states of a run.

    A failed run had no effect, and its episodes are retried or become dead letters. A refused run had no effect because
    its worker was late, an episode was forgotten in the meantime, or a person did not approve.
    """

    RUNNING = "running"
    APPLIED = "applied"
    FAILED = "failed"
    REFUSED = "refused"
    UNDONE = "undone"


class ActionKind(StrEnum):
    """The kinds of action of a run."""

    FACT_CREATED = "fact_created"
    FACT_UPDATED = "fact_updated"
    FACT_CONFIRMED = "fact_confirmed"
    FACT_RETRACTED = "fact_retracted"
    RULE_CREATED = "rule_created"
    RULE_UPDATED = "rule_updated"
    RULE_CONFIRMED = "rule_confirmed"
    RULE_RETRACTED = "rule_retracted"

    @property
    def memory_type(self) -> MemoryType:
        """The type of the memory that the action changed."""
        return MemoryType(self.partition("_")[0])

    @property
    def is_confirmation(self) -> bool:
        """Whether the action confirmed a memory."""
        return self.endswith("confirmed")

    @property
    def is_retraction(self) -> bool:
        """Whether the action withdrew a memory; actions that neither confirm nor withdraw a memory store one."""
        return self.endswith("retracted")

    @property
    def counted_as(self) -> str:
        """The field of :class:`Run` that counts actions of this kind."""
        return self.replace("_", "s_")


RUN_COUNTS: Final = tuple(kind.counted_as for kind in ActionKind)
"""The fields of :class:`Run` that count actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Noun):
    """A run: one answer of a model for one group of a butler's episodes.

    Attributes:
        id: Also the ``run_id`` of the events that the run caused.
        butler: The owner of the episodes.
        worker: The process that made the run.
        model: The model that answered, if known.
        started_at: When the episodes were leased (aware UTC).
        ended_at: When the run was applied or given up; ``None`` while it runs.
        facts_created: New facts, without held facts, which have a note; a known fact is confirmed instead. Rules are
            counted in the same way.
        facts_updated: Facts that replaced a fact that the answer named.
        facts_confirmed: Facts whose decay restarted.
        facts_retracted: Facts that were withdrawn without a replacement.
        notes: Effects that the answer does not state: values that were added to keys, facts that were superseded.
        errors: The parts of the answer that were not applied, with the reasons, or why the whole run failed.
        undone_by: The actor who undid the run.
        COUNTS: The fields that count actions.
    """

    COUNTS: ClassVar[tuple[str, ...]] = RUN_COUNTS

    id: UUID
    butler: str
    worker: str
    model: str | None
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    episode_ids: tuple[UUID, ...]
    facts_created: int
    facts_updated: int
    facts_confirmed: int
    facts_retracted: int
    rules_created: int
    rules_updated: int
    rules_confirmed: int
    rules_retracted: int
    notes: tuple[str, ...]
    errors: tuple[str, ...]
    undone_at: datetime | None
    undone_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAction(Noun):
    """One change of a fact or rule by a run.

    Attributes:
        superseded_ids: The facts that this fact replaced, or the rule that this rule replaced.
        confirmed_before: The confirmation before this one, if the action is a confirmation.
        content: The memory's present content.
        state: The present validity of a fact, or the present maturity of a rule, or ``"forgotten"``.
    """

    position: int
    action: ActionKind
    memory_id: UUID
    superseded_ids: tuple[UUID, ...]
    confirmed_before: datetime | None
    confirmed_at: datetime | None
    subject: str | None
    predicate: str | None
    content: str | None
    state: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run with its actions."""

    run: Run
    actions: tuple[RunAction, ...]


class RunRecords:
    """The records of runs."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def list(
        self,
        *,
        butler: str | None = None,
        state: str | None = None,
        limit: int = LIST_LIMIT,
        offset: int = 0,
    ) -> list[Run]:
        """Return the tenant's runs, latest first."""
        require_page(limit, offset)
        optional_one_of(RunState, state, field="state")
        wanted = inputs.optional_scope(butler, field="butler")
        async with self._session.reading() as sql:
            return Run.from_rows(await sql.list_runs(butler=wanted, state=state, limit=limit, offset=offset))

    async def get(self, run_id: UUID | str) -> RunRecord:
        """Return a run with its actions."""
        key = inputs.require_id(run_id, field="run_id")
        async with self._session.reading() as sql:
            run = Run.existing(await sql.get_run(run_id=key), str(key))
            return RunRecord(run=run, actions=tuple(RunAction.from_rows(await sql.run_actions(run_id=key))))
