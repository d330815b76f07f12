"""Access options that the operator sets when the service starts: login, host names, proxies and limits."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.web.http.loopback import is_loopback, parse_address

_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
"""A name in a Host header; browsers write letters beyond ASCII in the form ``xn--…``."""

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Enough for an import of about 40,000 memories."""
BODY_PIECE_TIMEOUT_S: Final = 10.0
"""The time limit for the next piece of a body."""
BODY_TIMEOUT_S: Final = 120.0
"""The time limit for a whole body: 16 MiB at about 1 Mbit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """Rate limits, as ``N/minute``; see :mod:`.rate_limits`."""

    per_token: str = "6000/minute"  # noqa: S105 - a rate
    per_address: str = "600/minute"
    """The rate limit of requests that need no token: the login page, its style, the health check."""
    failures_per_address: str = "10/minute"
    """The rate limit of wrong tokens; a broken client does not lock out valid tokens from its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityOptions:
    """Access options of the service.

    Attributes:
        login_required: Whether every request needs a token. If not, every caller counts as the operator; use this only
            on loopback.
        allowed_hosts: Further host names of the service, without a port.
        trusted_proxies: Addresses or networks of proxies whose forwarding headers are trusted.
        max_body_bytes: The largest body.
        body_piece_timeout_s: The time that the next piece of a body may take.
        body_timeout_s: The time that a whole body may take.
        rate_limits: The rate limits; they do not apply on loopback without a login.

    Raises:
        InvalidInputError: A host or proxy has a form that no request can match.
    """

    login_required: bool = False
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    body_piece_timeout_s: float = BODY_PIECE_TIMEOUT_S
    body_timeout_s: float = BODY_TIMEOUT_S
    rate_limits: RateLimits = field(default_factory=RateLimits)

    def __post_init__(self) -> None:
        """Refuse hosts and proxies that would have no effect."""
        for host in self.allowed_hosts:
            if not _HOST_NAME.fullmatch(host) and parse_address(host) is None:
                form = "a name without scheme, port and path, such as memory.example"
                raise InvalidInputError("allowed_host", form, host)
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError:
                form = "an address or a network, such as 10.0.0.2 or 10.0.0.0/24"
                raise InvalidInputError("trusted_proxy", form, proxy) from None

    def allows_host(self, host: str) -> bool:
        """Return whether requests may name a host: loopback, an allowed name, or any IP address if a login is required.

        DNS rebinding needs a name, so IP addresses are safe.

        Args:
            host: As in a URL, in any case, without a port; an IPv6 address in brackets.
        """
        if is_loopback(host) or host.lower() in {name.lower() for name in self.allowed_hosts}:
            return True
        return self.login_required and parse_address(host) is not None
