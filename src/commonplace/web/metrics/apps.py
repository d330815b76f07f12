"""Metrics of app memory. Source: APP-12."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from commonplace.apps import AppMemory, Counts, Statistics

PREFIX: Final = "commonplace_app_"


async def figures(memory: AppMemory) -> list[Metric]:
    """Return gauges of the database and counters of this process."""
    return [*figures_of_database(await memory.statistics()), *counts_of_process(memory.counts())]


def figures_of_database(figures: Statistics) -> Iterator[Metric]:
    """Turn the statistics of app memory into gauges."""
    for name, documentation, value in (
        ("apps", "Apps, including uninstalled apps", figures.apps),
        ("memories", "Memories in all apps", figures.memories),
        ("memories_created_last_hour", "Memories created in the last hour", figures.created_last_hour),
        ("utilisation_ratio", "Share of apps with memories", figures.utilisation),
        (
            "injection_ratio",
            "Share of conversations with a context that had a memory",
            figures.injection_rate,
        ),
        ("energy_level", "Units of energy left", figures.energy.level),
        ("energy_capacity", "Units of energy of a full budget", figures.energy.capacity),
    ):
        yield GaugeMetricFamily(PREFIX + name, documentation, value=value)
    compactions = figures.compactions_last_day
    yield GaugeMetricFamily(
        PREFIX + "compactions_last_day_per_app",
        "Compactions in the last 24 hours, the mean of apps with memories",
        value=sum(compactions.values()) / max(1, figures.apps_with_memories),
    )
    yield GaugeMetricFamily(
        PREFIX + "compactions_last_day_most",
        "Compactions in the last 24 hours, the highest number of one app",
        value=max(compactions.values(), default=0),
    )
    digests = GaugeMetricFamily(PREFIX + "digests", "Digests of conversations by state", labels=["state"])
    for state, count in figures.digests.items():
        digests.add_metric([state], count)
    yield digests
    energy = GaugeMetricFamily(
        PREFIX + "energy_spent_last_day", "Units of energy spent in the last 24 hours", labels=["operation"]
    )
    for operation, units in figures.energy_last_day.items():
        energy.add_metric([operation], units)
    yield energy


def counts_of_process(counts: Counts) -> Iterator[Metric]:
    """Turn the counts of this process into counters."""
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
    ):
        family = CounterMetricFamily(PREFIX + name, documentation, labels=[label])
        for key, value in values.items():
            family.add_metric([key], value)
        yield family
    compactions = CounterMetricFamily(
        PREFIX + "compactions", "Compactions by action and decider", labels=["action", "decider"]
    )
    for labels, count in counts.compactions.items():
        compactions.add_metric(list(labels), count)
    yield compactions
    for name, documentation, value in (
        ("retrievals", "Reads of memories", counts.retrievals),
        ("secrets_left_out", "Sentences left out because they looked like secrets", counts.secrets),
        ("conflicts", "Memories that contradict a new memory", counts.conflicts),
    ):
        yield CounterMetricFamily(PREFIX + name, documentation, value=value)
