"""References to code: files and commands of a project that a memory names, looked at before the memory is shown.

A memory says "limits are in `src/api/limits.py`", and a month later the file is gone. A reference that was there when a
line with it was last shown, and is not there now, is said in the line; what never was there may be part of something
else and is not mentioned. A file that Git knows to have moved is followed.

    - Limits are in src/api/limits.py (src/api/limits.py was there on 3 Nov; the file is gone)

Source: FOL-03.
"""

import json
import logging
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories

DIRECTORY: Final = "code"
MOST_REFERENCES: Final = 200
"""The number of references that are looked at for one text: each takes a few microseconds."""

MOST_BYTES: Final = 500_000
"""The part of a Makefile or package.json that is read."""

GIT_TIMEOUT_S: Final = 0.5
MOST_MOVES: Final = 3
"""The number of files that Git is asked about for one text."""

ITEM: Final = "- "

_FILE: Final = re.compile(
    r"(?<![\w:/.@~-])(?:\./)?((?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,9}|(?:[\w.-]+/)+[\w.-]+)(?![\w/@])"
)
_UNSAFE: Final = re.compile(r"[^\w.-]")
_COMMAND: Final = re.compile(r"\b(make|npm run|yarn|pnpm|just)\s+([a-z][\w:-]*)")
_TARGET: Final = re.compile(r"^([\w.-]+(?:\s+[\w.-]+)*)\s*:(?!=)", re.MULTILINE)
_MOVE: Final = re.compile(r"^R\d*\t(?P<old>[^\t]+)\t(?P<new>.+)$", re.MULTILINE)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Seen:
    """When references were last there, by reference, and where files moved to."""

    days: dict[str, str] = field(default_factory=dict[str, str])
    moves: dict[str, str] = field(default_factory=dict[str, str])


class CodeReferences:
    """The references of one project.

    Args:
        project: The directory of the project.
        home: The home, which records what was there when.
        name: The id of the project, which names the record.
        today: The present day.
    """

    def __init__(self, project: Path, home: Path, name: str, *, today: date) -> None:
        self._project = project
        self._file = home / DIRECTORY / f"{_UNSAFE.sub('_', name)}.json"
        self._today = today
        self._asked_git = 0

    def checked(self, text: str) -> str:
        """Return a text; lines that name what is gone say so, and follow the other lines of their list."""
        if not any(map(self._named, text.split("\n"))):
            return text
        seen = self._read()
        before = json.dumps([seen.days, seen.moves])
        lines = list(self._lines(text.split("\n"), seen))
        if json.dumps([seen.days, seen.moves]) != before:
            self._write(seen)
        return "\n".join(lines)

    def _lines(self, lines: Iterable[str], seen: _Seen) -> Iterator[str]:
        outdated: list[str] = []
        for line in lines:
            if not line.startswith(ITEM):
                yield from outdated
                outdated = []
                yield line
                continue
            remarks = [remark for each in self._named(line) if (remark := self._remark(each, seen))]
            if remarks:
                outdated.append(f"{line} ({'; '.join(remarks)})")
            else:
                yield line
        yield from outdated

    def _named(self, line: str) -> list[str]:
        """Return the files and commands that a line names."""
        if not line.startswith(ITEM):
            return []
        files = [match[1] for match in _FILE.finditer(line) if ".." not in match[1].split("/")]
        commands = [f"{match[1]} {match[2]}" for match in _COMMAND.finditer(line)]
        return list(dict.fromkeys([*commands, *files]))[:MOST_REFERENCES]

    def _remark(self, reference: str, seen: _Seen) -> str:
        """Return what is to be said of a reference, and note it if it is there; an empty text for nothing."""
        if self._is_there(reference):
            seen.days[reference] = self._today.isoformat()
            return ""
        day = seen.days.get(reference)
        if day is None:
            return ""
        if " " in reference:
            return f"{reference} was there on {_day(day)}; it is gone"
        moved = seen.moves.get(reference) or self._moved(reference)
        if moved and self._is_there(moved):
            seen.moves[reference] = moved
            return f"{reference} is now {moved}"
        return f"{reference} was there on {_day(day)}; the file is gone"

    def _is_there(self, reference: str) -> bool:
        command, _, target = reference.rpartition(" ")
        if command:
            return target in (self._targets if command in {"make", "just"} else self._scripts)
        try:
            return (self._project / reference).exists()
        except OSError:
            return False

    @cached_property
    def _targets(self) -> frozenset[str]:
        texts = [
            _beginning(self._project / name) for name in ("Makefile", "makefile", "GNUmakefile", "justfile")
        ]
        return frozenset(
            each for text in texts for match in _TARGET.finditer(text) for each in match[1].split()
        )

    @cached_property
    def _scripts(self) -> frozenset[str]:
        try:
            document = json.loads(_beginning(self._project / "package.json"))
            return frozenset(cast("dict[str, Any]", document).get("scripts", ()))
        except (ValueError, AttributeError, TypeError):
            return frozenset()

    def _moved(self, path: str) -> str | None:
        """Return where Git says that a file moved to; ``None`` if it does not know or takes too long."""
        self._asked_git += 1
        if self._asked_git > MOST_MOVES:
            return None
        commit = self._git("log", "-1", "--format=%H", "--diff-filter=D", "--no-renames", "--", path).strip()
        if not commit:
            return None
        shown = self._git("show", "--format=", "--name-status", "--diff-filter=R", "-M", commit)
        return next((match["new"] for match in _MOVE.finditer(shown) if match["old"] == path), None)

    def _git(self, *arguments: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - git, with a path behind --
                ["git", "-C", str(self._project), *arguments],  # noqa: S607
                capture_output=True,
                text=True,
                timeout=GIT_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
            return ""
        return done.stdout if done.returncode == 0 else ""

    def _read(self) -> _Seen:
        try:
            document = json.loads(self._file.read_bytes())
            return _Seen(days=dict(document["days"]), moves=dict(document["moves"]))
        except FileNotFoundError:
            return _Seen()
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s cannot be read, and is begun anew: %s", self._file, error)
            return _Seen()

    def _write(self, seen: _Seen) -> None:
        try:
            make_directories(self._file.parent)
            write_text(self._file, json.dumps({"days": seen.days, "moves": seen.moves}) + "\n", mode=0o600)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)


def _day(text: str) -> str:
    day = date.fromisoformat(text)
    return f"{day.day} {day:%b %Y}"


def _beginning(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
