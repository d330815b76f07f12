"""The file of a backup: a gzip-compressed tar whose first member, ``manifest.json``, describes the others.

An incremental backup holds the bytes that its base lacks. The base must be in the same directory.
"""

import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

from commonplace.core.atomic_write import PRIVATE, draft_of
from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageError, StorageUnavailableError
from commonplace.storage.backup.chunking import Recipe, assembled, blocks, keep_new_bytes

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
"""The format; changes when older releases can no longer restore the file."""
INCREMENTAL: Final = 2
"""The format of an incremental backup."""

_COMPRESSION: Final = 5
_MAX_MANIFEST_BYTES: Final = 64 * 1024 * 1024
_SHARE_OF_DISK: Final = 0.9
"""The part of the free space of a disk that an unpacked backup may take, so that the memories keep some."""


_DAMAGES: Final = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    AttributeError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors of a damaged archive, or of a manifest with values of other types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a backup.

    Attributes:
        made_at: When the copies were made, in ISO 8601.
        files: The SHA-256 of each member, by name.
        revisions: The schema revisions of each database, by member.
        workspaces: The directory of each workspace, by the member with its memories.
        base: The name of the base of an incremental backup, and the SHA-256 of the base's manifest.
        recipes: How to assemble members of an incremental backup; other members are complete.
    """

    made_at: str
    release: str
    files: dict[str, str] = field(default_factory=dict[str, str])
    revisions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    workspaces: dict[str, str] = field(default_factory=dict[str, str])
    base: tuple[str, str] | None = None
    recipes: dict[str, Recipe] = field(default_factory=dict[str, Recipe])
    format: int = FORMAT

    def document(self) -> dict[str, Any]:
        """Return the fields to store; a complete backup has only the fields that older releases know."""
        stored = asdict(self)
        return (
            stored
            if self.base
            else {name: stored[name] for name in stored if name not in {"base", "recipes"}}
        )


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


def identity(file: Path) -> str:
    """Return the SHA-256 of the manifest of a backup, which contains the SHA-256 of all members.

    Raises:
        StorageUnavailableError: The file cannot be read.
        StorageError: The file is not a backup.
    """
    with _opened(file) as archive:
        return hashlib.sha256(_first(file, archive)).hexdigest()


def make_incremental(directory: Path, manifest: Manifest, base: Path, unpacked: Path) -> Manifest:
    """Unpack a base, reduce the files of a directory to their new bytes, and return the new manifest.

    ``unpacked`` is an empty directory for the files of the base.

    Raises:
        StorageError: The base cannot be read or is damaged.
        OSError: A file cannot be written.
    """
    known = unpack(base, unpacked)
    recipes = {
        name: keep_new_bytes(directory / name, unpacked / name)
        for name in manifest.files
        if name in known.files
    }
    return replace(manifest, base=(base.name, identity(base)), recipes=recipes, format=INCREMENTAL)


def pack(directory: Path, manifest: Manifest, target: Path, *, base: Path | None = None) -> None:
    """Write the files of a directory to a backup, verify it, and put it in place.

    The directory holds the files of the manifest, or their new bytes if the unpacked ``base`` is given.

    Raises:
        OSError: The backup cannot be written; nothing is left of it.
        StorageError: The written backup fails verification; nothing is left of it.
    """
    with draft_of(target) as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_COMPRESSION) as archive:
            text = json.dumps(manifest.document(), indent=None if manifest.base else 2).encode()
            archive.addfile(_member(MANIFEST, len(text)), BytesIO(text))
            for name in manifest.files:
                with (directory / name).open("rb") as source:
                    archive.addfile(_member(name, os.fstat(source.fileno()).st_size), source)
        file.flush()
        verify(Path(file.name), base=base)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, PRIVATE
    return member


def verify(file: Path, *, base: Path | None = None) -> Manifest:
    """Read a whole backup, compare each member with the manifest, and return the manifest.

    ``base`` is the unpacked base of an incremental backup, if it is at hand.

    Raises:
        StorageUnavailableError: The file cannot be read.
        StorageError: The file is not a backup of this format, or is damaged.
    """
    with _members(file) as (manifest, members), _unpacked(file, manifest, base, file) as earlier:
        for member, content in members:
            _copy(file, manifest, member.name, content, earlier, None)
        return manifest


def unpack(file: Path, directory: Path) -> Manifest:
    """Write the members of a backup to an empty directory, compare each with the manifest, and return the manifest.

    The directory is created if it does not exist.

    Raises:
        StorageUnavailableError: The file cannot be read.
        StorageError: The file is not a backup of this format, or is damaged.
        OSError: A member cannot be written.
    """
    with _members(file) as (manifest, members), _unpacked(file, manifest, None, directory) as earlier:
        make_directories(directory)
        room = _Room(file, directory)
        for member, content in members:
            path = directory / member.name
            make_directories(path.parent)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as target:
                _copy(file, manifest, member.name, content, earlier, room.output(target))
        return manifest


class _Room:
    """The space that a backup may take when it is unpacked; a small file may hold any number of equal bytes."""

    def __init__(self, file: Path, directory: Path) -> None:
        self._file = file
        self._left = int(shutil.disk_usage(directory).free * _SHARE_OF_DISK)

    def output(self, target: IO[bytes]) -> Callable[[bytes], object]:
        """Return a function that writes to a file as long as there is space.

        Raises:
            StorageError: The backup is too large for the disk.
        """

        def write(block: bytes) -> None:
            self._left -= len(block)
            if self._left < 0:
                raise StorageError(
                    f"{self._file} is too large: its content takes more than {_SHARE_OF_DISK:.0%} of the free space"
                )
            target.write(block)

        return write


class _BoundedGzip(gzip.GzipFile):
    """A compressed file that refuses a read of any size; a header of a tar names the size of its own content."""

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes of the content."""
        if size is None or not 0 <= size <= _MAX_MANIFEST_BYTES:
            raise tarfile.ReadError("a header is too large")
        return super().read(size)


