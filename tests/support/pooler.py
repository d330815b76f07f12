"""PgBouncer in front of the server of the tests: with ``TESTS_POOLER=transaction``, tests connect through it."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from commonplace.storage.cluster import APPLICATION_ROLE, PORT
from commonplace.storage.server_account import server_account
from support.deadlines import wait_for_port

MODE: Final = os.environ.get("TESTS_POOLER")
"""``transaction`` or ``session``; unset: tests connect to the server itself."""

PROGRAM: Final = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")

_SIZES: Final = {"transaction": 4, "session": 40}

_SHIPPED: Final = Path(__file__).parents[2] / "packaging" / "pgbouncer.ini"


@contextmanager
def pooler(server: Path | int, *, mode: str, size: int | None = None, password: str = "") -> Iterator[int]:
    """Run PgBouncer, as the handbook configures it, before a server; yield its port.

    Args:
        server: The directory of the server's socket, or its port on loopback.
        mode: ``transaction`` or ``session``.
        size: Connections to the server for each database; by default few, but one for each session in session mode.
        password: The password of the application's role at the server.
    """
    assert PROGRAM, "pgbouncer is not installed: apt-get install pgbouncer"
    account = server_account()
    directory = Path(mkdtemp(prefix="pgbouncer-"))
    port = free_port()
    (directory / "users").write_text(f'"{APPLICATION_ROLE}" "{password}"\n')
    # Only root may enter the directories above the socket, so the process starts inside of its directory.
    address = f"127.0.0.1 port={server}" if isinstance(server, int) else f"/proc/self/cwd port={PORT}"
    shipped = ConfigParser(interpolation=None)
    shipped.read(_SHIPPED)
    shipped["databases"] = {"*": f"host={address}"}
    shipped["pgbouncer"].update(
        {
            "listen_port": str(port),
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": str(directory / "users"),
            "pool_mode": mode,
            "default_pool_size": str(size or _SIZES[mode]),
            "server_idle_timeout": "5",
        }
    )
    configuration = directory / "pgbouncer.ini"
    with configuration.open("w") as file:
        shipped.write(file)
    for path in (directory, *directory.iterdir()):
        os.chown(path, account.uid, account.gid)
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, configuration],
            cwd=directory if isinstance(server, int) else server,
            user=account.uid if account.switches else None,
            group=account.gid if account.switches else None,
            extra_groups=[] if account.switches else None,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for_port(port)
        yield port
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory)


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pooled_url(port: int, database: str) -> str:
    """Return the URL of a database behind a pooler."""
    return f"postgresql://{APPLICATION_ROLE}@127.0.0.1:{port}/{database}?pgbouncer=true"
