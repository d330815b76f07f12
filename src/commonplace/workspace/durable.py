"""Writes that are on the disk when they return, and undone when they fail."""

import os
from contextlib import suppress
from pathlib import Path


class AppendedFile:
    """A file that is appended to, kept open as long as it stands at its path as it was: opening takes its time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._identity: tuple[int, ...] = ()

    def open(self) -> tuple[int, os.stat_result]:
        """Return the file that stands at the path now, open for appending and reading, and its status.

        It is made where there is none.

        Raises:
            OSError: It cannot be opened for writing, or a symbolic link stands there.
        """
        if self._descriptor is not None:
            try:
                # On the path of every store, where pathlib would take as long as the system call itself.
                status = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116
            except (FileNotFoundError, NotADirectoryError):
                pass
            else:
                if _identity(status) == self._identity:
                    return self._descriptor, status
        self.close()
        self._descriptor = open_file(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        status = os.fstat(self._descriptor)
        self._identity = _identity(status)
        return self._descriptor, status

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        self.close()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Return which file it is and who may write it: one that may not be written any more is not kept open."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid)


def open_file(path: Path, flags: int) -> int:
    """Open a file for its owner; never through a symbolic link, and a named pipe in its place hangs nobody."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


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