@contextmanager
def _unpacked(file: Path, manifest: Manifest, base: Path | None, beside: Path) -> Generator[Path | None]:
    """Yield a directory with the files of the base, unpacked for the block; ``None`` for a complete backup."""
    if manifest.base is None or base is not None:
        yield base
        return
    name, expected = manifest.base
    found = file.with_name(Path(name).name)
    if not found.is_file():
        raise StorageError(
            f"{file} is incremental and needs the backup {name!r}, which is not in {file.parent}: copy {name!r} there"
        )
    if identity(found) != expected:
        raise StorageError(
            f"{file} is incremental, and {found} has the name of its base but is a different backup: "
            "copy the right backup there"
        )
    with tempfile.TemporaryDirectory(prefix=f"{beside.name}-base-", dir=beside.parent) as directory:
        unpack(found, Path(directory))
        yield Path(directory)


@contextmanager
def _members(file: Path) -> Generator[tuple[Manifest, Iterator[tuple[tarfile.TarInfo, IO[bytes]]]]]:
    with _opened(file) as archive:
        manifest = _manifest(file, _first(file, archive))
        yield manifest, _listed(file, archive, manifest)


def _first(file: Path, archive: tarfile.TarFile) -> bytes:
    """Return the first member, which must be the manifest."""
    first = archive.next()
    content = archive.extractfile(first) if first is not None and first.name == MANIFEST else None
    if content is None:
        raise StorageError(f"{file} is not a backup: its first member is not {MANIFEST}")
    return content.read(_MAX_MANIFEST_BYTES)


@contextmanager
def _opened(file: Path) -> Generator[tarfile.TarFile]:
    try:
        with _BoundedGzip(file) as packed, tarfile.open(fileobj=packed, mode="r:") as archive:
            yield archive
    except FileNotFoundError:
        raise StorageUnavailableError(f"{file}: no such file") from None
    except _DAMAGES as error:
        raise StorageError(f"{file} is damaged, or is not a backup: {error}") from error


def _manifest(file: Path, content: bytes) -> Manifest:
    loaded: object = json.loads(content)
    if not isinstance(loaded, dict):
        raise StorageError(f"{file} is damaged: {MANIFEST} must be a JSON object")
    document = cast("dict[str, Any]", loaded)
    if document.get("format") != (INCREMENTAL if document.get("base") else FORMAT):
        raise StorageError(
            f"{file}: expected a backup of format {FORMAT} or {INCREMENTAL}, got "
            f"{document.get('format')!r}: restore it with release {document.get('release')!r}"
        )
    manifest = Manifest(**document)
    unlisted = {*manifest.revisions, *manifest.workspaces, *manifest.recipes} - set(manifest.files)
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
        is_whole = member.isreg() and not member.issparse()  # A sparse file has any size.
        content = archive.extractfile(member) if is_whole else None
        if content is None or path.is_absolute() or ".." in path.parts or member.name not in missing:
            raise StorageError(
                f"{file} is damaged: it holds {member.name!r}, which its manifest does not list"
            )
        missing.remove(member.name)
        yield member, content
    if missing:
        raise StorageError(f"{file} is damaged: {min(missing)!r} is missing")


def _copy(
    file: Path,
    manifest: Manifest,
    name: str,
    source: IO[bytes],
    earlier: Path | None,
    write: Callable[[bytes], object] | None,
) -> None:
    recipe = manifest.recipes.get(name)
    if recipe is not None and (earlier is None or not (earlier / name).is_file()):
        raise StorageError(f"{file} is damaged: its base has no {name!r}")
    content = assembled(source, recipe, earlier / name) if recipe is not None and earlier else blocks(source)
    found = hashlib.sha256()
    for block in content:
        found.update(block)
        if write is not None:
            write(block)
    if found.hexdigest() != manifest.files[name]:
        raise StorageError(f"{file} is damaged: the content of {name!r} has changed")


@contextmanager
def disk_errors(path: Path) -> Generator[None]:
    """Translate disk errors into storage errors that name a path."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailableError(f"{path}: {error.strerror or error}") from error
