"""Metrics of app memory. Source: APP-12."""

from typing import Final

from prometheus_client.core import Metric

from commonplace.apps import AppMemory, Counts, Statistics
from commonplace.web.http.metrics.families import counters, gauges

PREFIX: Final = "commonplace_app_"


async def figures(memory: AppMemory) -> list[Metric]:
    """Return gauges of the database and counters of this process."""
    return [*figures_of_database(await memory.figures.total()), *counts_of_process(memory.figures.counts())]


def figures_of_database(figures: Statistics) -> list[Metric]:
    """Turn the statistics of app memory into gauges."""
    compactions, spent = figures.compactions_last_day, "Units of energy spent in the last 24 hours"
    mean = sum(compactions.values()) / max(1, figures.apps_with_memories)
    injected = "Share of conversations with a context that had a memory"
    per_app = "Compactions in the last 24 hours, averaged over apps with memories"
    most = "Compactions in the last 24 hours, maximum over apps"
    return gauges(
        PREFIX,
        ("apps", "Apps, including uninstalled apps", figures.apps),
        ("memories", "Memories in all apps", figures.memories),
        ("memories_created_last_hour", "Memories created in the last hour", figures.created_last_hour),
        ("utilisation_ratio", "Share of apps with memories", figures.utilisation),
        ("injection_ratio", injected, figures.injection_rate),
        ("energy_level", "Units of energy left", figures.energy.level),
        ("energy_capacity", "Units of energy of a full budget", figures.energy.capacity),
        ("compactions_last_day_per_app", per_app, mean),
        ("compactions_last_day_most", most, max(compactions.values(), default=0)),
        ("digests{state}", "Digests of conversations by state", figures.digests),
        ("energy_spent_last_day{operation}", spent, figures.energy_last_day),
    )


def counts_of_process(counts: Counts) -> list[Metric]:
    """Turn the counts of this process into counters."""
    return counters(
        PREFIX,
        ("digests_made{outcome}", "Digests by outcome", counts.digests),
        ("fallbacks{what}", "Failures that a fallback or a retry handled", counts.fallbacks),
        ("contexts{memories}", "Contexts built for models, with or without memories", counts.contexts),
        ("energy_spent{operation}", "Units of energy spent", counts.energy),
        ("compactions{action,decider}", "Compactions by action and decider", counts.compactions),
        ("retrievals", "Reads of memories", counts.retrievals),
        ("secrets_left_out", "Sentences left out because they looked like secrets", counts.secrets),
        ("conflicts", "Memories that contradict a new memory", counts.conflicts),
    )
