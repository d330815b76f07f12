"""The sessions of Claude Code that its hooks have told of, and what was learned from each already.

One small file a session, ``$COMMONPLACE_HOME/claude-code/<session id>.json``. It says which lines of a transcript were
read, so that reading it again, a session that was resumed, and a copy of one add nothing twice; and it tells of
sessions that began and never ended.
"""

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.storage.file_locks import FileLock

DIRECTORY: Final = "claude-code"
KEPT_S: Final = 30 * 86_400
"""A session of which nothing was heard for so long is forgotten; the client then removes its transcript as well."""

LOCK_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What is known of a session.

    Attributes:
        session_id: The client's, a UUID.
        transcript: Its file, whether or not it is there yet.
        butler: Whose episodes come of it.
        ended: Whether it was seen to end; one that was not may still be going on.
        storing: Whether an episode of it was about to be stored; it may or may not have been.
        size: Of the transcript in bytes, when it was last read.
        read: The ids of the messages that were read.
    """

    session_id: str
    transcript: Path
    butler: str
    ended: bool = False
    storing: bool = False
    size: int = 0
    read: tuple[str, ...] = ()


class SessionRecords:
    """The records of one home.

    Args:
        home: The directory of everything.
    """

    def __init__(self, home: Path) -> None:
        self._directory = home / DIRECTORY

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep the hooks of other sessions out for the ``with`` block.

        Raises:
            StorageUnavailableError: Another one was at it for five seconds.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self._directory / "lock") as lock:
            if not lock.wait(deadline=time.monotonic() + LOCK_TIMEOUT_S):
                raise StorageUnavailableError(f"{self._directory} has been locked for {LOCK_TIMEOUT_S:g} s")
            yield

    def get(self, session_id: str) -> SessionRecord | None:
        """Return the record of a session, or ``None`` where there is none, or none that can be read.

        Raises:
            InvalidInputError: It is not a UUID.
        """
        return _load(self._path(session_id))

    def beside(self, transcript: Path) -> list[SessionRecord]:
        """Return the records of the sessions of a transcript's project, the latest touched first."""
        found = [(path.stat().st_mtime, path) for path in self._paths()]
        records = [_load(path) for _, path in sorted(found, reverse=True)]
        return [record for record in records if record and record.transcript.parent == transcript.parent]

    def add(self, record: SessionRecord) -> None:
        """Write the record of a session that has none; it needs no lock, for it replaces nothing.

        What is known of is learned from sooner or later, also where the lock cannot be had.

        Raises:
            StorageUnavailableError: It cannot be written.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
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
        """Write a record, all or nothing.

        Raises:
            StorageUnavailableError: It cannot be written.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(record.session_id)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            temporary.write_text(_dump(record), encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageUnavailableError(f"{path}: {error.strerror}") from error

    def forget_old(self) -> None:
        """Remove the records of sessions of which nothing was heard for thirty days."""
        oldest = time.time() - KEPT_S
        for path in self._paths():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _paths(self) -> list[Path]:
        return list(self._directory.glob("*.json"))

    def _path(self, session_id: str) -> Path:
        try:
            name = UUID(session_id)
        except ValueError:
            raise InvalidInputError("session_id", "a UUID", session_id) from None
        return self._directory / f"{name}.json"


def _dump(record: SessionRecord) -> str:
    return json.dumps(asdict(record) | {"transcript": str(record.transcript)})


def _load(path: Path) -> SessionRecord | None:
    try:
        document = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        values = document | {"transcript": Path(document["transcript"]), "read": tuple(document["read"])}
        return SessionRecord(**cast("dict[str, Any]", values))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
