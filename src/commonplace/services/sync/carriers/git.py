"""A Git remote: a repository of its own, or a branch of its own in one.

Files are on the branch ``commonplace``. This device keeps a bare repository with what it has fetched; there is no
working tree, and the name and the e-mail of the person stay out of the commits. A deletion begins the branch anew with
a commit without a parent, so that the remote can drop what was deleted.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.urls import mask_url
from commonplace.services.sync.carriers.carrier import NAME

BRANCH: Final = "refs/heads/commonplace"
TIMEOUT_S: Final = 60.0
MOST_TRIES: Final = 10
"""Other devices may push between a fetch and a push, so often."""

_WHO: Final = "commonplace"
_NO_BLOB: Final = "0" * 40
_USER: Final = "COMMONPLACE_GIT_USER"
_PASSWORD: Final = "COMMONPLACE_GIT_PASSWORD"  # noqa: S105 - a name
_HELPER: Final = f'!f() {{ printf \'username=%s\\npassword=%s\\n\' "${_USER}" "${_PASSWORD}"; }}; f'
"""A credential helper for git that answers from the environment, because every user can read arguments of commands."""
_CONFIG: Final = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")


class _PushRejectedError(Exception):
    """Another device pushed first."""


class GitCarrier:
    """A Git remote.

    Args:
        remote: Its URL or path, as ``git`` takes it.
        repository: Where this device keeps what it has fetched; it is made if it is not there.
    """

    def __init__(self, remote: str, repository: Path) -> None:
        self._remote, self._credentials = _without_password(remote)
        self._repository = repository

    def names(self) -> AbstractSet[str]:
        """Return the names of all files."""
        return self._names(self._fetched())

    def get(self, name: str) -> bytes | None:
        """Return a file."""
        commit = self._known()
        if commit is None or name not in self._names(commit):
            commit = self._fetched()
        if commit is None or name not in self._names(commit):
            return None
        return self._run("cat-file", "blob", f"{commit}:{name}")

    def put(self, name: str, body: bytes) -> None:
        """Push a file, unless one of this name is there."""
        for _ in range(MOST_TRIES):
            commit = self._fetched()
            if name in self._names(commit):
                return
            blob = self._text("hash-object", "-w", "--stdin", body=body)
            tree = self._tree(commit, f"100644 {blob}\t{name}\n")
            new = self._text("commit-tree", tree, *(("-p", commit) if commit else ()), "-m", "Sync")
            if self._pushed(new, commit):
                return
        raise StorageUnavailableError(
            f"{self._shown()}: other devices push all the time, so this one could not"
        )

    def delete(self, name: str) -> None:
        """Begin the branch anew without a file."""
        for _ in range(MOST_TRIES):
            commit = self._fetched()
            if commit is None or name not in self._names(commit):
                return
            tree = self._tree(commit, f"0 {_NO_BLOB}\t{name}\n")
            if self._pushed(self._text("commit-tree", tree, "-m", "Sync"), commit):
                self._run("prune", "--expire=now")
                return
        raise StorageUnavailableError(
            f"{self._shown()}: other devices push all the time, so this one could not"
        )

    def _names(self, commit: str | None) -> set[str]:
        if commit is None:
            return set()
        listed = self._run("ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace")
        return {name for name in listed.split("\0") if NAME.fullmatch(name)}

    def _tree(self, commit: str | None, entry: str) -> str:
        """Return the tree of a commit with a new entry, in the form of ``git update-index --index-info``."""
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            if commit is not None:
                self._run("read-tree", commit, environ=index)
            self._run("update-index", "--index-info", body=entry.encode(), environ=index)
            return self._text("write-tree", environ=index)

    def _fetched(self) -> str | None:
        """Return the commit of the branch at the remote, which is here then; ``None`` if there is no branch."""
        self._prepare()
        line = self._text("ls-remote", "--", self._remote, BRANCH)
        if not line:
            return None
        commit = line.split()[0]
        if commit != self._known():
            self._run("fetch", "--quiet", "--no-tags", "--", self._remote, f"+{BRANCH}:{BRANCH}")
        return commit

    def _known(self) -> str | None:
        """Return the commit of the branch that was fetched last."""
        self._prepare()
        return self._text("for-each-ref", "--format=%(objectname)", BRANCH) or None

    def _pushed(self, commit: str, before: str | None) -> bool:
        """Push a commit in place of the one before, and return whether no other device was first."""
        lease = f"--force-with-lease={BRANCH}:{before or ''}"
        try:
            self._run("push", "--quiet", lease, "--", self._remote, f"{commit}:{BRANCH}")
        except _PushRejectedError:
            return False
        self._run("update-ref", BRANCH, commit)
        return True

    def _prepare(self) -> None:
        if (self._repository / "HEAD").exists():
            return
        try:
            make_directories(self._repository)
        except OSError as error:
            raise StorageUnavailableError(f"{self._repository} cannot be written: {error}") from error
        self._run("init", "--quiet", "--bare", "--template=", str(self._repository))

    def _text(
        self, *command: str, body: bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> str:
        return self._run(*command, body=body, environ=environ).decode().strip()

    def _run(
        self, *command: str, body: bytes | None = None, environ: Mapping[str, str] | None = None
    ) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - no shell
                ["git", *self._config(), f"--git-dir={self._repository}", *command],  # noqa: S607 - the user's git
                input=body if body is not None else b"",
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
                env=_environ() | self._credentials | dict(environ or {}),
            )
        except FileNotFoundError as error:
            raise StorageUnavailableError("git is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise StorageUnavailableError(f"{self._shown()} did not answer within {TIMEOUT_S:g} s") from error
        except OSError as error:
            raise StorageUnavailableError(f"git cannot run: {error}") from error
        if done.returncode == 0:
            return done.stdout
        output = done.stderr.decode("utf-8", "replace").strip()
        if command[0] == "push" and re.search(r"\[(remote )?rejected\]|stale info|cannot lock ref", output):
            raise _PushRejectedError
        lines = output.replace(self._remote, self._shown()).splitlines()
        raise StorageUnavailableError(f"{self._shown()}: {lines[-1] if lines else 'git failed'}")

    def _config(self) -> tuple[str, ...]:
        helper = ("-c", "credential.helper=", "-c", f"credential.helper={_HELPER}")
        return (*_CONFIG, *helper) if self._credentials else _CONFIG

    def _shown(self) -> str:
        """Return the remote without a password."""
        return mask_url(self._remote)


def _without_password(remote: str) -> tuple[str, dict[str, str]]:
    """Return a remote without its password, and the environment for :data:`_HELPER`; empty without a password."""
    try:
        parts = urlsplit(remote)
    except ValueError:
        return remote, {}
    if parts.scheme not in {"http", "https"} or not parts.password:
        return remote, {}
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    user, password = unquote(parts.username or ""), unquote(parts.password)
    return plain.geturl(), {_USER: user, _PASSWORD: password}


def _environ() -> dict[str, str]:
    """Return an environment in which git asks nobody and names nobody."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ssh = os.environ.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    who = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", _WHO), ("EMAIL", ""), ("DATE", "@0 +0000"))
    }
    return {**inherited, **who, "GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": ssh, "LC_ALL": "C"}
