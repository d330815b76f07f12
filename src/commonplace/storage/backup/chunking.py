"""The difference between two versions of a file, as a recipe and the new bytes.

A file is cut into pieces after lines whose checksum ends in zeros, so a row added to a dump changes only the pieces
around it. Pieces that the earlier file has are taken from there. Source: content-defined chunking, as in LBFS.
"""

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from commonplace.core.errors import StorageError

Recipe = list[tuple[int, int]]
"""Spans of bytes in order: the offset in the earlier file, or ``NEW`` for the next new bytes; and the length."""

NEW: Final = -1

_LINE_BYTES: Final = 16 * 1024
_PIECE_BYTES: Final = 64 * 1024
_LINES: Final = 16
"""The average number of lines in a piece."""
_BLOCK_BYTES: Final = 1024 * 1024


def keep_new_bytes(file: Path, earlier: Path) -> Recipe:
    """Replace the content of a file with the bytes that an earlier version lacks, and return the recipe.

    Raises:
        OSError: A file cannot be read or written.
    """
    known: dict[bytes, int] = {}
    offset = 0
    for piece in _pieces(earlier):
        known.setdefault(_digest(piece), offset)
        offset += len(piece)
    recipe: Recipe = []
    rest = file.with_name(f"{file.name}.new")
    with rest.open("xb") as target:
        for piece in _pieces(file):
            found = known.get(_digest(piece), NEW)
            if found == NEW:
                target.write(piece)
            _append(recipe, found, len(piece))
    rest.replace(file)
    return recipe


def _append(recipe: Recipe, offset: int, length: int) -> None:
    """Add a span, or extend the last span if both are adjacent."""
    if recipe:
        last, size = recipe[-1]
        if (last == offset == NEW) or (NEW not in {last, offset} and last + size == offset):
            recipe[-1] = (last, size + length)
            return
    recipe.append((offset, length))


def _pieces(path: Path) -> Iterator[bytes]:
    piece = bytearray()
    with path.open("rb") as file:
        while line := file.readline(_LINE_BYTES):
            piece += line
            if zlib.crc32(line) % _LINES == 0 or len(piece) >= _PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
    if piece:
        yield bytes(piece)


def _digest(piece: bytes) -> bytes:
    return hashlib.sha256(piece).digest()


def blocks(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file in blocks."""
    while block := source.read(_BLOCK_BYTES):
        yield block


def assembled(new: IO[bytes], recipe: Recipe, earlier: Path) -> Iterator[bytes]:
    """Yield the content of a file, assembled from its new bytes, its recipe and the earlier version.

    Raises:
        StorageError: The recipe does not fit the two files.
        OSError: A file cannot be read.
    """
    with earlier.open("rb") as old:
        for offset, length in recipe:
            source = new
            if offset != NEW:
                source = old
                old.seek(offset)
            left = length
            while left > 0:
                block = source.read(min(left, _BLOCK_BYTES))
                if not block:
                    raise StorageError(f"{earlier.name!r} has fewer bytes than its recipe names")
                left -= len(block)
                yield block
