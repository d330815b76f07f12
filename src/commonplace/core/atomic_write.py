"""Drafts: new contents that replace a file atomically, so a reader sees either the old file or the new one.

A draft is beside its file. If the process is killed, the file is unchanged.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final, cast
from uuid import uuid4

PRIVATE: Final = 0o600


def private_opener(name: str, flags: int) -> int:
    """Open a file; a new file can be read by its owner only. It is for the argument ``opener`` of ``open``."""
    return os.open(name, flags, PRIVATE)


def open_private(path: Path, mode: str, *, encoding: str) -> TextIOWrapper:
    """Open a file to write or append text; a new file can be read by its owner only.

    Raises:
        OSError: The file cannot be opened.
    """
    return cast("TextIOWrapper", open(path, mode, encoding=encoding, opener=private_opener))


@contextmanager
def draft_of(path: Path, *, mode: int = PRIVATE) -> Generator[BinaryIO]:
    """Yield a new file that replaces the file at a path when the block ends; after an error, the path is unchanged.

    A link is replaced, not followed. The new file has ``mode``, less the umask.

    Raises:
        OSError: The file cannot be written.
    """
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, *, mode: int = PRIVATE) -> None:
    """Write a text to a file, or replace the file, as :func:`draft_of` does.

    Raises:
        OSError: The file cannot be written.
    """
    with draft_of(path, mode=mode) as file:
        file.write(text.encode())
