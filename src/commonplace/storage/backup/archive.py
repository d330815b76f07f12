"""The file of a backup: a gzip-compressed tar whose first member, ``manifest.json``, describes the others."""

import hashlib
import json
import os
import tarfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from commonplace.core.directories import make_directories
from commonplace.core.drafts import PRIVATE, draft_of
from commonplace.core.errors import StorageError, StorageUnavailableError

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
"""Changes when an older release could no longer restore the file."""

_COMPRESSION: Final = 5
_BLOCK_BYTES: Final = 1024 * 1024
_MAX_MANIFEST_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a backup.

    Attributes:
        made_at: ISO 8601, when the copies were made.
        release: The release that made the backup.
        files: The SHA-256 of each member, by name.
        revisions: The schema revisions of each database, by member.
        workspaces: The directory of each workspace, by the member with its memories.
        format: The format of the file.
    """

    made_at: str
    release: str
    files: dict[str, str] = field(default_factory=dict[str, str])
    revisions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    workspaces: dict[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT


def digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of each file below a directory, by its name in the backup."""
    found: dict[str, str] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                found[path.relative_to(directory).as_posix()] = hashlib.file_digest(
                    file, "sha256"
                ).hexdigest()
    return found


def pack(directory: Path, manifest: Manifest, target: Path) -> None:
    """Write the files of a directory to a backup, read it again, and put it in place.

    Raises:
        OSError: The backup cannot be written; nothing is left of it.
        StorageError: What was written is not what is read; nothing is left of it.
    """
    with draft_of(target) as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_COMPRESSION) as archive:
            text = json.dumps(asdict(manifest), indent=2).encode()
            archive.addfile(_member(MANIFEST, len(text)), BytesIO(text))
            for name in manifest.files:
                with (directory / name).open("rb") as source:
                    archive.addfile(_member(name, os.fstat(source.fileno()).st_size), source)
        file.flush()
        verify(Path(file.name))


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, PRIVATE
    return member


def verify(file: Path) -> Manifest:
    """Read a whole backup, compare each member with the manifest, and return the manifest.

    Raises:
        StorageUnavailableError: The file cannot be read.
        StorageError: The file is not a backup of this format, or is damaged.
    """
    with _members(file) as (manifest, members):
        for member, content in members:
            _copy(file, member, content, None, manifest.files[member.name])
        return manifest


def unpack(file: Path, directory: Path) -> Manifest:
    """Write the members of a backup to an empty directory, compare each with the manifest, and return the manifest.

    Raises:
        StorageUnavailableError: The file cannot be read.
        StorageError: The file is not a backup of this format, or is damaged.
        OSError: A member cannot be written.
    """
    with _members(file) as (manifest, members):
        for member, content in members:
            path = directory / member.name
            make_directories(path.parent)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as target:
                _copy(file, member, content, target, manifest.files[member.name])
        return manifest


@contextmanager
def _members(file: Path) -> Generator[tuple[Manifest, Iterator[tuple[tarfile.TarInfo, IO[bytes]]]]]:
    try:
        with tarfile.open(file, "r:gz") as archive:
            first = archive.next()
            content = archive.extractfile(first) if first is not None and first.name == MANIFEST else None
            if content is None:
                raise StorageError(f"{file} is not a backup: its first member is not {MANIFEST}")
            manifest = _manifest(file, content)
            yield manifest, _listed(file, archive, manifest)
    except FileNotFoundError:
        raise StorageUnavailableError(f"{file}: no such file") from None
    except (tarfile.TarError, zlib.error, EOFError, ValueError, TypeError) as error:
        raise StorageError(f"{file} is damaged, or is not a backup: {error}") from error


def _manifest(file: Path, content: IO[bytes]) -> Manifest:
    loaded: object = json.loads(content.read(_MAX_MANIFEST_BYTES))
    if not isinstance(loaded, dict):
        raise StorageError(f"{file} is damaged: {MANIFEST} must be a JSON object")
    document = cast("dict[str, Any]", loaded)
    if document.get("format") != FORMAT:
        raise StorageError(
            f"{file}: expected a backup of format {FORMAT}, got {document.get('format')!r}: restore it with release "
            f"{document.get('release')!r}"
        )
    manifest = Manifest(**document)
    unlisted = {*manifest.revisions, *manifest.workspaces} - set(manifest.files)
    if unlisted:
        raise StorageError(f"{file} is damaged: its manifest does not list the file {min(unlisted)!r}")
    return manifest


def _listed(
    file: Path, archive: tarfile.TarFile, manifest: Manifest
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    missing = set(manifest.files)
    for member in archive:
        if member.name == MANIFEST:
            continue
        path = PurePosixPath(member.name)
        content = archive.extractfile(member) if member.isreg() else None
        if content is None or path.is_absolute() or ".." in path.parts or member.name not in missing:
            raise StorageError(
                f"{file} is damaged: it holds {member.name!r}, which its manifest does not list"
            )
        missing.remove(member.name)
        yield member, content
    if missing:
        raise StorageError(f"{file} is damaged: {min(missing)!r} is missing")


def _copy(
    file: Path, member: tarfile.TarInfo, source: IO[bytes], target: IO[bytes] | None, expected: str
) -> None:
    found = hashlib.sha256()
    while block := source.read(_BLOCK_BYTES):
        found.update(block)
        if target is not None:
            target.write(block)
    if found.hexdigest() != expected:
        raise StorageError(f"{file} is damaged: the content of {member.name!r} has changed")


@contextmanager
def disk_errors(path: Path) -> Generator[None]:
    """Turn errors of the disk into storage errors that name a path."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error
