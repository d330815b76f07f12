"""Runs of consolidation: what each did, when, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import asyncpg

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.browse.lists import MAX_OFFSET
from commonplace.knowledge.unit_of_work import unit_of_work

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 1_000


class RunState(StrEnum):
    """Where a run stands.

    ``failed`` had no effect, and its episodes are tried again or dead letters; ``refused`` had none either, because its
    worker was late, an episode was forgotten meanwhile, or a person did not approve.
    """

    RUNNING = "running"
    APPLIED = "applied"
    FAILED = "failed"
    REFUSED = "refused"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run: one answer of a model to one group of a butler's episodes.

    Attributes:
        id: Also in every entry of the audit stream that it caused, as ``run_id``.
        butler: Whose episodes.
        worker: Who did it.
        model: What answered, where that is known.
        state: Where it stands.
        started_at: When its episodes were leased (aware UTC).
        ended_at: When it was applied or given up; ``None`` while it runs.
        episode_ids: Its episodes.
        facts_created: New facts; one that said nothing new is confirmed in place of that.
        facts_updated: Facts that took the place of one that the answer named.
        facts_confirmed: Facts whose decay started over.
        rules_created: New rules.
        rules_confirmed: Rules whose decay started over.
        errors: What of the answer was not applied and why, or why all of it was not.
        undone_at: When it was undone.
        undone_by: Who did that.
    """

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
    rules_created: int
    rules_confirmed: int
    errors: tuple[str, ...]
    undone_at: datetime | None
    undone_by: str | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Run":
        """Return the run of a row."""
        values: dict[str, Any] = dict(row)
        values["state"] = RunState(row["state"])
        values["episode_ids"] = tuple(row["episode_ids"])
        values["errors"] = tuple(row["errors"])
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAction:
    """What a run did to one fact or rule, in its order.

    Attributes:
        position: From 0.
        action: ``fact_created``, ``fact_updated``, ``fact_confirmed``, ``rule_created`` or ``rule_confirmed``.
        memory_id: Of the fact or rule.
        superseded_ids: The facts that it took the place of.
        confirmed_before: Of a confirmation: when it had last been confirmed.
        confirmed_at: Of a confirmation: since when it is.
        subject: Of a fact.
        predicate: Of a fact.
        content: Of the memory, as it is now.
        state: A fact's validity or a rule's maturity (or ``"forgotten"``), as it is now.
    """

    position: int
    action: str
    memory_id: UUID
    superseded_ids: tuple[UUID, ...]
    confirmed_before: datetime | None
    confirmed_at: datetime | None
    subject: str | None
    predicate: str | None
    content: str | None
    state: str | None

    @property
    def memory_type(self) -> str:
        """``"fact"`` or ``"rule"``."""
        return self.action.partition("_")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run with what it did."""

    run: Run
    actions: tuple[RunAction, ...]


async def list_runs(
    pool: asyncpg.Pool,
    *,
    butler: str | None = None,
    state: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> list[Run]:
    """Return the tenant's runs, the latest first.

    Args:
        pool: Of the database.
        butler: Only of this butler's episodes.
        state: Only in this :class:`RunState`.
        limit: At most so many, 1 to 1,000.
        offset: After skipping so many.

    Raises:
        InvalidInputError: A parameter is malformed.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError("limit", f"a number from 1 to {MAX_LIMIT}", limit)
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidInputError("offset", f"a number from 0 to {MAX_OFFSET}", offset)
    if state is not None and state not in set(RunState):
        raise InvalidInputError("state", f"one of {', '.join(RunState)}", state)
    wanted = None if butler is None else inputs.require_scope(butler, field="butler")
    async with unit_of_work(pool, readonly=True) as sql:
        rows = await sql.list_runs(butler=wanted, state=state, limit=limit, offset=offset)
    return [Run.of(row) for row in rows]


async def get_run(pool: asyncpg.Pool, run_id: UUID | str) -> RunRecord:
    """Return a run with its actions.

    Raises:
        InvalidInputError: The id is malformed.
        NotFoundError: There is no such run.
        TenantUnsetError: No request context is set.
        StorageUnavailableError: The server cannot be reached.
    """
    key = inputs.require_id(run_id, field="run_id")
    async with unit_of_work(pool, readonly=True) as sql:
        row = await sql.get_run(run_id=key)
        if row is None:
            raise NotFoundError("run", str(key))
        actions = await sql.run_actions(run_id=key)
    return RunRecord(run=Run.of(row), actions=tuple(action_of(each) for each in actions))


def action_of(row: Mapping[str, Any]) -> RunAction:
    """Return the action of a row."""
    values: dict[str, Any] = dict(row)
    values["superseded_ids"] = tuple(row["superseded_ids"])
    return RunAction(**values)
