"""Finds the files, commands and words of files that a line mentions. Pure.

A word is a name in backticks or a number, in a line that names a file: "`parse_limits` in `src/api/limits.py`", "waits
90 s, see `compose.yaml`".

Source: FOL-03.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

MOST_MENTIONS: Final = 200
"""The number of mentions of one line: each takes a few microseconds."""

MOST_FILES: Final = 3
"""The number of files of one line in which its words are looked for."""

_FILE: Final = re.compile(
    r"(?<![\w:/.@~-])(?:\./)?((?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,9}|(?:[\w.-]+/)+[\w.-]+)(?![\w/@])"
)
_COMMAND: Final = re.compile(r"\b(make|npm run|yarn|pnpm|just)\s+([a-z][\w:-]*)")
_SYMBOL: Final = re.compile(r"`(?:[A-Za-z_]\w*(?:\.|::|#))*([A-Za-z_]\w{2,})(?:\(\))?`")
_PORT: Final = re.compile(r"\b[Pp]ort (\d{2,5})\b")
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/#@-])(?!(?:19|20)\d\d\b)(\d{2,7})"
    r"(?=\s?(?:%|ms|[smhd]|[kMG]i?B)?(?:[\s,;)]|\.?$|\. ))"
    r"(?!\s(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
"""A number that is no year and no day of a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMention:
    """A file, a command, or a word of a file.

    Attributes:
        name: The name in records and remarks: ``src/a.py``, ``make deploy``, ``LIMIT in src/a.py``.
        path: The file; empty for a command.
        word: The symbol or number in the file; empty for the file itself.
    """

    name: str
    path: str = ""
    word: str = ""

    @property
    def is_symbol(self) -> bool:
        """Whether it is a symbol. Lines with a symbol define or use it; lines with a number may be about anything."""
        return bool(self.word) and not self.word.isdigit()


def mentions_in(line: str) -> list[CodeMention]:
    """Return the mentions of a line, each once: commands, files, then words of these files."""
    return list(dict.fromkeys(islice(_mentions(line), MOST_MENTIONS)))


def _mentions(line: str) -> Iterator[CodeMention]:
    for command in _COMMAND.finditer(line):
        yield CodeMention(name=f"{command[1]} {command[2]}")
    paths = [match[1] for match in _FILE.finditer(line) if ".." not in match[1].split("/")]
    yield from (CodeMention(name=path, path=path) for path in paths)
    words = [match[1] for pattern in (_SYMBOL, _PORT, _NUMBER) for match in pattern.finditer(line)]
    for path, word in product(dict.fromkeys(paths[:MOST_FILES]), dict.fromkeys(words)):
        yield CodeMention(name=f"{word} in {path}", path=path, word=word)
