"""A folder that something else carries: Syncthing, Dropbox, a mounted disk, a USB stick."""

import os
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from commonplace.core.atomic_write import draft_of
from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.carriers.carrier import MOST_BYTES, NAME, OneByOne


class FolderCarrier(OneByOne):
    """A folder.

    Args:
        folder: It is made with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> AbstractSet[str]:
        """Return the names of all files, but for those that a carrier is still writing, which have other names."""
        with self._reached():
            if not self._folder.exists():
                return set()
            paths = [
                path
                for each in self._folder.iterdir()
                for path in (each.iterdir() if each.is_dir() else (each,))
                if path.is_file()
            ]
        names = {path.relative_to(self._folder).as_posix() for path in paths}
        return {name for name in names if NAME.fullmatch(name)}

    def get(self, name: str) -> bytes | None:
        """Return a file."""
        with self._reached():
            try:
                with (self._folder / name).open("rb") as file:
                    return file.read(MOST_BYTES)
            except FileNotFoundError:
                return None

    def put(self, name: str, body: bytes) -> None:
        """Write a file whole, or not at all."""
        path = self._folder / name
        with self._reached():
            if path.exists():
                return
            make_directories(path.parent)
            with draft_of(path) as file:
                file.write(body)
            directory = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def delete(self, name: str) -> None:
        """Delete a file."""
        with self._reached():
            (self._folder / name).unlink(missing_ok=True)

    @contextmanager
    def _reached(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise StorageUnavailableError(f"the folder {self._folder} cannot be used: {reason}") from error
