"""The sources of a home, in ``sources.json``, and what was read of each, in ``sources/ID.json``.

The records hold digests of texts, not the texts: what is erased leaves nothing here.

Source: FOL-01.
"""

import json
import secrets
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import Clock, format_timestamp, parse_timestamp, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, SettingsError
from commonplace.core.quoting import quoted
from commonplace.services.transfer.importers import ImportSource
from commonplace.storage.file_locks import FileLock

FILE: Final = "sources.json"
DIRECTORY: Final = "sources"
LOCK_TIMEOUT_S: Final = 30.0
_ID_BYTES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedSource:
    """A folder or file that is followed.

    Attributes:
        id: ``s-`` and six hexadecimal digits.
        kind: The importer that reads it.
        path: The folder or file.
        scope: The scope of its facts and rules: a project, or ``global``.
        is_paused: Whether it is left alone for now.
        added_at: When it was added.
        read_at: When a reading last changed something; ``None`` if it was never read.
    """

    id: str
    kind: ImportSource
    path: Path
    scope: str
    added_at: datetime
    is_paused: bool = False
    read_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """What was read of a source.

    Attributes:
        stamps: Modification time in nanoseconds and size of each file, by its path in the source.
        memories: For each file, the ids of its memories by the digest of their text.
    """

    stamps: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    memories: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])


class SourceRegistry:
    """The sources of one home."""

    def __init__(self, home: Path, *, clock: Clock = utc_now) -> None:
        self._home = home
        self._clock = clock

    def list(self) -> list[FollowedSource]:
        """Return the sources, the oldest first.

        Raises:
            SettingsError: The file with the sources cannot be read.
        """
        document = _read(self._home / FILE, {"sources": []})
        try:
            return [_source(each) for each in cast("list[Mapping[str, Any]]", document["sources"])]
        except (KeyError, TypeError, ValueError, InvalidInputError) as error:
            raise SettingsError(
                f"{self._home / FILE}: expected a list of sources, got {quoted(error)}"
            ) from None

    def get(self, name: str) -> FollowedSource:
        """Return the source with an id or a path.

        Raises:
            NotFoundError: There is none.
            SettingsError: The file with the sources cannot be read.
        """
        path = Path(name).expanduser().absolute()
        for each in self.list():
            if name == each.id or path == each.path:
                return each
        raise NotFoundError("source", name)

    def add(self, path: Path, kind: ImportSource, scope: str) -> FollowedSource:
        """Add a source and return it.

        Raises:
            ConflictError: The path is followed already.
            StorageError: The sources cannot be read or written.
        """
        path = path.expanduser().absolute()
        with self._locked():
            sources = self.list()
            if known := next((each for each in sources if each.path == path), None):
                raise ConflictError("path", f"{path} is followed already, as {known.id}", str(path))
            id_ = f"s-{secrets.token_hex(_ID_BYTES)}"
            source = FollowedSource(id=id_, kind=kind, path=path, scope=scope, added_at=self._clock())
            self._write([*sources, source])
        return source

    def update(self, source: FollowedSource) -> None:
        """Replace a source that is still there; a source that was removed meanwhile stays removed.

        Raises:
            StorageError: The sources cannot be read or written.
        """
        with self._locked():
            self._write([source if each.id == source.id else each for each in self.list()])

    def remove(self, source: FollowedSource) -> None:
        """Remove a source and its record.

        Raises:
            StorageError: The sources cannot be read or written.
        """
        with self._locked():
            self._write([each for each in self.list() if each.id != source.id])
            self._record_file(source).unlink(missing_ok=True)

    def paused(self, source: FollowedSource, *, is_paused: bool) -> FollowedSource:
        """Pause or resume a source, and return it.

        Raises:
            StorageError: The sources cannot be read or written.
        """
        changed = replace(source, is_paused=is_paused)
        self.update(changed)
        return changed

    def read_record(self, source: FollowedSource) -> SourceRecord:
        """Return what was read of a source; nothing for a source that was never read.

        Raises:
            SettingsError: The record cannot be read.
        """
        document = _read(self._record_file(source), {"stamps": {}, "memories": {}})
        try:
            return SourceRecord(stamps=dict(document["stamps"]), memories=dict(document["memories"]))
        except (KeyError, TypeError, ValueError) as error:
            raise SettingsError(
                f"{self._record_file(source)}: expected a record, got {quoted(error)}"
            ) from None

    def write_record(self, source: FollowedSource, record: SourceRecord) -> None:
        """Replace the record of a source.

        Raises:
            OSError: The record cannot be written.
        """
        make_directories(self._home / DIRECTORY)
        document = {"stamps": record.stamps, "memories": record.memories}
        write_text(self._record_file(source), json.dumps(document) + "\n", mode=0o600)

    @contextmanager
    def following(self, source: FollowedSource, *, timeout_s: float = LOCK_TIMEOUT_S) -> Generator[None]:
        """Let no other process read a source inside the block.

        Raises:
            StorageUnavailableError: Another process reads it the whole time.
        """
        make_directories(self._home / DIRECTORY)
        with FileLock(self._home / DIRECTORY / f"{source.id}.lock") as lock:
            lock.require(timeout_s=timeout_s)
            yield

    @contextmanager
    def _locked(self) -> Generator[None]:
        make_directories(self._home)
        with FileLock(self._home / f"{FILE}.lock") as lock:
            lock.require(timeout_s=LOCK_TIMEOUT_S)
            yield

    def _record_file(self, source: FollowedSource) -> Path:
        return self._home / DIRECTORY / f"{source.id}.json"

    def _write(self, sources: Iterable[FollowedSource]) -> None:
        document = {"sources": [_document(each) for each in sources]}
        write_text(self._home / FILE, json.dumps(document, indent=2) + "\n", mode=0o600)


def _read(path: Path, default: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        document: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected an object")
    return cast("Mapping[str, Any]", document)


def _source(document: Mapping[str, Any]) -> FollowedSource:
    read_at = document.get("read_at")
    return FollowedSource(
        id=str(document["id"]),
        kind=ImportSource(document["kind"]),
        path=Path(document["path"]),
        scope=str(document["scope"]),
        added_at=parse_timestamp(document["added_at"]),
        is_paused=bool(document.get("is_paused")),
        read_at=None if read_at is None else parse_timestamp(read_at),
    )


def _document(source: FollowedSource) -> dict[str, object]:
    return {
        "id": source.id,
        "kind": source.kind.value,
        "path": str(source.path),
        "scope": source.scope,
        "added_at": format_timestamp(source.added_at),
        "is_paused": source.is_paused,
        "read_at": None if source.read_at is None else format_timestamp(source.read_at),
    }
