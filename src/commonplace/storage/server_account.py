"""The operating system's account of the embedded PostgreSQL server.

PostgreSQL refuses to run as root, so root's server runs as a system user; other users' servers run as that user.
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
    """The account of the server.

    ``switches`` is true if it differs from this process's account, as for root.
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
        """Run a program as this account, in a new session with a minimal environment, and wait for its end.

        The minimal environment keeps variables such as ``PGPORT``, ``PGDATA`` and ``TZ`` from affecting the program;
        the session keeps Ctrl-C in the caller's terminal from reaching it.

        The account must be able to enter ``directory``. ``text`` is the program's standard input.

        Raises:
            EmbeddedPostgresError: The program cannot be run, or took longer than ``timeout_s``.
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
    """Return the account of the server; for root, the system user is created if it does not exist.

    Raises:
        EmbeddedPostgresError: This process's user id has no name, or there is no account for root's server.
    """
    uid = os.geteuid()
    if uid == 0:
        return _service_account()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise EmbeddedPostgresError(
            f"PostgreSQL needs a user with a name, but user id {uid} has no name in /etc/passwd: "
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
            f"PostgreSQL refuses to run as root, and there is no other account: create the user "
            f"{SERVICE_USER!r} (useradd --system {SERVICE_USER}), or run commonplace as an ordinary user, or set "
            "COMMONPLACE_POSTGRES_URL to a server of your own"
        )
    logger.warning(
        "the user %r does not exist and cannot be created: PostgreSQL runs as %r", SERVICE_USER, FALLBACK_USER
    )
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
