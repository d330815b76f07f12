"""Lines that a conversation was already given, so that no later prompt repeats them.

Each session has a file, ``$COMMONPLACE_HOME/claude-code/<session id>.given``, with a digest of each line. A line counts
as given until its memory changes, and another passage of a long text is another line. Dates, confidence and short ids
at the end of a line are ignored.
"""

import re
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import open_private
from commonplace.core.directories import make_directories
from commonplace.hosts.hooks.sessions import DIRECTORY, GIVEN_SUFFIX

ITEM: Final = "- "
_DIGEST_BYTES: Final = 9
_HEADING: Final = re.compile(r"(#+) ")
_STANDING: Final = re.compile(
    r"( \((?:confidence|maturity): [^()]*\))?( \[[efr]:\w+(?:, also [efr]:\w+)*\])?$"
)


class SeenLines:
    """The lines that one session, a UUID, was given."""

    def __init__(self, home: Path, session_id: str) -> None:
        self._file = home / DIRECTORY / f"{session_id}{GIVEN_SUFFIX}"
        self._known: set[str] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the session was given no lines yet."""
        return not self._digests()

    def fresh(self, block: str) -> str:
        """Return a block without given lines, and without headings that have no remaining lines.

        If all lines were given, the block is empty.
        """
        known = self._digests()
        kept: list[str] = []
        headings: list[str] = []
        for line in block.split("\n"):
            if not line.startswith(ITEM):
                if level := _level(line):
                    headings = list(takewhile(lambda each: _level(each) < level, headings))
                headings.append(line)
            elif _digest(line) not in known:
                kept += [*headings, line]
                headings = []
        return "\n".join(kept)

    def add(self, text: str) -> None:
        """Record the lines of a text as given.

        Raises:
            OSError: The file cannot be written.
        """
        new = {_digest(line) for line in text.split("\n") if line.startswith(ITEM)} - self._digests()
        if new:
            make_directories(self._file.parent)
            with open_private(self._file, "a", encoding="ascii") as file:
                file.write("".join(f"{each}\n" for each in sorted(new)))
            self._known = self._digests() | new

    def forget(self) -> None:
        """Forget the given lines, because the conversation has lost them.

        Raises:
            OSError: The file cannot be deleted.
        """
        self._file.unlink(missing_ok=True)
        self._known = None

    def _digests(self) -> set[str]:
        """Return the digests of the file, which is read once."""
        if self._known is None:
            try:
                self._known = set(self._file.read_text(encoding="ascii", errors="replace").split())
            except OSError:
                self._known = set()
        return self._known


def _digest(line: str) -> str:
    return blake2b(_STANDING.sub("", line).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _level(line: str) -> int:
    """Return the number of signs of a heading, 0 for another line."""
    heading = _HEADING.match(line)
    return len(heading[1]) if heading else 0
