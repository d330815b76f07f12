"""Drafts: new contents that replace a file atomically, so a reader sees either the old file or the new one.

A draft is beside its file. If the process is killed, the file is unchanged.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

PRIVATE: Final = 0o600


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
