"""Episodes that wait in the home for a service and reach it exactly once, however often the connection fails.

An episode is a file, ``$COMMONPLACE_HOME/claude-code/outbox/<key>.json``, readable only by its owner. Its key is the
``Idempotency-Key`` of the request, computed from session and text. An empty file ``<key>.sent`` remains, so that no
hook queues the episode again; a refused episode is kept as ``<key>.refused``.
"""

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast
from uuid import NAMESPACE_URL, UUID, uuid5

from commonplace.core.atomic_write import write_text
from commonplace.core.clock import Clock, utc_now
from commonplace.core.directories import make_directories
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.hosts.hooks.sessions import DIRECTORY, SessionRecord, delete_old
from commonplace.services.team_client import TeamClient
from commonplace.storage.file_locks import FileLock

KEY_HOLDS_S: Final = 20 * 3600.0
"""A service remembers a key for a day. After this time, check for the episode before sending it again."""

EPISODES: Final = "/api/v1/knowledge/episodes"
LISTED: Final = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A waiting episode.

    Attributes:
        server: The address of the service.
        document: The body of the request.
        tried_at: The time of the first attempt, in seconds since 1970; ``None`` before it.
    """

    server: str
    document: Mapping[str, Any]
    tried_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The queue for a service: the number of episodes, and when the oldest was queued."""

    server: str
    episodes: int
    since: datetime


def list_queues(home: Path) -> list[Queue]:
    """Return the queues of a home, by server."""
    queued: dict[str, list[float]] = {}
    for path in (home / DIRECTORY / "outbox").glob("*.json"):
        # The first attempt rewrites the file, so the time of that attempt replaces the time of the file. A file that
        # has disappeared was sent.
        with suppress(FileNotFoundError):
            stored_at = path.stat().st_mtime
            if (entry := _load(path)) is not None:
                queued.setdefault(entry.server, []).append(entry.tried_at or stored_at)
    return [
        Queue(server=server, episodes=len(times), since=datetime.fromtimestamp(min(times), UTC))
        for server, times in sorted(queued.items())
    ]


class Outbox:
    """The episodes of one home that wait for one service."""

    def __init__(self, home: Path, service: TeamClient) -> None:
        self._directory = home / DIRECTORY / "outbox"
        self._service = service

    @property
    def clock(self) -> Clock:
        """The clock of this machine."""
        return utc_now

    async def has(self, record: SessionRecord, content: str) -> bool:
        """Return whether an episode waits or was sent."""
        key = _key(self._service, record.session_id, content)
        return any((self._directory / f"{key}{end}").exists() for end in (".json", ".sent", ".refused"))

    async def store(self, record: SessionRecord, content: str, happened_at: datetime | None) -> None:
        """Queue an episode.

        Raises:
            StorageUnavailableError: The file cannot be written.
        """
        document = {
            "content": content,
            "butler": record.butler,
            "sessionId": record.session_id,
            "metadata": {"source": record.host},
            "createdAt": happened_at and happened_at.isoformat(),
        }
        key = _key(self._service, record.session_id, content)
        self._put(self._directory / f"{key}.json", Waiting(server=self._service.url, document=document))

    async def deliver(self) -> int:
        """Send the waiting episodes, oldest first, unless another process is sending; return their number.

        Raises:
            AccessError: The service refuses the token.
            SettingsError: The token cannot be read.
            StorageUnavailableError: The service cannot be reached; the episodes wait.
        """
        waiting = self.waiting()
        if not waiting:
            return 0
        sent = 0
        with FileLock(self._directory / "lock") as lock:
            for path in waiting if lock.acquire() else ():
                entry = _load(path)
                if entry is not None and entry.server == self._service.url:
                    sent += await self._send(path, entry)
        delete_old([*self._directory.glob("*.sent"), *self._directory.glob("*.refused")])
        return sent

    def waiting(self) -> list[Path]:
        """Return the files that wait for any service, oldest first."""
        return sorted(self._directory.glob("*.json"), key=lambda path: path.stat().st_mtime)

    async def _send(self, path: Path, entry: Waiting) -> bool:
        if entry.tried_at is None:
            self._put(path, replace(entry, tried_at=time.time()))
        elif time.time() - entry.tried_at > KEY_HOLDS_S and await self._is_there(entry.document):
            return self._end(path)
        try:
            await self._service.post(EPISODES, entry.document, key=path.stem)
        except InvalidInputError as error:
            _log.error("%s refuses an episode, which stays in %s: %s", entry.server, self._directory, error)
            return self._refuse(path)
        return self._end(path)

    async def _is_there(self, document: Mapping[str, Any]) -> bool:
        """Return whether the service has the episode, because its response to an earlier request may be lost."""
        listed = await self._service.get(
            EPISODES, butler=str(document["butler"]), expired="true", limit=str(LISTED)
        )
        return any(
            each["sessionId"] == document["sessionId"] and each["content"] == document["content"]
            for each in listed["memories"]
        )

    def _end(self, path: Path) -> bool:
        path.with_suffix(".sent").touch(mode=0o600)
        path.unlink(missing_ok=True)
        return True

    def _refuse(self, path: Path) -> bool:
        path.rename(path.with_suffix(".refused"))
        return False

    def _put(self, path: Path, entry: Waiting) -> None:
        try:
            make_directories(self._directory)
            write_text(path, json.dumps(asdict(entry)))
        except OSError as error:
            raise StorageUnavailableError(f"{path}: {error.strerror}") from error


def _key(service: TeamClient, session_id: str, content: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"{service.url}\0{session_id}\0{content}")


def _load(path: Path) -> Waiting | None:
    try:
        return Waiting(**cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        _log.error("%s cannot be read and is not sent", path)
        return None
