"""Tokens used today by all processes of this machine: one file per day, one line per answer.

A budget that each process counts for itself would start from zero with every command. Each line is appended in one
write, which the system does not mix with others, so no lock is needed.
"""

import os
from datetime import date
from pathlib import Path

from commonplace.core.directories import make_directories


class DayFile:
    """The files of one directory, named by their day in UTC; files of earlier days are deleted.

    Args:
        directory: The directory; the first use creates it.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, day: date, tokens: int) -> None:
        """Add used tokens to a day.

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
        """Return the tokens used on a day; 0 if the day has no file.

        Raises:
            OSError: The file exists and cannot be read.
        """
        try:
            text = (self._directory / day.isoformat()).read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return 0
        return sum(int(line) for line in text.splitlines() if line.isdecimal())

    def _begin(self, today: Path) -> None:
        make_directories(self._directory)
        for path in self._directory.iterdir():
            if path.name < today.name:
                path.unlink(missing_ok=True)
