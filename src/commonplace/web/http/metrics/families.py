"""Metrics from tables of figures."""

from collections.abc import Mapping
from typing import Any, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_Family = TypeVar("_Family", CounterMetricFamily, GaugeMetricFamily)

Row = tuple[str, str, float | Mapping[Any, float]]
"""A name, its documentation, and a value; ``memories{kind,state}`` has a value for each pair of labels."""


def gauges(prefix: str, *rows: Row) -> list[Metric]:
    """Return a gauge for each row."""
    return [_family(GaugeMetricFamily, prefix, row) for row in rows]


def counters(prefix: str, *rows: Row) -> list[Metric]:
    """Return a counter for each row."""
    return [_family(CounterMetricFamily, prefix, row) for row in rows]


def _family(kind: type[_Family], prefix: str, row: Row) -> Metric:
    name, _, labels = row[0].removesuffix("}").partition("{")
    family = kind(prefix + name, row[1], labels=labels.split(",") if labels else ())
    values = row[2] if isinstance(row[2], Mapping) else {(): row[2]}
    for key, value in values.items():
        family.add_metric([key] if isinstance(key, str) else key, value)
    return family
