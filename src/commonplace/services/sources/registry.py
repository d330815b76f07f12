"""The sources of a home, in ``sources.json``.

Source: FOL-01.
"""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import Clock, format_timestamp, parse_timestamp, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    SettingsError,
    StorageUnavailableError,
)
from commonplace.core.file_format import require_format
from commonplace.core.quoting import quoted
from commonplace.services.sources.records import SourceRecord
from commonplace.services.transfer.importers import ImportSource
from commonplace.storage.file_locks import POLL_S, FileLock

FILE: Final = "sources.json"
DIRECTORY: Final = "sources"
LOCK_TIMEOUT_S: Final = 30.0
_ID_BYTES: Final = 3


class SourceBusyError(StorageUnavailableError):
    """Another process reads the source."""


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
            for each in sources:
                if each.path == path:
                    raise ConflictError("path", f"{path} is followed already, as {each.id}", str(path))
            id_ = f"s-{secrets.token_hex(_ID_BYTES)}"
            source = FollowedSource(id=id_, kind=kind, path=path, scope=scope, added_at=self._clock())
            self._write([*sources, source])
        return source

    def set_paused(self, source: FollowedSource, *, is_paused: bool) -> FollowedSource:
        """Pause or resume a source, and return it.

        Raises:
            NotFoundError: It was removed.
            StorageError: The sources cannot be read or written.
        """
        return self._change(source.id, is_paused=is_paused)

    def set_read(self, source: FollowedSource) -> None:
        """Note that a source was read now.

        For errors see :meth:`set_paused`.
        """
        self._change(source.id, read_at=self._clock())

    def _change(self, source_id: str, **changes: Any) -> FollowedSource:  # noqa: ANN401 - fields of FollowedSource
        with self._locked():
            changed = replace(self.get(source_id), **changes)
            self._write([changed if each.id == source_id else each for each in self.list()])
        return changed

    def remove(self, source: FollowedSource) -> None:
        """Remove a source and its record.

        Raises:
            StorageError: The sources cannot be read or written.
        """
        with self._locked():
            self._write([each for each in self.list() if each.id != source.id])
            self._record_file(source).unlink(missing_ok=True)

    def record_of(self, source: FollowedSource) -> SourceRecord:
        """Return what was read of a source; nothing for a source that was never read.

        Raises:
            SettingsError: The record cannot be read.
        """
        return SourceRecord(self._record_file(source))

    @asynccontextmanager
    async def reading(
        self, source: FollowedSource, *, wait_s: float = LOCK_TIMEOUT_S
    ) -> AsyncGenerator[None]:
        """Let no other process read a source inside the block.

        Raises:
            SourceBusyError: Another process reads it the whole time.
        """
        make_directories(self._home / DIRECTORY)
        with FileLock(self._home / DIRECTORY / f"{source.id}.lock") as lock:
            deadline = time.monotonic() + wait_s
            while not lock.acquire():
                if time.monotonic() >= deadline:
                    raise SourceBusyError(f"another process reads {source.path}: try again")
                await asyncio.sleep(POLL_S)
            yield

    @contextmanager
    def _locked(self) -> Generator[None]:
        make_directories(self._home)
        with FileLock(self._home / f"{FILE}.lock") as lock:
            lock.require(timeout_s=LOCK_TIMEOUT_S)
            yield

    def _record_file(self, source: FollowedSource) -> Path:
        return self._home / DIRECTORY / f"{source.id}.jsonl"

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
    fields = cast("Mapping[str, Any]", document)
    require_format(fields, path=path)
    return fields


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
