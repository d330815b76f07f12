"""Who may connect, under which names, and how often: what an operator decides when the service is started."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.web.loopback import is_loopback

_LABEL: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
"""A name as it stands in a Host header: browsers write letters beyond ASCII in the form ``xn--…``."""

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""An import of some 40,000 memories."""
BODY_PIECE_TIMEOUT_S: Final = 10.0
"""How long the next piece of a body may take; who sends slower than that holds a connection for nothing."""
BODY_TIMEOUT_S: Final = 120.0
"""How long a whole body may take: 16 MiB at about a megabit a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """How many requests there may be, as ``N/minute``; see :mod:`.rate_limits` for whom each one counts."""

    per_token: str = "6000/minute"  # noqa: S105 - a number of requests
    per_address: str = "600/minute"
    """Of requests that need no token: the page of the login, its style, the health check."""
    failures_per_address: str = "10/minute"
    """Of wrong tokens; right ones count at any rate, so that one broken client locks nobody else out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityOptions:
    """What stands between a connection and the memories.

    Attributes:
        login_required: Whether every request needs a token. Where not, whoever can connect counts as the operator:
            for loopback only.
        allowed_hosts: Names, without a port, under which the service is reached beside loopback.
        trusted_proxies: Addresses or networks of proxies whose word counts on where a request comes from.
        max_body_bytes: Larger bodies are refused.
        body_piece_timeout_s: Slower ones too.
        body_timeout_s: And ones that take longer in all.
        rate_limits: For everything but loopback without a login.

    Raises:
        InvalidInputError: A host or a proxy is written in a way that no request could ever match.
    """

    login_required: bool = False
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    max_body_bytes: int = MAX_BODY_BYTES
    body_piece_timeout_s: float = BODY_PIECE_TIMEOUT_S
    body_timeout_s: float = BODY_TIMEOUT_S
    rate_limits: RateLimits = field(default_factory=RateLimits)

    def __post_init__(self) -> None:
        """Refuse what would have no effect."""
        for host in self.allowed_hosts:
            if not _HOST_NAME.fullmatch(host) and not _is_address(host):
                form = "a name without scheme, port and path, such as memory.example"
                raise InvalidInputError("allowed_host", form, host)
        for proxy in self.trusted_proxies:
            _require_network(proxy)

    def allows_host(self, host: str) -> bool:
        """Tell whether requests may name a host: loopback, an allowed name, or with a login any address in digits.

        Only a name can be made to resolve to another machine (DNS rebinding); digits are what they are.

        Args:
            host: As in a URL, in any case, without a port; an IPv6 address in brackets.
        """
        if is_loopback(host) or host.lower() in {name.lower() for name in self.allowed_hosts}:
            return True
        return self.login_required and _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _require_network(proxy: str) -> None:
    try:
        ip_network(proxy)
    except ValueError:
        form = "an address or a network, such as 10.0.0.2 or 10.0.0.0/24"
        raise InvalidInputError("trusted_proxy", form, proxy) from None
