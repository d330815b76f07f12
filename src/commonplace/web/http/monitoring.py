"""Prometheus metrics of the memories, background work, models, requests and this process.

If a memory does not answer, ``commonplace_up`` says so and only its metrics are missing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from commonplace.core.errors import CommonplaceError
from commonplace.web.http.access import OpenMemories
from commonplace.web.http.health import Checks
from commonplace.web.http.metrics import apps, knowledge, models, operational, workspace
from commonplace.web.http.metrics.families import gauges

TIMEOUT_S: Final = 5.0
"""The time limit for each part; Prometheus gives up after ten seconds."""

_log = logging.getLogger(__name__)


class _Reading(Collector):
    """A collector of metrics that have already been read."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def process_registry() -> CollectorRegistry:
    """Return a registry with the metrics of this process: memory, CPU time, open files, Python, garbage collector."""
    registry = CollectorRegistry()
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


async def read_figures(checks: Checks) -> list[Metric]:
    """Return the metrics of all parts; a part that takes more than five seconds counts as down."""
    memories = checks.memories
    parts: dict[str, Awaitable[list[Metric]]] = {
        "operational": operational.figures(memories.operational),
        "apps": apps.figures(memories.apps),
        "workspace": workspace.figures(memories.workspace),
    }
    if memories.knowledge.database.was_tried:
        parts["knowledge"] = knowledge.figures(memories.knowledge)
        if checks.settings is not None:
            parts["background work"] = knowledge.figures_of_work(memories.knowledge, checks.settings)
    answers = dict(zip(parts, await asyncio.gather(*map(_within_time, parts.items())), strict=True))
    up = {name: float(found is not None) for name, found in answers.items()}
    read = (metric for found in answers.values() for metric in found or ())
    return [*gauges("commonplace_", ("up{memory}", "Whether the memory answers: 1 or 0", up)), *read]


async def _within_time(part: tuple[str, Awaitable[list[Metric]]]) -> list[Metric] | None:
    name, reading = part
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await reading
    except (CommonplaceError, TimeoutError) as error:
        _log.warning("no metrics of %s: %s", name, error or f"no answer within {TIMEOUT_S:g} s")
        return None


router = APIRouter(tags=["operations"])


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Read metrics for Prometheus",
    response_class=Response,
    response_description="The metrics",
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, _memories: OpenMemories) -> Response:
    """Return metrics of all memories and of this process, in the text format of Prometheus."""
    reading = CollectorRegistry()
    checks = cast("Checks", request.app.state.checks)
    found = await read_figures(checks)
    if checks.ledger is not None:
        found += models.figures(checks.ledger)
    reading.register(_Reading(found))
    process: CollectorRegistry = request.app.state.process_registry
    return Response(generate_latest(reading) + generate_latest(process), media_type=CONTENT_TYPE_PLAIN_0_0_4)
