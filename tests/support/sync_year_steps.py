"""The steps of a sync, at each of which a simulation can kill the process or fill the disk."""

import contextlib
import sqlite3
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageUnavailableError
from commonplace.services.sync.state_file import StateFile

KILL: Final = "kill"
FULL_DISK: Final = "full disk"
_WRITES: Final = ("put, before", "commit")
"""A disk that is full stops writes to the carrier and to the state."""


class Killed(BaseException):
    """The process was killed here."""


class Steps:
    """Counts steps, and raises an error at the one that is chosen."""

    def __init__(self) -> None:
        self.fault = ""
        self.passed: set[str] = set()
        self.skip = 0
        self.kills: Counter[str] = Counter()
        self.full_disks: Counter[str] = Counter()

    def arm(self, fault: str, *, passed: set[str], skip: int = 0) -> None:
        """Raise an error at the first step that is not in ``passed``, after ``skip`` others.

        Args:
            fault: :data:`KILL` or :data:`FULL_DISK`.
            passed: The names of the steps that pass; the one that fails is added.
            skip: The number of steps that pass first.
        """
        self.fault, self.passed, self.skip = fault, passed, skip

    def disarm(self) -> None:
        """Let all steps pass."""
        self.fault = ""

    def step(self, name: str) -> None:
        """Pass, or raise."""
        is_possible = self.fault == KILL or (self.fault == FULL_DISK and name.endswith(_WRITES))
        if not is_possible or name in self.passed:
            return
        if self.skip:
            self.skip -= 1
            return
        fault, self.fault = self.fault, ""
        self.passed.add(name)
        if fault == KILL:
            self.kills[name] += 1
            raise Killed
        self.full_disks[name] += 1
        raise StorageUnavailableError("the disk is full")


class SteppedFile(StateFile):
    """A file of state that announces each transaction before and after its commit."""

    steps: Steps

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._connection.execute("PRAGMA synchronous = OFF")  # A simulated kill does not stop the system.

    @contextlib.contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Return the connection in a transaction."""
        name = _method()
        with super().writing() as sql:
            yield sql
            self.steps.step(f"state.{name}, before commit")
        self.steps.step(f"state.{name}, after")

    def compact(self) -> None:
        """Rewrite the file."""
        self.steps.step("state.compact, before")
        super().compact()
        self.steps.step("state.compact, after")

    def fill_disk(self) -> None:
        """Let the database grow no more, so that SQLite itself says that the disk is full."""
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        self._connection.execute(f"PRAGMA max_page_count = {pages}")


def _method() -> str:
    """Return the name of the method of the state that runs."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith("sync/state.py"):
        frame = frame.f_back
    return "write" if frame is None else frame.f_code.co_name
