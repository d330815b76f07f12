"""The stream of a running session on disk, for when the database cannot take it.

Each session is written to a file of its own as it comes. The file goes when everything in it is stored; one that
stays, because the database was away or the process was killed, is stored at the next start.
"""

import logging
import os
import re
from collections.abc import AsyncGenerator
from datetime import datetime
from pathlib import Path
from typing import Final

DIRECTORY: Final = "ops-transcripts"
_NAME: Final = re.compile(r"tier([1-3])-[0-9TZ]+-[0-9]+\.jsonl")
_CHUNK_BYTES: Final = 1 << 16

log = logging.getLogger(__name__)


class TranscriptFile:
    """A file that is being written; a disk that does not take it is logged once, and stops nothing."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def create(cls, home: Path, *, tier: int, now: datetime) -> "TranscriptFile | None":
        """Create the file of a session, for its owner only; ``None`` where there is no writing."""
        directory = home / DIRECTORY
        path = directory / f"tier{tier}-{now:%Y%m%dT%H%M%SZ}-{os.getpid()}.jsonl"
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            log.warning("no transcript of the session is kept: %s", error)
            return None
        return cls(path, fd)

    def write(self, chunk: bytes) -> None:
        """Append a piece of the stream."""
        rest = memoryview(chunk)
        try:
            while rest and self._fd >= 0:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            log.warning("%s ends too early: %s", self.path, error)
            self.close()

    def close(self) -> None:
        """Leave the file as it is; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def remove(self) -> None:
        """Remove the file: everything in it is stored."""
        self.close()
        self.path.unlink(missing_ok=True)


def left_behind(home: Path) -> list[tuple[Path, int]]:
    """Return the transcripts that were not stored, each with its tier, oldest first.

    Call it while no session runs that writes to this home.
    """
    found = sorted((home / DIRECTORY).glob("*.jsonl"), key=lambda path: path.name.partition("-")[2])
    named = ((path, _NAME.fullmatch(path.name)) for path in found)
    return [(path, int(name[1])) for path, name in named if name]


async def read_chunks(path: Path) -> AsyncGenerator[bytes]:
    """Yield a transcript in pieces."""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
