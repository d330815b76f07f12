"""Metrics of operational memory. Source: OPS-08, OPS-16, OPS-20."""

from prometheus_client.core import Metric

from commonplace.operational import OperationalMemory
from commonplace.web.http.metrics.families import gauges


async def figures(memory: OperationalMemory) -> list[Metric]:
    """Return gauges of the database."""
    found = await memory.figures.total()
    states = {"active": found.active, "inactive": found.inactive}
    failed = "Sessions started in the last seven days that failed"
    cost = "Cost in US dollars of sessions in the last seven days"
    return gauges(
        "commonplace_operational_",
        ("memories{state}", "Memories of the scheduled agent", states),
        ("learned_last_week", "Memories created in the last seven days", found.learned_in_week),
        ("fading", "Active memories that lose confidence", found.fading),
        ("sessions_last_week", "Sessions started in the last seven days", found.sessions_in_week),
        ("sessions_failed_last_week", failed, found.failed_in_week),
        ("sessions_running", "Running sessions", found.running),
        ("critical_events_last_week", "Critical events in the last seven days", found.critical_in_week),
        ("cost_last_week_usd", cost, found.cost_in_week_usd),
    )
