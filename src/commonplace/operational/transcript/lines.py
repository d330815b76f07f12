"""Splitter of a byte stream into lines, with bounded memory."""

from dataclasses import dataclass
from typing import Final

MAX_LINE_BYTES: Final = 64 * 1024 * 1024
"""Longer lines are skipped; a text block of the agent is never this long."""

HEAD_BYTES: Final = 1_024
"""The bytes kept of a skipped line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLine:
    """A line without its newline.

    Attributes:
        number: Counted from 1.
        data: The line, or the first 1,024 bytes of a line that is too long.
        size: The full length in bytes.
    """

    number: int
    data: bytes
    size: int

    @property
    def too_long(self) -> bool:
        """Whether ``data`` holds only the head of the line."""
        return self.size > len(self.data)


class LineSplitter:
    r"""Splits a stream of bytes at ``\n`` only.

    The CLI's JSON may contain raw U+0085, where ``str.splitlines`` would split. The same bytes give the same lines,
    however they are cut into pieces.

    Args:
        max_line_bytes: The longest line that is kept completely; at least 1,024.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max(max_line_bytes, HEAD_BYTES)
        self._pending = bytearray()
        self._size = 0
        self._number = 0

    def feed(self, chunk: bytes) -> list[TranscriptLine]:
        """Take the next piece and return the lines that it completes."""
        *ends, rest = chunk.split(b"\n")
        lines = [self._complete(end) for end in ends]
        if rest:
            self._keep(rest)
        return lines

    def close(self) -> list[TranscriptLine]:
        """Return the last line if it has no newline."""
        return [self._complete(b"")] if self._size else []

    def _complete(self, end: bytes) -> TranscriptLine:
        self._number += 1
        if not self._size and len(end) <= self._max_line_bytes:
            return TranscriptLine(number=self._number, data=end, size=len(end))
        self._keep(end)
        line = TranscriptLine(number=self._number, data=bytes(self._pending), size=self._size)
        self._pending.clear()
        self._size = 0
        return line

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._max_line_bytes:
            self._pending += piece
        else:
            self._pending += piece[:HEAD_BYTES]
            del self._pending[HEAD_BYTES:]
