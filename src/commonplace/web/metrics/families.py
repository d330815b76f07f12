"""Metrics from tables of figures."""

from collections.abc import Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_Labels = TypeVar("_Labels", bound=str | tuple[str, ...])
_Family = TypeVar("_Family", CounterMetricFamily, GaugeMetricFamily)


def gauges(prefix: str, *rows: tuple[str, str, float]) -> list[Metric]:
    """Return a gauge for each row of name, documentation and value."""
    return [GaugeMetricFamily(prefix + name, text, value=value) for name, text, value in rows]


def counters(prefix: str, *rows: tuple[str, str, float]) -> list[Metric]:
    """Return a counter for each row of name, documentation and value."""
    return [CounterMetricFamily(prefix + name, text, value=value) for name, text, value in rows]


def by_label(
    kind: type[_Family], name: str, documentation: str, labels: str, values: Mapping[_Labels, float]
) -> Metric:
    """Return a metric with a value for each label, or for each pair of labels.

    Args:
        kind: A gauge or a counter.
        name: The name of the metric.
        documentation: Its meaning.
        labels: The names of the labels, separated by spaces.
        values: The values by label or by pair of labels.
    """
    family = kind(name, documentation, labels=labels.split())
    for key, value in values.items():
        family.add_metric([key] if isinstance(key, str) else [*key], value)
    return family
