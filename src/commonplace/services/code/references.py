"""References to code: what a memory names of a project, looked at before the memory is shown.

A memory says "limits are in `src/api/limits.py`", and a month later the file is gone. A reference that was there when a
memory with it was last shown, and is not there now, is said in the line; what never was there may be part of something
else and is not mentioned. A file that Git knows to have moved is followed. Of a file that is still there, the line says
that most of it has changed since the memory was first shown, or that the lines with a symbol have.

    - Limits are in src/api/limits.py (src/api/limits.py was there on 3 Nov 2026, and is not now)
    - `retry` in src/http.py waits a second (retry in src/http.py has changed since 3 Nov 2026)

Source: FOL-03.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from commonplace.core.digests import digest_of
from commonplace.services.code.mentions import CodeMention, mentions_in
from commonplace.services.code.project_code import ProjectCode, checksums_of
from commonplace.services.code.sights import MOST_SAMPLES, Sight, Sights, record_file, sample_of

ITEM: Final = "- "
MOST_LEFT: Final = 0.5
"""A file of whose lines less than this share is left has changed for the most part."""

_FRAME: Final = re.compile(r"^- (?:\(w:[^)]*\) |\[[^\]]*\] \[[^\]]*\]: )?|(?: \([^()]*\))?(?: \[\w:\w+\])?$")
"""What a block writes around the text of a memory: id, date, subject and predicate, confidence."""


class CodeReferences:
    """The references of one directory.

    Args:
        project: The directory of the project.
        home: The home, which holds the record.
        today: The present day.
    """

    def __init__(self, project: Path, home: Path, *, today: date) -> None:
        self._code = ProjectCode(project)
        self._sights = Sights(record_file(home, project))
        self._today = today
        self._lock = threading.Lock()

    def checked(self, block: str) -> str:
        """Return a block; lines that name what has gone or changed say so, and follow the other lines of their list."""
        lines = block.split("\n")
        if not any(line.startswith(ITEM) and mentions_in(line) for line in lines):
            return block
        with self._lock:
            shown = list(self._lines(lines))
            self._sights.save()
        return "\n".join(shown)

    def remarks(self, texts: Sequence[str]) -> list[str]:
        """Return what is to be said of each of some memories; an empty text for nothing."""
        with self._lock:
            remarks = [self._remarks(text, text) for text in texts]
            self._sights.save()
        return remarks

    def _lines(self, lines: Iterable[str]) -> Iterator[str]:
        outdated: list[str] = []
        for line in lines:
            if not line.startswith(ITEM):
                yield from outdated
                outdated = []
                yield line
            elif remarks := self._remarks(line, _FRAME.sub("", line)):
                outdated.append(f"{line} ({remarks})")
            else:
                yield line
        yield from outdated

    def _remarks(self, line: str, text: str) -> str:
        """Return what is to be said of the mentions of a line; what is said of a file's words includes the file."""
        memory = digest_of(text)
        remarks = {each: remark for each in mentions_in(line) if (remark := self._remark(each, memory))}
        told = {each.path for each in remarks if each.word}
        return "; ".join(remark for each, remark in remarks.items() if each.word or each.path not in told)

    def _remark(self, mention: CodeMention, memory: str) -> str:
        """Return what is to be said of a mention, and note it if it is there; an empty text for nothing."""
        if self._is_there(mention):
            return self._change(mention, self._sights.note(mention.name, today=self._today), memory)
        sight = self._sights.find(mention.name)
        if sight is None or (mention.word and not self._code.is_whole(mention.path)):
            return ""
        if sight.moved is None and mention.path and not mention.word:
            sight.moved = self._code.new_place(mention.path)
        if sight.moved and self._code.has_file(sight.moved):
            return f"{mention.name} is now {sight.moved}"
        return f"{mention.name} was there on {_said(sight.day)}, and is not now"

    def _is_there(self, mention: CodeMention) -> bool:
        if mention.word:
            return bool(self._code.lines_with(mention.word, mention.path))
        if mention.path:
            return self._code.has_file(mention.path)
        return self._code.has_command(mention.name)

    def _change(self, mention: CodeMention, sight: Sight, memory: str) -> str:
        """Return how the lines that a memory speaks of have changed since their sample, or take a sample of them."""
        is_command_or_number = not mention.path or (mention.word and not mention.is_symbol)
        if is_command_or_number or not self._code.is_whole(mention.path):
            return ""
        lines = self._code.checksums(mention.path)
        if memory not in sight.samples:
            if mention.is_symbol:
                lines = checksums_of(self._code.lines_with(mention.word, mention.path))
            sight.samples[memory] = sample_of(lines, today=self._today)
            for oldest in list(sight.samples)[:-MOST_SAMPLES]:
                del sight.samples[oldest]
            return ""
        sample = sight.samples[memory]
        left = sample.share_left(lines)
        if mention.is_symbol:
            return f"{mention.name} has changed since {_said(sample.day)}" if left < 1 else ""
        return f"most of {mention.name} has changed since {_said(sample.day)}" if left < MOST_LEFT else ""


def _said(day: str) -> str:
    moment = date.fromisoformat(day)
    return f"{moment.day} {moment:%b %Y}"
