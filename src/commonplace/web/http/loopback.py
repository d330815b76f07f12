"""Loopback addresses, and the socket that the service listens on.

Without a required login, everybody who can connect may read and delete everything, so the service listens only on
loopback. Source: APP-10.5.
"""

import errno
import os
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from commonplace.core.errors import InvalidInputError, ListenError

LOCALHOST: Final = "localhost"
BACKLOG: Final = 2048


def is_loopback(host: str) -> bool:
    """Return whether a host without a port is ``localhost``, ignoring case, or a loopback address; no name lookup."""
    address = parse_address(host)
    return host.lower() == LOCALHOST if address is None else address.is_loopback


def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address of a host, with or without brackets; ``None`` if the host is a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def require_address(host: str) -> str:
    """Return an address to listen on, without brackets; names other than ``localhost`` are refused.

    Raises:
        InvalidInputError: The host is neither ``localhost`` nor an IP address.
    """
    address = parse_address("127.0.0.1" if host.lower() == LOCALHOST else host)
    if address is None:
        form = "localhost or an IP address of this machine, such as 127.0.0.1, ::1 or 0.0.0.0 for all of them"
        raise InvalidInputError("host", form, host)
    return str(address)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that a busy port is detected before any memory is opened.

    Args:
        host: See :func:`require_address`. A service on any other address than loopback must require tokens.
        port: The port; 0 for any free port.

    Raises:
        InvalidInputError: The host is not an address.
        ListenError: The address is in use or unusable.
    """
    name = require_address(host)
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    # Without the protocol number, asyncio does not set TCP_NODELAY, which costs 40 ms per request.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((name, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ListenError(host, port, _reason(error)) from None
    return listener


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses this port; choose another with --port, or --port 0 for any free port"
    return os.strerror(error.errno) if error.errno else str(error)


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"
