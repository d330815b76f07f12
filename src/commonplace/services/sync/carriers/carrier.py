"""The port of a carrier: list, get, put if absent, delete."""

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Protocol

NAME: Final = re.compile(r"[0-9a-z][0-9a-z.-]*(/[0-9a-z][0-9a-z.-]*)?")
"""The names of files: one or two parts."""

MOST_BYTES: Final = 128_000_000
"""More bytes are no file of a device; a file of a folder is read up to here, and then found to be damaged."""


class Carrier(Protocol):
    """A place to which every device can write new files, and from which every device can read all files.

    Names fit :data:`NAME`. Methods block, and raise :class:`~commonplace.core.errors.StorageUnavailableError` if the
    place cannot be reached or written.
    """

    def names(self) -> AbstractSet[str]:
        """Return the names of all files that have arrived whole."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return a file; ``None`` if it is not there."""
        ...

    def put(self, name: str, body: bytes) -> None:
        """Write a file, unless one of this name is there."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        ...

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Write files in this order, each unless one of its name is there; when this returns, all have arrived."""
        ...

    def delete_all(self, names: Collection[str]) -> str | None:
        """Delete files; return what a person must do so that nothing is left of them, ``None`` if nothing is."""
        ...


class OneByOne:
    """The methods for several files of a carrier that moves each file by itself."""

    def put(self, name: str, body: bytes) -> None:
        """Write a file; see :class:`Carrier`."""
        raise NotImplementedError

    def delete(self, name: str) -> None:
        """Delete a file; see :class:`Carrier`."""
        raise NotImplementedError

    def put_all(self, files: Mapping[str, bytes]) -> None:
        """Write one file after the other."""
        for name, body in files.items():
            self.put(name, body)

    def delete_all(self, names: Collection[str]) -> None:
        """Delete one file after the other."""
        for name in sorted(names):
            self.delete(name)
