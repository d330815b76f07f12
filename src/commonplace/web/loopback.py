"""Which addresses only this machine can reach, and a socket at one of them.

There is no login yet, so that whoever can connect may read and delete everything: the service listens where only
programs of this machine can connect. Source: APP-10.5.
"""

import errno
import os
import socket
from ipaddress import ip_address
from typing import Final

from commonplace.core.errors import InvalidInputError, ListenError

LOCALHOST: Final = "localhost"
BACKLOG: Final = 2048


def is_loopback(host: str) -> bool:
    """Return whether a host is ``localhost`` or an address of the loopback interface; nothing is looked up.

    Args:
        host: As in a URL or without its brackets, in any case, without a port.
    """
    if host.lower() == LOCALHOST:
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def require_loopback(host: str) -> str:
    """Return a host to listen at, or refuse it.

    Raises:
        InvalidInputError: Other machines could connect to it.
    """
    if not is_loopback(host):
        form = "127.0.0.1, ::1 or localhost, because there is no login that could keep other machines out"
        raise InvalidInputError("host", form, host)
    return host


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port that is taken shows before anything is opened.

    Args:
        host: See :func:`require_loopback`.
        port: 0 for any that is free.

    Raises:
        InvalidInputError: The host is not loopback.
        ListenError: The address is taken, or cannot be used.
    """
    name = require_loopback(host).removeprefix("[").removesuffix("]")
    if name.lower() == LOCALHOST:
        name = "127.0.0.1"
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
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
        return "another program listens there; choose another with --port, or 0 for any that is free"
    return os.strerror(error.errno) if error.errno else str(error)


def url_of(listener: socket.socket) -> str:
    """Return the URL at which a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"
