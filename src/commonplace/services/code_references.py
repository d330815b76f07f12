"""References to code: what a memory names of a project, looked at before the memory is shown.

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
from commonplace.services.code_mentions import CodeMention, mentions_in
from commonplace.services.project_files import beginning

DIRECTORY: Final = "code"
MOST_BYTES: Final = 500_000
"""The part of a Makefile or package.json that is read."""

MOST_SEARCHED_BYTES: Final = 200_000
MOST_READ: Final = 10
"""The number of files in which words are looked for, for one text: each takes about two milliseconds."""

GIT_TIMEOUT_S: Final = 0.5
MOST_MOVES: Final = 3
"""The number of files that Git is asked about for one text."""

ITEM: Final = "- "

_DIGEST_BYTES: Final = 12
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
        self._texts: dict[str, str] = {}
        self._lock = threading.Lock()

    def checked(self, text: str) -> str:
        """Return a text; lines that name what is gone say so, and follow the other lines of their list."""
        if not any(line.startswith(ITEM) and mentions_in(line) for line in text.split("\n")):
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
            remarks = [remark for each in mentions_in(line) if (remark := self._remark(each))]
            if remarks:
                outdated.append(f"{line} ({'; '.join(remarks)})")
            else:
                yield line
        yield from outdated

    def _remark(self, mention: CodeMention) -> str:
        """Return what is to be said of a mention, and note it if it is there; an empty text for nothing."""
        if self._is_there(mention):
            self._sights[mention.name] = _Sight(reference=mention.name, day=self._today.isoformat())
            return ""
        sight = self._sights.get(mention.name)
        if sight is None or (mention.word and not self._is_whole(mention.path)):
            return ""
        if sight.moved is None and mention.path and not mention.word and self._asked_git < MOST_MOVES:
            self._asked_git += 1
            sight.moved = self._moved(mention.path)
        if sight.moved and self._has_file(sight.moved):
            return f"{mention.name} is now {sight.moved}"
        day = date.fromisoformat(sight.day)
        return f"{mention.name} was there on {day.day} {day:%b %Y}, and is not now"

    def _is_there(self, mention: CodeMention) -> bool:
        if mention.word:
            word = rf"(?<!\w){re.escape(mention.word)}(?!\w)"
            return self._can_read(mention.path) and re.search(word, self._texts[mention.path]) is not None
        if mention.path:
            return self._has_file(mention.path)
        command, _, target = mention.name.rpartition(" ")
        return target in (self._targets if command in {"make", "just"} else self._scripts)

    def _has_file(self, path: str) -> bool:
        try:
            return (self._project / path).exists()
        except OSError:
            return False

    def _is_whole(self, path: str) -> bool:
        """Return whether all of a file was searched, so that a word that was not found is not there."""
        try:
            size = (self._project / path).stat().st_size
        except OSError:
            return False
        return self._can_read(path) and size <= MOST_SEARCHED_BYTES

    def _can_read(self, path: str) -> bool:
        """Return whether the text of a file is known; the first files of a block are read."""
        if path not in self._texts and len(self._texts) < MOST_READ:
            self._texts[path] = beginning(self._project / path, MOST_SEARCHED_BYTES)
        return bool(self._texts.get(path))

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
            for each in sights:
                date.fromisoformat(each.day)
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
