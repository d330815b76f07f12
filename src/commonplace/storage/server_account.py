"""The operating system's account that the embedded PostgreSQL server runs as.

PostgreSQL refuses to run as root. Everybody else runs it as themselves; for root there is a system user of
its own.
"""

import logging
import os
import pwd
import shutil
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.core.errors import EmbeddedPostgresError

logger = logging.getLogger(__name__)

SERVICE_USER = "commonplace"
FALLBACK_USER = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    """Who the server runs as.

    ``switches`` tells whether that is another account than this process's, which is so for root only.
    """

    name: str
    uid: int
    gid: int
    switches: bool

    def run(
        self,
        command: Sequence[str | Path],
        *,
        directory: Path,
        timeout_s: float,
        text: str = "",
        pass_fds: Collection[int] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, in a session of its own and with a bare environment, and wait for it.

        The bare environment keeps ``PGPORT``, ``PGDATA``, ``TZ`` and their like from changing what it does;
        the session keeps Ctrl-C in the caller's terminal away from it.

        Args:
            command: The program and its arguments.
            directory: The working directory, which the account can enter.
            timeout_s: Seconds after which it is killed.
            text: What it reads on standard input.
            pass_fds: File descriptors that it inherits.

        Raises:
            EmbeddedPostgresError: It cannot be run, or took longer than ``timeout_s``.
        """
        try:
            return subprocess.run(  # noqa: S603 - our own programs, arguments in a list, no shell
                command,
                check=False,
                capture_output=True,
                cwd=directory,
                encoding="utf-8",
                env={"PATH": os.defpath, "LC_ALL": "C"},
                errors="replace",
                extra_groups=[] if self.switches else None,
                group=self.gid if self.switches else None,
                input=text,
                pass_fds=pass_fds,
                start_new_session=True,
                timeout=timeout_s,
                user=self.uid if self.switches else None,
            )
        except OSError as error:
            raise EmbeddedPostgresError(f"cannot run {command[0]} as user {self.name!r}: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise EmbeddedPostgresError(f"{command[0]} did not end within {timeout_s:.0f} s") from error


def server_account() -> ServerAccount:
    """Return the account to run the server as; as root the system user is created when it is missing.

    Raises:
        EmbeddedPostgresError: This process's user id has no name, or root finds no account to run the server
            as.
    """
    uid = os.geteuid()
    if uid == 0:
        return _service_account()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedPostgresError(
            f"PostgreSQL needs a user with a name, and user id {uid} has none in /etc/passwd: "
            "add one, or set COMMONPLACE_POSTGRES_URL to a server of your own"
        ) from None
    return ServerAccount(name=entry.pw_name, uid=uid, gid=os.getegid(), switches=False)


def _service_account() -> ServerAccount:
    account = _lookup(SERVICE_USER) or _create_service_user()
    if account is not None:
        return account
    account = _lookup(FALLBACK_USER)
    if account is None or account.uid == 0:
        raise EmbeddedPostgresError(
            f"PostgreSQL refuses to run as root, and there is no other account for it: create the user "
            f"{SERVICE_USER!r} (useradd --system {SERVICE_USER}), or run commonplace as an ordinary user, or set "
            "COMMONPLACE_POSTGRES_URL to a server of your own"
        )
    logger.warning("no user %r and none can be created: PostgreSQL runs as %r", SERVICE_USER, FALLBACK_USER)
    return account


def _lookup(name: str) -> ServerAccount | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return ServerAccount(name=name, uid=entry.pw_uid, gid=entry.pw_gid, switches=True)


def _create_service_user() -> ServerAccount | None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return None
    outcome = subprocess.run(  # noqa: S603 - a fixed command
        [
            *(useradd, "--system", "--user-group", "--no-create-home"),
            *("--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", SERVICE_USER),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if outcome.returncode != 0:
        logger.warning("useradd %s failed: %s", SERVICE_USER, outcome.stderr.strip())
    return _lookup(SERVICE_USER)
