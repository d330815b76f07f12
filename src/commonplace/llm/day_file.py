"""Tokens used today by all processes of this machine, and their price: one file per day, one line per answer.

If each process counted its own budget, every command would start from zero. Each line is appended in one write, which
the system does not interleave with others, so no lock is needed.
"""

import os
import re
from datetime import date
from pathlib import Path
from typing import Final

from commonplace.core.directories import make_directories

_LINE: Final = re.compile(r"(\d+)(?: (\d+\.\d+))?", re.ASCII)


class DayFile:
    """The files of one directory, named by their day in UTC; files of earlier days are deleted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, day: date, tokens: int, *, cost_usd: float | None = None) -> None:
        """Add used tokens to a day, and their price if it is known.

        Raises:
            OSError: The file cannot be written.
        """
        path = self._directory / day.isoformat()
        if not path.exists():
            self._begin(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            price = "" if cost_usd is None else f" {cost_usd:.6f}"
            os.write(descriptor, f"{tokens}{price}\n".encode())
        finally:
            os.close(descriptor)

    def total(self, day: date) -> int:
        """Return the tokens used on a day; 0 if the day has no file.

        Raises:
            OSError: The file exists and cannot be read.
        """
        return sum(tokens for tokens, _ in self._read(day))

    def cost_usd(self, day: date) -> float | None:
        """Return the price of the tokens used on a day, as far as it is known; ``None`` if no price is known.

        Raises:
            OSError: The file exists and cannot be read.
        """
        read = self._read(day)
        known = [price for _, price in read if price is not None]
        return sum(known) if known or not read else None

    def _read(self, day: date) -> list[tuple[int, float | None]]:
        try:
            text = (self._directory / day.isoformat()).read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return []
        found = map(_LINE.fullmatch, text.splitlines())
        return [(int(line[1]), float(line[2]) if line[2] else None) for line in found if line]

    def _begin(self, today: Path) -> None:
        make_directories(self._directory)
        for path in self._directory.iterdir():
            if path.name < today.name:
                path.unlink(missing_ok=True)
