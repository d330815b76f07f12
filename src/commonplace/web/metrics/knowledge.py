"""Metrics of knowledge memory: of the installation's tenant, and of background work for all tenants."""

from dataclasses import asdict
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, worker_status

PREFIX: Final = "commonplace_knowledge_"


async def figures(memory: KnowledgeMemory) -> list[Metric]:
    """Return gauges of the tenant that the memory acts for."""
    found = await memory.stats()
    memories = GaugeMetricFamily(
        PREFIX + "memories", "Memories by kind and state", labels=["memory_type", "state"]
    )
    for kind, counts in (("facts", found.facts), ("rules", found.rules)):
        for state, count in asdict(counts).items():
            memories.add_metric([kind, state], count)
    episodes = found.episodes
    return [
        memories,
        *(
            GaugeMetricFamily(PREFIX + name, documentation, value=value)
            for name, documentation, value in (
                ("episodes", "Episodes that have not expired", episodes.total),
                ("episodes_pending", "Episodes that wait for consolidation", episodes.unconsolidated),
                ("episodes_failed", "Episodes that failed and will be tried again", episodes.failed),
                (
                    "episodes_dead_letter",
                    "Episodes that failed with no more retries",
                    episodes.dead_letter,
                ),
                (
                    "backlog_age_hours",
                    "Age in hours of the oldest episode that waits for consolidation",
                    episodes.backlog_age_hours or 0,
                ),
            )
        ),
    ]


async def figures_of_work(memory: KnowledgeMemory, settings: Settings) -> list[Metric]:
    """Return gauges of the queue of background work."""
    now, status = memory.clock(), await worker_status(memory, settings)
    jobs = GaugeMetricFamily("commonplace_jobs", "Jobs of the last days by state", labels=["state"])
    for state, count in status.jobs.items():
        jobs.add_metric([state], count)
    waiting_s = (now - status.oldest_waiting_at).total_seconds() if status.oldest_waiting_at else 0.0
    return [
        jobs,
        GaugeMetricFamily(
            "commonplace_workers",
            "Live workers",
            value=sum(worker.alive for worker in status.workers),
        ),
        GaugeMetricFamily(
            "commonplace_jobs_waiting_seconds",
            "Time since the oldest waiting job was due",
            value=waiting_s,
        ),
    ]
