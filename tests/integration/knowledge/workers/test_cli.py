"""``commonplace worker status``."""

from pathlib import Path
from typing import Any

import asyncpg

from commonplace.core.clock import ManualClock
from commonplace.embedding import EmbeddingEngine
from support.commands import CommandLine
from support.workers import job_states, memory_and_settings, note_tenant, store, until, working


async def test_an_operator_sees_workers_schedules_and_failures(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine, clock: ManualClock, commonplace: CommandLine
) -> None:
    """Before the first worker, while one works, and after."""
    named: dict[str, Any] = {
        "COMMONPLACE_POSTGRES_URL": knowledge_url,
        "COMMONPLACE_CONSOLIDATION_CRON": "off",
    }
    before = commonplace("worker", "status", "--json", **named)
    assert before.status == 0, before.err
    assert before.json["began"] is False
    assert [(one["upkeep"], one["cron"], one["outcome"]) for one in before.json["schedules"]] == [
        ("sweep", "0 3 * * *", "never"),
        ("cleanup", "0 * * * *", "never"),
        ("consolidation", None, "never"),
    ]
    assert "no worker is alive" in commonplace("worker", "status", **named).out
    only = {"cleanup_cron": "off", "consolidation_cron": "off"}
    async with memory_and_settings(knowledge_url, tmp_path, engine, clock, **only) as (memory, settings):
        pool = await memory.database.pool()
        await store(memory, "tenant-a")
        await note_tenant(pool, "[red]no tenant")
        async with working(memory, settings):
            await until(lambda: _has(("sweep", "failed"), pool), what="the bad shard")
            await until(lambda: _has(("sweep", "succeeded"), pool), what="the good one")
            meanwhile = commonplace("worker", "status", "--json", **named).json
            shown = commonplace("worker", "status", **named)
    (worker,) = meanwhile["workers"]
    assert (worker["alive"], worker["concurrency"]) == (True, 4)
    assert meanwhile["schedules"][0]["last_at"] == "2026-03-01T03:00:00.000000Z"
    assert meanwhile["schedules"][0]["ran_at"] is not None
    assert meanwhile["schedules"][0]["jobs"] == {"succeeded": 1, "todo": 1}
    assert meanwhile["jobs"] == {"failed": 1, "succeeded": 2, "todo": 1}
    (failure,) = meanwhile["failures"]
    assert failure["arguments"] == {"tenant_id": "[red]no tenant"}
    assert "InvalidInputError" in failure["error"]
    assert shown.status == 0, shown.err
    for words in (
        worker["name"],
        "alive",
        "0 3 * * *",
        "2026-03-01 03:00",
        "[red]no tenant",
        "1 failed",
        "failed at (UTC)",
    ):
        assert words in shown.out
    assert "+00:00" not in shown.out


def test_a_bad_schedule_is_one_line(commonplace: CommandLine) -> None:
    """And the worker does not start."""
    done = commonplace("worker", COMMONPLACE_SWEEP_CRON="nightly")
    assert done.status == 1
    assert done.err.startswith("error: sweep_cron (environment COMMONPLACE_SWEEP_CRON): ")
    assert "five fields" in done.err


async def _has(wanted: tuple[str, str], pool: asyncpg.Pool) -> bool:
    return wanted in await job_states(pool)
