"""Writes that are on the disk when they return, and undone when they fail."""

import os
from contextlib import suppress
from pathlib import Path


def append(descriptor: int, data: bytes, *, length: int) -> None:
    """Append to a file opened with ``O_APPEND``; when that fails, cut the file back to its ``length``.

    Raises:
        OSError: Nothing was appended: the disk is full, or broken.
    """
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, length)
        raise


def replace(path: Path, data: bytes, *, mode: int) -> None:
    """Put new contents in the place of a file, all or nothing, through ``<path>.tmp``.

    The caller keeps others from doing the same at once.

    Raises:
        OSError: The old file stands as it was.
    """
    temporary = temporary_path(path)
    remove_leftover(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        try:
            os.fchmod(descriptor, mode)
            append(descriptor, data, length=0)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


def temporary_path(path: Path) -> Path:
    """Return where ``replace`` prepares the new contents of a file."""
    return path.with_name(f"{path.name}.tmp")


def remove_leftover(path: Path) -> None:
    """Remove what a crash within ``replace`` left behind, if anything."""
    with suppress(FileNotFoundError):
        temporary_path(path).unlink()


def make_directory(parent: Path, name: str) -> Path:
    """Make a directory for the owner alone, durably, and return its path; one that is there stays as it is."""
    directory = parent / name
    try:
        directory.mkdir(0o700)
    except FileExistsError:
        return directory
    sync_directory(parent)
    return directory


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
