"""The identity of a project: a random id that worktrees share, that moves with the project, and that no clone copies.

In a Git repository the ids are in ``commonplace.json`` in Git's common directory: one for the repository, and one for
each subdirectory with an installation of its own. Elsewhere the id is in ``.commonplace/project.json``. If neither
file can be written, the id is in ``projects/`` in the home, under the path of the file that it replaces.

    {"projects": {"": {"id": "api-7k3m2q9t", "name": "api"}, "services/pay": {…}}}

This module runs no Git command, because every prompt of a client waits for it.
Source: PRJ-01.
"""

import json
import re
import secrets
import unicodedata
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.core.file_format import require_format
from commonplace.core.text import clean_text
from commonplace.storage.file_locks import FileLock

IN_GIT: Final = "commonplace.json"
ELSEWHERE: Final = Path(".commonplace", "project.json")
IN_HOME: Final = "projects"
NAMELESS: Final = "project"
MAX_NAME_CHARS: Final = 60
_ALPHABET: Final = "23456789abcdefghijkmnpqrstuvwxyz"
"""Letters and digits that look different from each other."""

_RANDOM_CHARS: Final = 8
_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
_MAX_ID_CHARS: Final = 100
_MAX_FILE_BYTES: Final = 1_000_000
_FILE_NAME_CHARS: Final = 32
LOCK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The id of a project, which is its butler and its scope in knowledge memory, and its first name."""

    id: str
    name: str

    @classmethod
    def new(cls, name: str) -> "Identity":
        """Return an identity with a random id that begins with the name."""
        name = plain_name(name)
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or NAMELESS
        ending = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARS))
        return cls(id=f"{slug}-{ending}", name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityLocation:
    """The place of a directory's identity.

    Attributes:
        file: The file with the identities.
        top: The top directory of the working tree, or the directory itself outside of Git.
        inner: The directory below the top, as a relative POSIX path; empty for the top.
        git: Git's common directory; ``None`` outside of Git.
    """

    file: Path
    top: Path
    inner: str
    git: Path | None = None

    @classmethod
    def of(cls, directory: Path) -> "IdentityLocation":
        """Return the place of a directory's identity: its Git repository, else the directory itself.

        Outside of Git, parent directories do not count: a client that once ran in a user's home directory would
        otherwise make everything below it one project.
        """
        directory = directory.resolve()
        for top in (directory, *directory.parents):
            if common := _git_common_directory(top):
                return cls(file=common / IN_GIT, top=top, inner=_inner(directory, top), git=common)
        return cls(file=directory / ELSEWHERE, top=directory, inner="")

    def kept_in(self, home: Path) -> "IdentityLocation":
        """Return the place in a home that replaces this place if its file cannot be written."""
        name = sha256(str(self.file).encode("utf-8", "surrogateescape")).hexdigest()[:_FILE_NAME_CHARS]
        return replace(self, file=home / IN_HOME / f"{name}.json")

    def read(self) -> dict[str, Identity]:
        """Return the identities by directory below the top; an empty dictionary if there is no file.

        Raises:
            SettingsError: The file cannot be read.
            FileTooNewError: A newer release wrote the file.
        """
        try:
            document = json.loads(self.file.read_bytes()[:_MAX_FILE_BYTES])
            require_format(document, path=self.file)
            entries = cast("Mapping[str, Any]", document["projects"])
            return {inner: Identity(id=entry["id"], name=entry["name"]) for inner, entry in entries.items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{self.file}: expected the identities of projects, which `commonplace install` writes, got {error!r}"
            ) from None

    def write(self, identities: Mapping[str, Identity]) -> None:
        """Replace the identities atomically.

        Raises:
            StorageUnavailableError: The file cannot be written.
        """
        entries = {inner: {"id": each.id, "name": each.name} for inner, each in identities.items()}
        write_json(self.file, {"projects": entries}, mode=0o755)

    def nearest(self, identities: Mapping[str, Identity]) -> str | None:
        """Return the key of the identity that applies to the directory: its own, else that of the nearest parent."""
        path = Path(self.inner)
        keys = (*(each.as_posix() for each in (path, *path.parents)), "")
        return next((key for key in keys if key in identities), None)


def is_project_id(text: str) -> bool:
    """Return whether a text has the form of a project's id."""
    return len(text) <= _MAX_ID_CHARS and _ID.fullmatch(text) is not None


def plain_name(name: str) -> str:
    """Return a name as a project may have it: clean, of at most 60 characters, and not empty."""
    return clean_text(name).strip()[:MAX_NAME_CHARS].strip() or NAMELESS


def write_json(path: Path, document: Mapping[str, object], *, mode: int) -> None:
    """Write or replace a JSON file; ``mode`` is that of a new directory.

    Raises:
        StorageUnavailableError: The file cannot be written.
    """
    try:
        make_directories(path.parent, mode=mode)
        write_text(path, json.dumps(document, ensure_ascii=False, indent=2) + "\n", mode=mode & 0o666)
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror}") from error


@contextmanager
def locked(path: Path, *, mode: int) -> Generator[None]:
    """Lock a file against other processes for the ``with`` block; ``mode`` is that of a new directory.

    Raises:
        StorageUnavailableError: The directory cannot be written, or another process held the lock for five seconds.
    """
    with _lock_of(path, mode=mode) as lock:
        lock.require(timeout_s=LOCK_TIMEOUT_S)
        yield


def is_writable(path: Path, *, mode: int) -> bool:
    """Return whether a file can be locked for writing; ``mode`` is that of a new directory."""
    try:
        _lock_of(path, mode=mode).close()
    except StorageUnavailableError:
        return False
    return True


def _lock_of(path: Path, *, mode: int) -> FileLock:
    try:
        make_directories(path.parent, mode=mode)
        return FileLock(path.with_name(f"{path.name}.lock"))
    except OSError as error:
        raise StorageUnavailableError(f"{path.parent}: {error.strerror}") from error


def _inner(directory: Path, top: Path) -> str:
    inner = directory.relative_to(top).as_posix()
    return "" if inner == "." else inner


def _git_common_directory(top: Path) -> Path | None:
    """Return the directory that all worktrees of a repository share; ``None`` if not at the top of a working tree."""
    git = top / ".git"
    if (git / "HEAD").is_file():
        return git
    try:
        link = git.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    if not link.startswith("gitdir:"):
        return None
    own = (top / link.removeprefix("gitdir:").strip()).resolve()
    try:
        return (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except (OSError, ValueError):
        return own if (own / "HEAD").is_file() else None
