"""How many requests one caller may send, so that none of them keeps the others out.

The counts are those of this process: several processes behind one address allow as many times as much. Callers with a
token are told apart by it; others by address, of IPv6 by the network of a household (/64).
"""

import math
import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.types import Scope

from commonplace.web.problems import TOO_MANY, ProblemError
from commonplace.web.security import RateLimits

HOUSEHOLD_BITS: Final = 64


class Limiter:
    """Counts requests, and refuses those that are too many.

    Args:
        limits: How many there may be.
    """

    def __init__(self, limits: RateLimits) -> None:
        self._counts = MovingWindowRateLimiter(MemoryStorage())
        self._per_token = parse(limits.per_token)
        self._per_address = parse(limits.per_address)
        self._failures = parse(limits.failures_per_address)

    async def count_token(self, key: str) -> None:
        """Count a request of somebody who is known.

        Raises:
            ProblemError: It is one too many: 429 with ``Retry-After``.
        """
        await self._count(self._per_token, "token", key, f"a token may send {self._per_token}")

    async def count_address(self, address: str) -> None:
        """Count a request of somebody who is not known.

        Raises:
            ProblemError: It is one too many: 429 with ``Retry-After``.
        """
        allowed = f"an address may send {self._per_address} without a token"
        await self._count(self._per_address, "address", address, allowed)

    async def count_failure(self, address: str) -> None:
        """Count a token that was wrong.

        Raises:
            ProblemError: It is one too many: 429 with ``Retry-After``.
        """
        allowed = f"an address may be wrong about a token {self._failures}"
        await self._count(self._failures, "failure", address, allowed)

    async def _count(self, limit: RateLimitItem, kind: str, key: str, allowed: str) -> None:
        if await self._counts.hit(limit, kind, key):
            return
        reset_at_s = (await self._counts.get_window_stats(limit, kind, key)).reset_time
        wait_s = max(1, math.ceil(reset_at_s - time.time()))
        raise ProblemError(TOO_MANY, allowed, headers={"Retry-After": str(wait_s)})


def address_of(scope: Scope) -> str:
    """Return where a request comes from, as it is counted."""
    client = scope.get("client")
    host = client[0] if client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(ip_network((address, HOUSEHOLD_BITS), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)
