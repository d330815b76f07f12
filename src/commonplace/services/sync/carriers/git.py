"""A Git remote: a repository of its own, or a branch of its own in one.

Files are on the branch ``commonplace``. This device keeps a bare repository with what it has fetched; there is no
working tree, and the name and the e-mail of the person stay out of the commits. The files of a sync are one push. A
deletion begins the branch anew with a commit without a parent, so that the remote can drop what was deleted. Some
remotes refuse that, such as GitLab for the first branch of a repository; there, a deletion is one more commit.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.urls import mask_url, without_logins
from commonplace.services.sync.carriers.carrier import NAME

BRANCH: Final = "refs/heads/commonplace"
TIMEOUT_S: Final = 60.0
MOST_TRIES: Final = 10
"""Other devices may push between a fetch and a push, so often."""

MOST_REFUSALS: Final = 3
"""So often a remote may refuse to replace the same commit, before it is not another device that was first."""

PUSH_BYTES: Final = 8_000_000
"""The bytes of the files of one push, unless a single file has more, so that a slow network ends each push in time."""

_WHO: Final = "commonplace"
_REJECTION: Final = re.compile(r"\[(remote )?rejected\]|stale info|cannot lock ref")
_LOCKED: Final = re.compile(r"failed to update ref|cannot lock ref")
_ASKS: Final = re.compile(r"could not read (Username|Password)|Authentication failed|Permission denied \(")
_NO_QUESTION: Final = (
    "Sync asks nobody for a password: use an SSH key, or store the password with a Git credential helper"
)
_DAMAGED: Final = re.compile(r"\.lock': File exists|corrupt|(bad|missing) object|not a git repository: ")
"""What git says of a repository in which another git was killed."""

_NO_BLOB: Final = "0" * 40
_USER: Final = "COMMONPLACE_GIT_USER"
_PASSWORD: Final = "COMMONPLACE_GIT_PASSWORD"  # noqa: S105 - a name
_HELPER: Final = f'!f() {{ printf \'username=%s\\npassword=%s\\n\' "${_USER}" "${_PASSWORD}"; }}; f'
"""A credential helper for git that answers from the environment, because every user can read arguments of commands."""
_CONFIG: Final = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")


class _PushRejectedError(Exception):
    """The remote did not take a push; the message says why."""


class _RefusalError(Exception):
    """The remote refuses a push, though no other device was first; the message says why."""


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
        self.put_all({name: body})

    def delete(self, name: str) -> None:
        """Begin the branch anew without a file."""
        self.delete_all([name])

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Push files together, but for those that are there; many bytes in several pushes."""
        for group in _groups(files):
            try:
                self._replace(lambda commit, group=group: self._with(commit, group))
            except _RefusalError as error:
                raise StorageUnavailableError(f"{self._shown()}: {error}") from error

    def delete_all(self, names: Collection[str]) -> str | None:
        """Begin the branch anew without files; return what a person must do if the remote refuses that.

        There the files are deleted by one more commit, and stay in the history of the branch.
        """
        try:
            self._replace(lambda commit: self._without(commit, names, is_new=True))
        except _RefusalError:
            try:
                self._replace(lambda commit: self._without(commit, names, is_new=False))
            except _RefusalError as error:
                raise StorageUnavailableError(f"{self._shown()}: {error}") from error
            return (
                f"{self._shown()} does not let its branch `commonplace` be replaced, so deleted files stay in its "
                "history. Allow force pushes to this branch in the settings of the remote, under protected branches; "
                "the next deletion then removes them"
            )
        self._run("prune", "--expire=now")
        return None

    def _replace(self, change: Callable[[str | None], str | None]) -> None:
        """Push what a change makes of the branch's commit, again as long as other devices are first.

        Args:
            change: Returns the new commit; ``None`` if there is nothing to do.

        Raises:
            _RefusalError: The remote refuses the push for another reason.
        """
        refusals: Counter[str | None] = Counter()
        for _ in range(MOST_TRIES):
            commit = self._fetched()
            new = change(commit)
            if new is None:
                return
            try:
                self._push(new, commit)
            except _PushRejectedError as error:
                refusals[commit] += 1
                if refusals[commit] == MOST_REFUSALS:
                    if _LOCKED.search(str(error)):
                        raise self._refused() from error
                    raise _RefusalError(str(error)) from error
            else:
                return
        raise self._refused()

    def _with(self, commit: str | None, files: Mapping[str, bytes]) -> str | None:
        """Return a commit with files, but for those that are there; ``None`` if all are."""
        names = self._names(commit)
        blobs = {
            name: self._text("hash-object", "-w", "--stdin", body=body)
            for name, body in files.items()
            if name not in names
        }
        entries = "".join(f"100644 {blob}\t{name}\n" for name, blob in blobs.items())
        return self._commit(self._tree(commit, entries), commit) if blobs else None

    def _without(self, commit: str | None, names: Collection[str], *, is_new: bool) -> str | None:
        """Return a commit without files, as the first one or as one more; ``None`` if none of them is there."""
        present = self._names(commit) & {*names}
        entries = "".join(f"0 {_NO_BLOB}\t{name}\n" for name in sorted(present))
        return self._commit(self._tree(commit, entries), None if is_new else commit) if present else None

    def _commit(self, tree: str, parent: str | None) -> str:
        return self._text("commit-tree", tree, *(("-p", parent) if parent else ()), "-m", "Sync")

    def _names(self, commit: str | None) -> set[str]:
        if commit is None:
            return set()
        listed = self._run("ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8", "replace")
        return {name for name in listed.split("\0") if NAME.fullmatch(name)}

    def _tree(self, commit: str | None, entries: str) -> str:
        """Return the tree of a commit with new entries, in the form of ``git update-index --index-info``."""
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            if commit is not None:
                self._run("read-tree", commit, environ=index)
            self._run("update-index", "--index-info", body=entries.encode(), environ=index)
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

    def _push(self, commit: str, before: str | None) -> None:
        """Push a commit in place of the one before.

        Raises:
            _PushRejectedError: The remote has another commit by now, or refuses this one.
        """
        lease = f"--force-with-lease={BRANCH}:{before or ''}"
        self._run("push", "--quiet", lease, "--", self._remote, f"{commit}:{BRANCH}")
        self._run("update-ref", BRANCH, commit)

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
        lines = without_logins(output.replace(self._remote, self._shown())).splitlines()
        if command[0] == "push" and (rejection := [each for each in lines if _REJECTION.search(each)]):
            raise _PushRejectedError(rejection[-1].strip())
        if _DAMAGED.search(output) and str(self._repository) in output:
            shutil.rmtree(self._repository, ignore_errors=True)
            raise StorageUnavailableError(
                f"{self._repository} was damaged, as by a kill of git, and is deleted; the next sync fetches it again"
            )
        raise StorageUnavailableError(f"{self._shown()}: {_reason(lines)}")

    def _refused(self) -> StorageUnavailableError:
        return StorageUnavailableError(
            f"{self._shown()} refused several pushes: other devices push all the time, or a killed push left the "
            f"file {BRANCH}.lock there, which you can delete"
        )

    def _config(self) -> tuple[str, ...]:
        helper = ("-c", "credential.helper=", "-c", f"credential.helper={_HELPER}")
        return (*_CONFIG, *helper) if self._credentials else _CONFIG

    def _shown(self) -> str:
        """Return the remote without a password or token."""
        return mask_url(without_logins(self._remote))


def _groups(files: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield files in the groups of one push each."""
    group: dict[str, bytes] = {}
    for name, body in files.items():
        if group and sum(map(len, group.values())) + len(body) > PUSH_BYTES:
            yield group
            group = {}
        group[name] = body
    if group:
        yield group


def _reason(output: Sequence[str]) -> str:
    """Return the line in which git says why it failed: the fatal one, or the one of ssh before it."""
    lines = [line for line in output if line.strip()] or ["git failed"]
    fatal = next((place for place, line in enumerate(lines) if line.startswith("fatal:")), len(lines) - 1)
    if fatal and "Could not read from remote repository" in lines[fatal]:
        fatal -= 1
    line = lines[fatal].removeprefix("fatal: ")
    return f"{line.rstrip('.')}. {_NO_QUESTION}" if _ASKS.search(line) else line


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
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GCM_INTERACTIVE": "never"}
    return {**inherited, **who, **silent, "GIT_SSH_COMMAND": ssh, "LC_ALL": "C"}
