"""The report of a consolidation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from commonplace.core.clock import format_timestamp
from commonplace.knowledge.consolidation.dry_run import PlannedRun
from commonplace.knowledge.consolidation.runs import RUN_COUNTS, Run, RunState
from commonplace.knowledge.consolidation.spawner import NO_LANGUAGE_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """The result of a consolidation.

    Attributes:
        dry_run: Whether episodes were only counted, because no model was given.
        groups: The number of waiting episodes at the start, by butler.
        planned: The runs that a dry run would make, in order.
        runs: Runs that were applied or refused, in order; failed runs are in ``errors``.
        failed: Butlers with a group that failed; the group is retried later.
        busy: Butlers whose oldest episodes another worker holds.
        waiting: Butlers whose oldest episodes failed and are not due yet.
        again_at: When the first failed, busy or waiting group is due; ``None`` if unknown.
        errors: Failures of whole groups and of single actions, each with its butler.
        note: A hint for the operator, for example why nothing was done.
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

    def without_model(self) -> Self:
        """Return the report of a dry run with a note that no language model is set."""
        return replace(self, note=NO_LANGUAGE_MODEL)

    @property
    def episodes_pending(self) -> int:
        """The number of waiting episodes at the start."""
        return sum(self.groups.values())

    @property
    def episodes_consolidated(self) -> int:
        """The number of episodes that were consolidated."""
        return sum(len(run.episode_ids) for run in self.runs if run.state is RunState.APPLIED)

    def total(self, count: str) -> int:
        """Return the sum of one of the :data:`~.runs.RUN_COUNTS` over all runs."""
        return sum(getattr(run, count) for run in self.runs)

    def counted(self) -> dict[str, Any]:
        """Return the episode counts as JSON-safe values."""
        return {
            "episodes_pending": self.episodes_pending,
            "groups": dict(self.groups),
            "consolidated": self.episodes_consolidated > 0,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-safe values."""
        waiting = {"busy": list(self.busy), "waiting": list(self.waiting)}
        if self.dry_run:
            planned = [each.to_json() for each in self.planned]
            return self.counted() | {"planned": planned} | waiting | {"note": self.note}
        return (
            self.counted()
            | {"episodes_consolidated": self.episodes_consolidated}
            | {name: self.total(name) for name in RUN_COUNTS}
            | {
                "runs": [
                    {
                        "id": str(run.id),
                        "butler": run.butler,
                        "state": str(run.state),
                        "episodes": len(run.episode_ids),
                        "notes": list(run.notes),
                    }
                    for run in self.runs
                ],
                "failed": list(self.failed),
            }
            | waiting
            | {
                "again_at": None if self.again_at is None else format_timestamp(self.again_at),
                "errors": list(self.errors),
            }
        )
