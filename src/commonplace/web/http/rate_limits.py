"""Rate limits, so that no caller can lock out others.

Each process counts on its own, so several processes behind one address multiply the limits. Callers with a token are
counted by token, other callers by address, and IPv6 addresses by the network of a household (/64).
"""

import logging
import math
import time
from enum import StrEnum
from ipaddress import IPv6Address, ip_network
from typing import Final

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from prometheus_client import CollectorRegistry, Counter
from starlette.types import Scope

from commonplace.web.http.loopback import parse_address
from commonplace.web.http.problems import TOO_MANY, ProblemError
from commonplace.web.http.security import RateLimits

HOUSEHOLD_BITS: Final = 64

log = logging.getLogger(__name__)


class Credential(StrEnum):
    """The kinds of credentials."""

    TOKEN = "token"  # noqa: S105 - a word
    LOGIN = "login"


class Limiter:
    """Counts requests and refuses requests above the limits; logs refused credentials and counts them in a metric."""

    def __init__(self, limits: RateLimits, registry: CollectorRegistry) -> None:
        self._refused = Counter(
            "commonplace_refused_credentials",
            "Tokens and logins that were refused as unknown, expired or revoked",
            ("credential",),
            registry=registry,
        )
        for credential in Credential:
            self._refused.labels(credential)
        self._counts = MovingWindowRateLimiter(MemoryStorage())
        self._per_token = parse(limits.per_token)
        self._per_address = parse(limits.per_address)
        self._failures = parse(limits.failures_per_address)

    async def count_token(self, key: str) -> None:
        """Count a request with a token.

        Raises:
            ProblemError: The limit is exceeded: 429 with ``Retry-After``.
        """
        await self._count(self._per_token, "token", key, f"the limit of a token is {self._per_token}")

    async def count_address(self, address: str) -> None:
        """Count a request without a token.

        Raises:
            ProblemError: The limit is exceeded: 429 with ``Retry-After``.
        """
        allowed = f"the limit of an address without a token is {self._per_address}"
        await self._count(self._per_address, "address", address, allowed)

    async def count_failure(self, credential: Credential, address: str) -> None:
        """Count and log a wrong token or a failed login, without the token.

        Raises:
            ProblemError: The limit is exceeded: 429 with ``Retry-After``.
        """
        self._refused.labels(credential).inc()
        log.warning("refused a %s from %s: unknown, expired or revoked", credential, address)
        allowed = f"the limit of wrong tokens from an address is {self._failures}"
        await self._count(self._failures, "failure", address, allowed)

    async def _count(self, limit: RateLimitItem, kind: str, key: str, allowed: str) -> None:
        if await self._counts.hit(limit, kind, key):
            return
        reset_at_s = (await self._counts.get_window_stats(limit, kind, key)).reset_time
        wait_s = max(1, math.ceil(reset_at_s - time.time()))
        raise ProblemError(TOO_MANY, allowed, headers={"Retry-After": str(wait_s)})


def address_of(scope: Scope) -> str:
    """Return the address or network that a request counts for."""
    client = scope.get("client")
    host = client[0] if client else ""
    address = parse_address(host)
    if not isinstance(address, IPv6Address):
        return str(address or host)
    return str(address.ipv4_mapped or ip_network((address, HOUSEHOLD_BITS), strict=False))
