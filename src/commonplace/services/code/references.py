"""Remarks on memories whose references to code are outdated.

A memory says "limits are in `src/api/limits.py`", and a month later the file is gone. If a reference was there when a
memory with it was last shown, and is not there now, the line of the memory says so. A reference that never was there
gets no remark, because it may belong to something else. If Git knows the new path of a file, the remark names it. If
most of a file, or the lines with a symbol, have changed since the memory was first shown, the line says so too.

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
"""If less than this share of a file's lines is left, most of the file has changed."""

_FRAME: Final = re.compile(r"^- (?:\(w:[^)]*\) |\[[^\]]*\] \[[^\]]*\]: )?|(?: \([^()]*\))?(?: \[\w:\w+\])?$")
"""The parts of a block's line around the text of a memory: id, date, subject and predicate, confidence."""


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
        """Return a block with remarks on outdated references; lines with a remark follow the others of their list."""
        lines = block.split("\n")
        if not any(line.startswith(ITEM) and mentions_in(line) for line in lines):
            return block
        with self._lock:
            lines = list(self._lines(lines))
            self._sights.save()
        return "\n".join(lines)

    def remarks(self, texts: Sequence[str]) -> list[str]:
        """Return the remarks on the references of each memory; an empty text if there are none."""
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
        """Return the remarks on the mentions of a line; a remark on a word of a file replaces the one on the file."""
        memory = digest_of(text)
        remarks = {each: remark for each in mentions_in(line) if (remark := self._remark(each, memory))}
        files = {each.path for each in remarks if each.word}
        return "; ".join(remark for each, remark in remarks.items() if each.word or each.path not in files)

    def _remark(self, mention: CodeMention, memory: str) -> str:
        """Return the remark on a mention, and record the mention if it is there; an empty text without a remark."""
        if self._is_there(mention):
            return self._change(mention, self._sights.note(mention.name, today=self._today), memory)
        sight = self._sights.find(mention.name)
        if sight is None or (mention.word and not self._code.is_whole(mention.path)):
            return ""
        if sight.moved is None and mention.path and not mention.word:
            sight.moved = self._code.new_place(mention.path)
        if sight.moved and self._code.has_file(sight.moved):
            return f"{mention.name} is now {sight.moved}"
        return f"{mention.name} was there on {_date_text(sight.day)}, and is not now"

    def _is_there(self, mention: CodeMention) -> bool:
        if mention.word:
            return bool(self._code.lines_with(mention.word, mention.path))
        if mention.path:
            return self._code.has_file(mention.path)
        return self._code.has_command(mention.name)

    def _change(self, mention: CodeMention, sight: Sight, memory: str) -> str:
        """Return the remark on lines that have changed since their sample; take the sample if there is none."""
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
        share = sample.share_left(lines)
        if mention.is_symbol:
            return f"{mention.name} has changed since {_date_text(sample.day)}" if share < 1 else ""
        return (
            f"most of {mention.name} has changed since {_date_text(sample.day)}" if share < MOST_LEFT else ""
        )


def _date_text(day: str) -> str:
    moment = date.fromisoformat(day)
    return f"{moment.day} {moment:%b %Y}"
