"""The process that stops the embedded server after its last user has left.

It runs as a script that imports only the standard library, so that it is small and starts in milliseconds:

    python -I -S reaper.py CLUSTER PG_CTL UID GID

Standard input is ``reaper.lock``, held while this process lives. Every user of the server holds ``users.lock``
shared; this process waits to hold it exclusively, then stops the server and ends.
The order of release matters: ``reaper.lock`` first (file descriptor 0, which the kernel also closes first when the
process is killed), then ``users.lock``. A new user waits for the second lock, so it never relies on a reaper that is
about to end.
"""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

STOP_TIMEOUT_S = 120
POLL_S = 0.02


def main(directory: Path, pg_ctl: str, uid: int, gid: int) -> None:
    """Detach from the caller, wait until nobody uses the cluster in ``directory``, then stop its server."""
    if os.fork():
        # The caller waits only for this first process, so there is no zombie; the second process belongs to init.
        os._exit(0)
    users = os.open(directory / "users.lock", os.O_RDWR | os.O_NOFOLLOW)
    fcntl.flock(users, fcntl.LOCK_EX)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while time.monotonic() < deadline and _is_needed(directory, users):
        switch = os.geteuid() == 0
        # pg_ctl fails before the server has written its pid file; the lock shows when the server is gone.
        subprocess.run(  # noqa: S603 - PostgreSQL's own program, arguments in a list, no shell
            [pg_ctl, "stop", "-s", "-w", "-t", "60", "-m", "fast", "-D", "data"],
            check=False,
            cwd=directory,  # The server's account may not be able to reach it by its path.
            env={"PATH": os.defpath, "LC_ALL": "C"},
            extra_groups=[] if switch else None,
            group=gid if switch else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=uid if switch else None,
        )
        time.sleep(POLL_S)
    os.close(0)
    os.close(users)


def _is_needed(directory: Path, users: int) -> bool:
    """Return whether our server is running; a home that was deleted and created again has new locks."""
    try:
        ours = os.path.samestat(os.fstat(users), (directory / "users.lock").stat())
        return ours and _server_lives(directory / "server.lock")
    except FileNotFoundError:
        return False


def _server_lives(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
