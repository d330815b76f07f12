"""Carriers for tests of sync: one in memory, and one that hides, truncates, repeats and splices files."""

import random
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet

from commonplace.services.sync.carriers.carrier import OneByOne
from commonplace.services.sync.device_files import parse_name


class MemoryCarrier(OneByOne):
    """A carrier in memory.

    Args:
        step: Called before and after each method that changes something, to raise an error there.
    """

    def __init__(self, step: Callable[[], None] = lambda: None) -> None:
        self.files: dict[str, bytes] = {}
        self.step = step

    def names(self) -> AbstractSet[str]:
        """Return the names of all files."""
        return set(self.files)

    def get(self, name: str) -> bytes | None:
        """Return a file."""
        return self.files.get(name)

    def put(self, name: str, body: bytes) -> None:
        """Write a file, unless it is there."""
        self.step()
        self.files.setdefault(name, body)
        self.step()

    def delete(self, name: str) -> None:
        """Delete a file."""
        self.step()
        self.files.pop(name, None)
        self.step()


class ProtectedCarrier(MemoryCarrier):
    """A carrier that keeps what was deleted in its history, as long as it is protected."""

    PROBLEM = "allow force pushes"

    is_protected = True

    def delete_all(self, names: Collection[str]) -> str | None:  # type: ignore[override]
        """Delete files, and say what is left of them."""
        super().delete_all(names)
        return self.PROBLEM if self.is_protected else None


class HostileCarrier(MemoryCarrier):
    """A carrier that shows other files than those that devices wrote, until :meth:`mend` is called."""

    def __init__(self, step: Callable[[], None] = lambda: None) -> None:
        super().__init__(step)
        self._hidden: set[str] = set()
        self._damaged: dict[str, bytes] = {}
        self._forged: dict[str, bytes] = {}

    def names(self) -> AbstractSet[str]:
        """Return the names of the files that are not hidden, and those of forged ones."""
        return ({*self.files} - self._hidden) | {*self._forged}

    def get(self, name: str) -> bytes | None:
        """Return a file, perhaps damaged or forged."""
        if name in self._hidden:
            return None
        return self._damaged.get(name) or self._forged.get(name) or self.files.get(name)

    def put(self, name: str, body: bytes) -> None:
        """Write a file."""
        self._hidden.discard(name)
        super().put(name, body)

    def delete(self, name: str) -> None:
        """Delete a file."""
        for table in (self._damaged, self._forged):
            table.pop(name, None)
        super().delete(name)

    def interfere(self, chance: random.Random) -> None:
        """Do one bad thing to the files of a device, or bring a hidden file back."""
        names = sorted(self.files)
        if not names:
            return
        name, other = chance.choice(names), chance.choice(names)
        match chance.randrange(5):
            case 0:
                self._hidden.add(name)
            case 1:
                self._hidden.clear()
            case 2:
                self._damaged[name] = self.files[name][: int(len(self.files[name]) * chance.random())] or b"x"
            case 3:
                self._damaged.clear()
            case _:
                self._forge(name, other, chance)

    def _forge(self, name: str, other: str, chance: random.Random) -> None:
        """Show the bytes of one file at a new place of another device's chain."""
        place = parse_name(other)
        if place is not None:
            forged = place._replace(
                number=place.number + chance.randrange(4),
                digest=f"{chance.randrange(1 << 64):016x}",
                is_snapshot=chance.random() < 0.5,
            )
            self._forged[str(forged)] = self.files[name]

    def mend(self) -> None:
        """Show every file as it was written, and no other one."""
        for table in (self._hidden, self._damaged, self._forged):
            table.clear()
