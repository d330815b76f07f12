"""Tokens used today by every process of this machine: a line each in one file a day.

A budget that each process counts for itself would start from zero with every command. Lines are appended in one
write each, which the system keeps apart, so nobody waits for a lock.
"""

import os
from datetime import date
from pathlib import Path


class DayFile:
    """The files of one directory, named by their day in UTC; those of earlier days are removed.

    Args:
        directory: Where they are; made at the first use.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, day: date, tokens: int) -> None:
        """Note tokens used.

        Raises:
            OSError: The file cannot be written.
        """
        path = self._directory / day.isoformat()
        if not path.exists():
            self._begin(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, f"{tokens}\n".encode())
        finally:
            os.close(descriptor)

    def total(self, day: date) -> int:
        """Return the tokens noted for a day; 0 for a day without any.

        Raises:
            OSError: The file is there and cannot be read.
        """
        try:
            text = (self._directory / day.isoformat()).read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return 0
        return sum(int(line) for line in text.splitlines() if line.isdecimal())

    def _begin(self, today: Path) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        for path in self._directory.iterdir():
            if path.name < today.name:
                path.unlink(missing_ok=True)
