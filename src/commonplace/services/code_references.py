"""References to code: files and commands of a project that a memory names, looked at before the memory is shown.

A memory says "limits are in `src/api/limits.py`", and a month later the file is gone. A reference that was there when a
line with it was last shown, and is not there now, is said in the line; what never was there may be part of something
else and is not mentioned. A file that Git knows to have moved is followed.

    - Limits are in src/api/limits.py (src/api/limits.py was there on 3 Nov 2026, and is not now)

Each directory has a record, ``code/DIGEST.jsonl`` in the home, with the last day on which each reference was there.

Source: FOL-03.
"""

import json
import logging
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.services.project_files import beginning

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
_DIGEST_BYTES: Final = 12
_COMMAND: Final = re.compile(r"\b(make|npm run|yarn|pnpm|just)\s+([a-z][\w:-]*)")
_TARGET: Final = re.compile(r"^([\w.-]+(?:\s+[\w.-]+)*)\s*:(?!=)", re.MULTILINE)
_MOVE: Final = re.compile(r"^R\d*\t(?P<old>[^\t]+)\t(?P<new>.+)$", re.MULTILINE)

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Sight:
    """When a reference was last there; ``moved`` is where Git says that the file is now, empty if it does not know."""

    reference: str
    day: str
    moved: str | None = None


class CodeReferences:
    """The references of one directory.

    Args:
        project: The directory of the project.
        home: The home, which holds the record.
        today: The present day.
    """

    def __init__(self, project: Path, home: Path, *, today: date) -> None:
        self._project = project
        name = blake2b(os.fsencode(project), digest_size=_DIGEST_BYTES).hexdigest()
        self._file = home / DIRECTORY / f"{name}.jsonl"
        self._today = today
        self._asked_git = 0
        self._lock = threading.Lock()

    def checked(self, text: str) -> str:
        """Return a text; lines that name what is gone say so, and follow the other lines of their list."""
        if not any(map(self._named, text.split("\n"))):
            return text
        with self._lock:
            before = _document(self._sights)
            lines = list(self._lines(text.split("\n")))
            if (after := _document(self._sights)) != before:
                self._write(after)
        return "\n".join(lines)

    def _lines(self, lines: Iterable[str]) -> Iterator[str]:
        outdated: list[str] = []
        for line in lines:
            if not line.startswith(ITEM):
                yield from outdated
                outdated = []
                yield line
                continue
            remarks = [remark for each in self._named(line) if (remark := self._remark(each))]
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

    def _remark(self, reference: str) -> str:
        """Return what is to be said of a reference, and note it if it is there; an empty text for nothing."""
        if self._is_there(reference):
            self._sights[reference] = _Sight(reference=reference, day=self._today.isoformat())
            return ""
        sight = self._sights.get(reference)
        if sight is None:
            return ""
        if sight.moved is None and " " not in reference and self._asked_git < MOST_MOVES:
            self._asked_git += 1
            sight.moved = self._moved(reference)
        if sight.moved and self._is_there(sight.moved):
            return f"{reference} is now {sight.moved}"
        day = date.fromisoformat(sight.day)
        return f"{reference} was there on {day.day} {day:%b %Y}, and is not now"

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

    def _moved(self, path: str) -> str:
        """Return where Git says that a file moved to; an empty text if it does not know or takes too long."""
        commit = self._git("log", "-1", "--format=%H", "--diff-filter=D", "--no-renames", "--", path).strip()
        if not commit:
            return ""
        renames = self._git("show", "--format=", "--name-status", "--diff-filter=R", "-M", commit)
        return next((match["new"] for match in _MOVE.finditer(renames) if match["old"] == path), "")

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

    @cached_property
    def _sights(self) -> dict[str, _Sight]:
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
            sights = [_Sight(**json.loads(line)) for line in lines]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            _log.warning("%s cannot be read, and is begun anew: %s", self._file, error)
            return {}
        return {each.reference: each for each in sights}

    def _write(self, document: str) -> None:
        try:
            make_directories(self._file.parent)
            write_text(self._file, document, mode=0o600)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._file, error)


def _document(sights: Mapping[str, _Sight]) -> str:
    return "".join(f"{json.dumps(asdict(each))}\n" for each in sights.values())
