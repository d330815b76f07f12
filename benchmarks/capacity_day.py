"""Simulate a day of recalls: tenants of unequal size and load, hours of unequal load, and machines that are lost.

Recalls arrive at random. The load of a tenant and its memories fall with its rank, by Zipf's law with exponent 1. The
busiest hour has 1.8 times the mean load, the quietest 0.2 times. A recall waits for a processor of a service, and then
for one of the server. Its work is exponential around the measured cost. All processors of a kind share one queue.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

HOUR_S: Final = 3600.0
BUSIEST: Final = 15
QUIETEST: Final = 3
SWING: Final = 0.8

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Processors that do no work for a time, in seconds of the day."""

    at_s: float
    until_s: float
    cores: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalls:
    """Recalls in the order of their arrival: the second, and the seconds of work in the service and in the server."""

    at_s: Floats
    service_s: Floats
    server_s: Floats


def a_day(
    *,
    tenants: int,
    memories: int,
    recalls: float,
    service_ms: float,
    server_ms: Callable[[float], float],
    seed: int = 1,
) -> Recalls:
    """Draw the recalls of a day.

    Args:
        tenants: The number of tenants.
        memories: The memories of a tenant, on average.
        recalls: A second, of all tenants, on average.
        service_ms: The work of a recall in the service.
        server_ms: The work of a recall in the server, by the memories of its tenant.
        seed: Of the random numbers.
    """
    random = np.random.default_rng(seed)
    load, cost_ms = tenants_of(tenants, memories, server_ms)
    hours = [1 + SWING * math.cos((hour - BUSIEST) * math.pi / 12) for hour in range(24)]
    counts = [random.poisson(recalls * HOUR_S * share) for share in hours]
    at_s = np.concatenate([np.sort(random.uniform(h, h + 1, n)) * HOUR_S for h, n in enumerate(counts)])
    of_tenant = random.choice(tenants, size=len(at_s), p=load)
    return Recalls(
        at_s=at_s,
        service_s=random.exponential(service_ms / 1000, len(at_s)),
        server_s=random.exponential(1.0, len(at_s)) * cost_ms[of_tenant] / 1000,
    )


def tenants_of(tenants: int, memories: int, server_ms: Callable[[float], float]) -> tuple[Floats, Floats]:
    """Return each tenant's share of the recalls, and the server's milliseconds for one of its recalls."""
    load = 1 / np.arange(1, tenants + 1)
    load /= load.sum()
    return load, np.array([server_ms(each) for each in load * tenants * memories])


def latencies(
    recalls: Recalls,
    *,
    service_cores: int,
    server_cores: int,
    service_loss: Loss | None = None,
    server_loss: Loss | None = None,
) -> Floats:
    """Return the seconds from the arrival of each recall to its end."""
    computed_s = _ends(recalls.at_s, recalls.service_s, service_cores, service_loss)
    order = np.argsort(computed_s, kind="stable")
    ends_s = np.empty_like(computed_s)
    ends_s[order] = _ends(computed_s[order], recalls.server_s[order], server_cores, server_loss)
    return ends_s - recalls.at_s


def _ends(at_s: Floats, work_s: Floats, cores: int, loss: Loss | None) -> Floats:
    """Return when work ends that begins in its order, each on the first free processor."""
    free = [0.0] * cores
    ends: list[float] = []
    for at, work in zip(at_s.tolist(), work_s.tolist(), strict=True):
        if loss is not None and at >= loss.at_s:
            free = [max(each, loss.until_s) if n < loss.cores else each for n, each in enumerate(free)]
            heapq.heapify(free)
            loss = None
        end = max(at, free[0]) + work
        heapq.heapreplace(free, end)
        ends.append(end)
    return np.array(ends)


def of_hour(recalls: Recalls, seconds: Floats, hour: int) -> Sequence[float]:
    """Return recalls a second, and the milliseconds at 50, 95 and 99 percent, in an hour."""
    within = (recalls.at_s >= hour * HOUR_S) & (recalls.at_s < (hour + 1) * HOUR_S)
    percentiles = np.percentile(seconds[within] * 1000, (50, 95, 99))
    return [float(within.sum() / HOUR_S), *map(float, percentiles)]
