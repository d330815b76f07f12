"""The ``commonplace`` command as other programs start it, run in a fork of :mod:`support.command_server`.

A copy of this file, made executable, stands beside the server's socket. What starts the copy as ``python`` runs Python
code in the fork, but isolated code (``-I``) in an interpreter of its own.
"""

import json
import os
import signal
import socket
import sys

SOCKET = "socket"
ANSWER_BYTES = 64
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def begin(client: socket.socket, request: dict[str, object], streams: list[int]) -> int:
    """Send a request; return the process id of the child that runs it."""
    socket.send_fds(client, [json.dumps(request).encode()], streams)
    return int(client.recv(ANSWER_BYTES))


def main() -> int:
    """Run the command to its end and return its exit status; signals reach the child."""
    if sys.argv[1:2] == ["-I"]:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])  # noqa: S606 - what it was started as
    request: dict[str, object] = {
        "arguments": sys.argv[1:],
        "directory": os.getcwd(),  # noqa: PTH109 - pathlib takes long to import
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(os.path.join(os.path.dirname(__file__), SOCKET))  # noqa: PTH118, PTH120 - likewise
        signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        child = begin(client, request, [0, 1, 2])
        for number in PASSED_ON:
            signal.signal(number, lambda received, _: os.kill(child, received))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        status = int(client.recv(ANSWER_BYTES))
    if status < 0:
        if -status in PASSED_ON:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
