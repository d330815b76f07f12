"""The marks of what ``commonplace export --to`` writes into files of hosts, so that no import reads it as new. Pure.

A note has :data:`MARK` in its front matter, with the type and id of its memory. Lines in a file of other texts stand
between :data:`BEGIN` and :data:`END`.

Source: MIR-01.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from commonplace.core.errors import InvalidInputError

MARK: Final = "commonplace"
BEGIN: Final = "<!-- commonplace: begin. `commonplace export` writes the lines below. -->"
END: Final = "<!-- commonplace: end -->"
NAME: Final = re.compile(r"(?:fact|rule):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The type and id of a memory."""

_BEGIN: Final = re.compile(r"^<!-- commonplace: begin\b[^\n]*-->[ \t]*\r?$", re.MULTILINE)
_END: Final = re.compile(rf"^{re.escape(END)}[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


def name_in(fields: Mapping[str, object]) -> str | None:
    """Return the mark of a note with these fields, such as ``fact:UUID``; ``None`` for a note of others."""
    name = fields.get(MARK)
    return name if isinstance(name, str) and NAME.fullmatch(name) else None


def without_own_lines(text: str) -> str:
    """Return a text without the lines between the marks; a text whose end mark is missing is returned as it is."""
    place = _place_of_lines(text)
    return text if place is None else f"{text[: place[0]]}{text[place[1] :]}"


def with_own_lines(text: str, lines: Sequence[str]) -> str:
    """Return a text with these lines between the marks, where they were before, else at its end; without any, no marks.

    All else stays as it is; the lines end as most lines of the text do.

    Raises:
        InvalidInputError: The text has a begin mark without an end mark, or several.
    """
    begins = len(_BEGIN.findall(text))
    place = _place_of_lines(text)
    if begins > 1 or (begins == 1 and place is None):
        raise InvalidInputError("file", f"one section of commonplace, which ends with {END}", None)
    newline = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    section = newline.join([BEGIN, "", *lines, "", END, ""]) if lines else ""
    if place is not None:
        return f"{text[: place[0]]}{section}{text[place[1] :]}"
    gap = "" if not text or not section else newline if text.endswith("\n") else 2 * newline
    return f"{text}{gap}{section}"


def _place_of_lines(text: str) -> tuple[int, int] | None:
    """Return where the begin mark starts and where the end mark ends; ``None`` if either is missing."""
    begin = _BEGIN.search(text)
    end = _END.search(text, begin.end()) if begin else None
    return (begin.start(), end.end()) if begin and end else None
