"""Consolidation of a tenant, butler by butler; a failed group does not stop the others (KNW-24.3)."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.knowledge.consolidation import leases
from commonplace.knowledge.consolidation.attempt import Approve, ConsolidationTools, Failed, attempt
from commonplace.knowledge.consolidation.dry_run import PlannedRun, runs_of
from commonplace.knowledge.consolidation.executor import FORGOTTEN
from commonplace.knowledge.consolidation.leases import NotDue
from commonplace.knowledge.consolidation.report import ConsolidationReport
from commonplace.knowledge.consolidation.runs import Run, RunState
from commonplace.knowledge.consolidation.spawner import NOT_ASKED, Spawner
from commonplace.knowledge.model import inputs
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.rows import Noun

EXPIRES_SOON_S: Final = 86_400.0

Notify = Callable[[Run], None]

_log = logging.getLogger(__name__)


Outcome = Run | NotDue | Failed
"""The outcome of one attempt on a butler's oldest episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingGroup(Noun):
    """The number of waiting episodes of one butler, and the time of the oldest (aware UTC)."""

    butler: str
    episodes: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringEpisodes(Noun):
    """The number of episodes that will expire soon without consolidation, and when the first expires (aware UTC)."""

    episodes: int
    first_at: datetime | None


class Consolidation:
    """Consolidation, and the episodes that wait for it."""

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def run(
        self,
        cc_spawner: Spawner | None = None,
        *,
        butler: str | None = None,
        worker: str | None = None,
        policy: Policy | None = None,
        approve: Approve | None = None,
        notify: Notify | None = None,
    ) -> ConsolidationReport:
        """Consolidate the tenant's episodes, butler by butler, oldest first, until no episode is due."""
        wanted = inputs.optional_scope(butler, field="butler")
        policy = policy or Policy()
        pending = await self.pending()
        groups = {group.butler: group.episodes for group in pending if wanted in {None, group.butler}}
        if cc_spawner is None:
            return await self._planned(groups, policy)
        async with self._session.acting() as pool:
            means = ConsolidationTools(
                pool=pool,
                engine=self._session.engine,
                spawner=cc_spawner,
                worker=worker or leases.this_worker(),
                policy=policy,
                clock=self._session.clock,
                zone=self._session.database.settings.zone,
                rule_decay_rate=self._session.database.settings.rule_decay_rate,
                approve=approve,
            )
            outcomes = [
                (name, outcome) for name in groups async for outcome in _outcomes(means, name, notify)
            ]
        again_at = (each.again_at for _, each in outcomes if not isinstance(each, Run))
        return ConsolidationReport(
            dry_run=False,
            groups=groups,
            runs=tuple(each for _, each in outcomes if isinstance(each, Run)),
            failed=tuple(name for name, each in outcomes if isinstance(each, Failed)),
            busy=_not_due(outcomes, "busy"),
            waiting=_not_due(outcomes, "waiting"),
            again_at=min((at for at in again_at if at is not None), default=None),
            errors=tuple(
                f"{name}: {message}"
                for name, each in outcomes
                if not isinstance(each, NotDue)
                for message in each.errors
            ),
        )

    async def pending(self) -> list[PendingGroup]:
        """Return the tenant's waiting episodes by butler, without expired episodes."""
        async with self._session.reading() as sql:
            return PendingGroup.from_rows(await sql.pending_groups(now=self._session.clock()))

    async def expiring(self, *, within_s: float = EXPIRES_SOON_S) -> ExpiringEpisodes:
        """Return the tenant's waiting episodes that expire within a period, by default a day."""
        now = self._session.clock()
        before = _later(now, within_s)
        async with self._session.reading() as sql:
            row = await sql.expiring_episodes(now=now, before=before)
        return ExpiringEpisodes.from_row(row)

    async def loses_episodes(self, *, within_s: float) -> bool:
        """Return whether an episode of the tenant, waiting or a dead letter, expires within a period."""
        now = self._session.clock()
        before = _later(now, within_s)
        async with self._session.reading() as sql:
            return await sql.loses_episodes(now=now, before=before)

    async def _planned(self, groups: Mapping[str, int], policy: Policy) -> ConsolidationReport:
        now = self._session.clock()
        planned: list[PlannedRun] = []
        busy: list[str] = []
        waiting: list[str] = []
        async with self._session.reading() as sql:
            for butler in groups:
                if await sql.is_busy(butler=butler, now=now, latest_lease=policy.latest_lease(now)):
                    busy.append(butler)
                    continue
                theirs = [run async for run in runs_of(sql, butler, policy, now)]
                planned += theirs
                if not theirs:
                    waiting.append(butler)
        return ConsolidationReport(
            dry_run=True,
            groups=groups,
            planned=tuple(planned),
            busy=tuple(busy),
            waiting=tuple(waiting),
            note=NOT_ASKED,
        )


async def _outcomes(means: ConsolidationTools, butler: str, notify: Notify | None) -> AsyncIterator[Outcome]:
    """Consolidate a butler's episodes group by group, until a group fails or no episode is due.

    A group that was refused because an episode expired or was forgotten in the meantime is retried without that
    episode, because in an old backlog an episode expires during most answers.
    """
    while True:
        try:
            outcome = await attempt(means, butler)
        except Exception as error:  # noqa: BLE001 - the worker's outer door: the other butlers go on (KNW-24.3)
            outcome = Failed(error=error)
        if isinstance(outcome, Failed):
            _log_failure(butler, outcome)
        elif isinstance(outcome, Run) and notify is not None:
            notify(outcome)
        yield outcome
        is_refused = isinstance(outcome, Run) and outcome.state is not RunState.APPLIED
        if not isinstance(outcome, Run) or (is_refused and FORGOTTEN not in outcome.errors):
            return


def _log_failure(butler: str, failed: Failed) -> None:
    # Our own errors say what failed; other errors need a traceback.
    trace = None if isinstance(failed.error, CommonplaceError) else failed.error
    _log.error("consolidation of butler %r failed: %s", butler, failed.errors[0], exc_info=trace)


def _not_due(outcomes: Sequence[tuple[str, Outcome]], reason: str) -> tuple[str, ...]:
    return tuple(name for name, each in outcomes if isinstance(each, NotDue) and each.reason == reason)


def _later(now: datetime, within_s: float) -> datetime:
    try:
        return now + timedelta(seconds=within_s)
    except (ArithmeticError, TypeError, ValueError):
        raise InvalidInputError("within_s", "a number of seconds", within_s) from None
