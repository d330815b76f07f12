"""Metrics of knowledge memory for the installation's tenant, and of background work for all tenants."""

from dataclasses import asdict
from typing import Final

from prometheus_client.core import Metric

from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, worker_status
from commonplace.web.http.metrics.families import counters, gauges

PREFIX: Final = "commonplace_knowledge_"


async def figures(memory: KnowledgeMemory) -> list[Metric]:
    """Return gauges for the tenant of the memory."""
    found = await memory.stats()
    states = {
        (kind, state): count
        for kind, counts in (("facts", found.facts), ("rules", found.rules))
        for state, count in asdict(counts).items()
    }
    episodes, backlog = found.episodes, "Age in hours of the oldest episode that waits for consolidation"
    return [
        *gauges(
            PREFIX,
            ("memories{memory_type,state}", "Memories by kind and state", states),
            ("episodes", "Episodes that have not expired", episodes.total),
            ("episodes_pending", "Episodes that wait for consolidation", episodes.unconsolidated),
            ("episodes_failed", "Episodes that failed and will be retried", episodes.failed),
            ("episodes_dead_letter", "Episodes that failed with no more retries", episodes.dead_letter),
            ("backlog_age_hours", backlog, episodes.backlog_age_hours or 0),
        ),
        *await _figures_of_replicas(memory),
    ]


async def figures_of_work(memory: KnowledgeMemory, settings: Settings) -> list[Metric]:
    """Return gauges of the queue of background work."""
    now, status = memory.clock(), await worker_status(memory, settings)
    waiting_s = (now - status.oldest_waiting_at).total_seconds() if status.oldest_waiting_at else 0.0
    return gauges(
        "commonplace_",
        ("jobs{state}", "Jobs of recent days by state", status.jobs),
        ("workers", "Live workers", sum(worker.alive for worker in status.workers)),
        ("jobs_waiting_seconds", "Time since the oldest waiting job was due", waiting_s),
    )


async def _figures_of_replicas(memory: KnowledgeMemory) -> list[Metric]:
    """Return gauges of the replicas as this process uses them; none if the settings name no replicas."""
    replicas = memory.database.replicas
    if replicas is None:
        return []
    states = await replicas.states()
    lags_bytes = {each.name: each.lag_bytes for each in states if each.lag_bytes is not None}
    lags_s = {each.name: each.lag_s for each in states if each.lag_s is not None}
    up = {each.name: float(not each.fault) for each in states}
    reads = {"primary": replicas.reads_of_primary, **{each.name: each.reads for each in states}}
    return [
        *gauges(
            "commonplace_replica_",
            ("up{replica}", "Whether reads use the replica", up),
            ("lag_bytes{replica}", "Bytes of the log that the replica has not replayed", lags_bytes),
            ("lag_seconds{replica}", "Age of the newest replayed change", lags_s),
        ),
        *counters(PREFIX, ("reads{server}", "Reads by server", reads)),
    ]
