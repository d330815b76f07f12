"""The files, commands and lines of a project that memories name. Reads are limited, because somebody waits for them.

Source: FOL-03.
"""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast
from zlib import crc32

from commonplace.core.git import ask_git

MOST_BYTES: Final = 500_000
"""The part of a Makefile or package.json that is read."""

MOST_SEARCHED_BYTES: Final = 200_000
MOST_READ: Final = 10
"""The number of files that are read for one text: each takes about two milliseconds."""

GIT_TIMEOUT_S: Final = 0.5
MOST_MOVES: Final = 3
"""The number of files that Git is asked about for one text."""

_TARGET: Final = re.compile(r"^([\w.-]+(?:\s+[\w.-]+)*)\s*:(?!=)", re.MULTILINE)
_MOVE: Final = re.compile(r"^R\d*\t(?P<old>[^\t]+)\t(?P<new>.+)$", re.MULTILINE)


def beginning(path: Path, most_bytes: int) -> str:
    """Return the beginning of a file as text; an empty text for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most_bytes).decode(errors="replace")
    except OSError:
        return ""


def checksums_of(lines: Iterable[str]) -> set[int]:
    """Return the checksums of lines, but for those that are empty; indentation does not count."""
    return {crc32(line.encode(errors="replace")) for each in lines if (line := each.strip())}


class ProjectCode:
    """The files of a directory; each is read once, and only the first :data:`MOST_READ` are read."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._texts: dict[str, str] = {}
        self._checksums: dict[str, set[int]] = {}
        self._asked_git = 0

    def has_file(self, path: str) -> bool:
        """Return whether a file or directory is there."""
        try:
            return (self._project / path).exists()
        except OSError:
            return False

    def has_command(self, command: str) -> bool:
        """Return whether a Makefile, justfile or package.json has a command such as ``make deploy``."""
        program, _, name = command.rpartition(" ")
        return name in (self._targets if program in {"make", "just"} else self._scripts)

    def is_whole(self, path: str) -> bool:
        """Return whether a file is read to its end, so that a word that was not found is not in it."""
        try:
            size = (self._project / path).stat().st_size
        except OSError:
            return False
        return size <= MOST_SEARCHED_BYTES and bool(self._text(path))

    def checksums(self, path: str) -> set[int]:
        """Return the checksums of the lines of a file that are not empty; no checksums if it cannot be read."""
        if path not in self._checksums:
            self._checksums[path] = checksums_of(self._text(path).splitlines())
        return self._checksums[path]

    def lines_with(self, word: str, path: str) -> list[str]:
        """Return the lines of a file that hold a symbol or a number, which may have a unit."""
        text = self._text(path)
        is_inside = str.isdigit if word.isdigit() else _is_of_word
        lines: list[str] = []
        at = text.find(word)
        while at >= 0:
            after = at + len(word)
            if is_inside(text[at - 1 : at]) or is_inside(text[after : after + 1]):
                at = text.find(word, after)
                continue
            end = text.find("\n", after)
            lines.append(text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else None])
            at = text.find(word, end) if end >= 0 else -1
        return lines

    def _text(self, path: str) -> str:
        if path not in self._texts:
            if len(self._texts) >= MOST_READ:
                return ""
            self._texts[path] = beginning(self._project / path, MOST_SEARCHED_BYTES)
        return self._texts[path]

    def new_place(self, path: str) -> str:
        """Return the new path of a file according to Git; empty if Git does not know or takes too long."""
        if self._asked_git == MOST_MOVES:
            return ""
        self._asked_git += 1
        commit = self._git("log", "-1", "--format=%H", "--diff-filter=D", "--no-renames", "--", path).strip()
        if not commit:
            return ""
        renames = self._git("show", "--format=", "--name-status", "--diff-filter=R", "-M", commit)
        return next((match["new"] for match in _MOVE.finditer(renames) if match["old"] == path), "")

    @cached_property
    def _targets(self) -> frozenset[str]:
        texts = [
            beginning(self._project / name, MOST_BYTES)
            for name in ("Makefile", "makefile", "GNUmakefile", "justfile")
        ]
        return frozenset(
            each for text in texts for match in _TARGET.finditer(text) for each in match[1].split()
        )

    @cached_property
    def _scripts(self) -> frozenset[str]:
        try:
            document = json.loads(beginning(self._project / "package.json", MOST_BYTES))
            return frozenset(cast("dict[str, Any]", document).get("scripts", ()))
        except (ValueError, AttributeError, TypeError):
            return frozenset()

    def _git(self, *arguments: str) -> str:
        return ask_git("-C", str(self._project), *arguments, timeout_s=GIT_TIMEOUT_S)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
