"""Writes that are on the disk when they return, and are undone when they fail."""

import os
from contextlib import suppress
from pathlib import Path


class KeptFile:
    """A file that stays open between its uses."""

    _descriptor: int | None = None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        self.close()


class AppendedFile(KeptFile):
    """A file for appending that stays open until another file replaces it at its path, because opening takes time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity: tuple[int, ...] = ()

    def open(self) -> tuple[int, os.stat_result]:
        """Open the file at the path for appending and reading, and return its descriptor and status.

        The file is created if it does not exist.

        Raises:
            OSError: The file cannot be opened for writing, or the path is a symbolic link.
        """
        if self._descriptor is not None:
            try:
                # Every store runs this, and pathlib would take as long as the system call itself.
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


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """Return the file's identity and permissions; a file that became read-only is not kept open."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid)


def open_file(path: Path, flags: int) -> int:
    """Open a file for its owner only, never through a symbolic link, and without waiting for a named pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def append(descriptor: int, data: bytes, *, length: int) -> None:
    """Append to a file opened with ``O_APPEND``; on failure, cut the file back to its ``length``.

    Raises:
        OSError: The disk is full or broken; nothing was appended.
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
    """Replace the contents of a file atomically, through ``<path>.tmp``.

    The caller makes sure that no other process replaces the file at the same time.

    Raises:
        OSError: The contents cannot be written; the file stays as it was.
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
    """Return the path at which ``replace`` prepares the new contents of a file."""
    return path.with_name(f"{path.name}.tmp")


def remove_leftover(path: Path) -> None:
    """Remove the file that a crash within ``replace`` may have left."""
    with suppress(FileNotFoundError):
        temporary_path(path).unlink()


def make_directory(parent: Path, name: str) -> Path:
    """Create a directory durably for its owner only, and return its path; leave an existing directory unchanged."""
    directory = parent / name
    try:
        directory.mkdir(0o700)
    except FileExistsError:
        return directory
    sync_directory(parent)
    return directory


def sync_directory(directory: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
