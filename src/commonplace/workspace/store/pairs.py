"""The file of pairs of notes: ``<workspace>/.aegis/memory/pairs.jsonl``.

It is written only if a note opposes another one. Writers hold the lock of the memory file. For the lines see
:mod:`commonplace.workspace.rules.pair_lines`.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from commonplace.workspace.rules.pair_lines import PairLine, read_lines, to_bytes
from commonplace.workspace.store import durable

FILE: Final = "pairs.jsonl"


def read_pairs(path: Path) -> dict[tuple[str, str], PairLine]:
    """Return the state of each pair, by the names of its texts; nothing if there is no file.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        descriptor = durable.open_file(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        return read_lines(file.read())


def append_pairs(path: Path, lines: Iterable[PairLine]) -> None:
    """Append states; they are on disk when this function returns.

    Raises:
        OSError: The file cannot be written; nothing was appended.
    """
    data = b"".join(map(to_bytes, lines))
    descriptor = durable.open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        is_torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        durable.append(descriptor, b"\n" + data if is_torn else data, length=size)
    finally:
        os.close(descriptor)


def replace_pairs(path: Path, lines: Iterable[PairLine]) -> None:
    """Replace the file; damaged lines, which may hold anything, go too.

    Raises:
        OSError: The file cannot be written; it stays as it was.
    """
    durable.replace(path, b"".join(map(to_bytes, lines)), mode=0o600)
