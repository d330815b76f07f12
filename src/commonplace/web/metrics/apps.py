"""Metrics of app memory. Source: APP-12."""

from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from commonplace.apps import AppMemory, Counts, Statistics
from commonplace.web.metrics.families import by_label, counters, gauges

PREFIX: Final = "commonplace_app_"


async def figures(memory: AppMemory) -> list[Metric]:
    """Return gauges of the database and counters of this process."""
    return [*figures_of_database(await memory.statistics()), *counts_of_process(memory.counts())]


def figures_of_database(figures: Statistics) -> list[Metric]:
    """Turn the statistics of app memory into gauges."""
    compactions = figures.compactions_last_day
    digests, energy = figures.digests, figures.energy_last_day
    mean = sum(compactions.values()) / max(1, figures.apps_with_memories)
    injected = "Share of conversations with a context that had a memory"
    per_app = "Compactions in the last 24 hours, the mean of apps with memories"
    most = "Compactions in the last 24 hours, the highest number of one app"
    spent = "Units of energy spent in the last 24 hours"
    return [
        *gauges(
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
        ),
        by_label(
            GaugeMetricFamily, f"{PREFIX}digests", "Digests of conversations by state", "state", digests
        ),
        by_label(GaugeMetricFamily, f"{PREFIX}energy_spent_last_day", spent, "operation", energy),
    ]


def counts_of_process(counts: Counts) -> list[Metric]:
    """Turn the counts of this process into counters."""
    compactions = "Compactions by action and decider"
    return [
        *(
            by_label(CounterMetricFamily, PREFIX + name, documentation, label, values)
            for name, documentation, label, values in (
                ("digests_made", "Digests by outcome", "outcome", counts.digests),
                ("fallbacks", "Failures that a fallback or another try handled", "what", counts.fallbacks),
                (
                    "contexts",
                    "Contexts built for models, with or without memories",
                    "memories",
                    counts.contexts,
                ),
                ("energy_spent", "Units of energy spent", "operation", counts.energy),
            )
        ),
        by_label(
            CounterMetricFamily,
            f"{PREFIX}compactions",
            compactions,
            "action decider",
            counts.compactions,
        ),
        *counters(
            PREFIX,
            ("retrievals", "Reads of memories", counts.retrievals),
            ("secrets_left_out", "Sentences left out because they looked like secrets", counts.secrets),
            ("conflicts", "Memories that contradict a new memory", counts.conflicts),
        ),
    ]
