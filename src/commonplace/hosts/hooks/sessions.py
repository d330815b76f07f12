"""Records of Claude Code's sessions, kept by its hooks.

Each session has a file, ``$COMMONPLACE_HOME/claude-code/<session id>.json``. It lists the messages that were read, so
that reading again, a resumed session and a copied session store nothing twice. It also shows sessions that began but
never ended.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.storage.file_locks import POLL_S, FileLock

DIRECTORY: Final = "claude-code"
GIVEN_SUFFIX: Final = ".given"
_RECORD: Final = ".json"
KEPT_S: Final = 30 * 86_400
"""The age at which records are deleted; the client deletes its transcripts at the same age."""

LOCK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """The record of a session.

    Attributes:
        session_id: The client's id of the session, a UUID.
        transcript: The transcript file, which may not exist yet.
        ended: Whether the end of the session was seen; otherwise it may still be running.
        storing: Whether an episode was about to be stored; the episode may or may not exist.
        size: The size of the transcript in bytes when it was last read.
        read: The ids of the messages that were read.
        server: The address of the service with the knowledge memory of the session; empty for the home's own memory.
    """

    session_id: str
    transcript: Path
    butler: str
    ended: bool = False
    storing: bool = False
    size: int = 0
    read: tuple[str, ...] = ()
    host: str = "claude-code"
    server: str = ""
    token_file: str = ""


class SessionRecords:
    """The records of one home."""

    def __init__(self, home: Path) -> None:
        self._directory = home / DIRECTORY

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Lock the records against the hooks of other sessions for the ``async with`` block.

        Raises:
            StorageUnavailableError: Another hook held the lock for five seconds.
        """
        make_directories(self._directory)
        with FileLock(self._directory / "lock") as lock:
            deadline = time.monotonic() + LOCK_TIMEOUT_S
            while not lock.acquire():
                if time.monotonic() >= deadline:
                    raise StorageUnavailableError(
                        f"{self._directory} has been locked for {LOCK_TIMEOUT_S:g} s"
                    )
                await asyncio.sleep(POLL_S)
            yield

    def get(self, session_id: str) -> SessionRecord | None:
        """Return the record of a session; ``None`` if it is missing or cannot be read.

        Raises:
            InvalidInputError: The id is not a UUID.
        """
        return _load(str(self._path(session_id)))

    def beside(self, session: SessionRecord) -> list[SessionRecord]:
        """Return the records of sessions of the same butler or in the same directory, latest change first."""
        return [
            each
            for each in self.latest()
            if each.butler == session.butler or each.transcript.parent == session.transcript.parent
        ]

    def latest(self) -> list[SessionRecord]:
        """Return the records of all projects that can be read, latest change first."""
        files = sorted(((entry.stat().st_mtime, entry.path) for entry in self._files(_RECORD)), reverse=True)
        return [record for _, path in files if (record := _load(path))]

    def list_records(self) -> list[SessionRecord]:
        """Return the records that can be read, by the ids of their sessions."""
        paths = sorted(entry.path for entry in self._files(_RECORD))
        return [record for path in paths if (record := _load(path))]

    def add(self, record: SessionRecord) -> None:
        """Write the record of a new session; no lock is needed, because it replaces no record.

        So a later hook can learn from the session even if this hook cannot get the lock.

        Raises:
            StorageUnavailableError: The record cannot be written.
        """
        make_directories(self._directory)
        path = self._path(record.session_id)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(_dump(record))
        except FileExistsError:
            return
        except OSError as error:
            path.unlink(missing_ok=True)
            raise StorageUnavailableError(f"{path}: {error.strerror}") from error

    def put(self, record: SessionRecord) -> None:
        """Write a record atomically.

        Raises:
            StorageUnavailableError: The record cannot be written.
        """
        make_directories(self._directory)
        path = self._path(record.session_id)
        try:
            write_text(path, _dump(record))
        except OSError as error:
            raise StorageUnavailableError(f"{path}: {error.strerror}") from error

    def forget_reading(self, session_id: str) -> None:
        """Make a session learnable again, because its episodes are gone; a missing record is ignored.

        Raises:
            InvalidInputError: The id is not a UUID.
            StorageUnavailableError: The record cannot be written.
        """
        if (record := self.get(session_id)) is not None:
            self.put(replace(record, storing=False, size=0, read=()))

    def forget_old(self) -> None:
        """Delete the files of sessions without a change for thirty days."""
        delete_old(self._files(_RECORD, GIVEN_SUFFIX))

    def _files(self, *suffixes: str) -> list[os.DirEntry[str]]:
        """Return the files with these suffixes. A start looks at all of them, and pathlib takes three times as long."""
        try:
            with os.scandir(self._directory) as entries:
                return [entry for entry in entries if entry.name.endswith(suffixes)]
        except FileNotFoundError:
            return []

    def _path(self, session_id: str) -> Path:
        try:
            name = UUID(session_id)
        except ValueError:
            raise InvalidInputError("session_id", "a UUID", session_id) from None
        return self._directory / f"{name}.json"


def delete_old(paths: Iterable[Path | os.DirEntry[str]]) -> None:
    """Delete the files without a change for thirty days."""
    oldest = time.time() - KEPT_S
    for path in paths:
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                os.unlink(path)  # noqa: PTH108 - an entry of a directory has no unlink()


def _dump(record: SessionRecord) -> str:
    return json.dumps(asdict(record) | {"transcript": str(record.transcript)})


def _load(path: str) -> SessionRecord | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a start reads all records, and pathlib takes longer
            document = cast("dict[str, Any]", json.loads(file.read()))
        values = document | {"transcript": Path(document["transcript"]), "read": tuple(document["read"])}
        return SessionRecord(**cast("dict[str, Any]", values))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
