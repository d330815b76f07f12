"""Deadline for waiting in tests, long enough for a machine that does ten other things."""

import socket
import time
from typing import Final

DEADLINE_S: Final = 90.0
"""A process that a test must not wait for sleeps twice as long."""


def wait_for_port(port: int) -> None:
    """Block until somebody listens on a port of loopback.

    Raises:
        AssertionError: Nobody did until the deadline.
    """
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens on port {port}"
            time.sleep(0.02)
        else:
            return
