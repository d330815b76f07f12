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

_BEGIN: Final = re.compile(r"^<!-- commonplace: begin\b[^\n]*-->[ \t]*$", re.MULTILINE)
_END: Final = re.compile(rf"^{re.escape(END)}[ \t]*(?:\n|\Z)", re.MULTILINE)
_NAME: Final = re.compile(r"(?:fact|rule):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def name_in(fields: Mapping[str, object]) -> str | None:
    """Return the memory that a note with these fields shows, such as ``fact:UUID``; ``None`` for a note of others."""
    name = fields.get(MARK)
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def without_own_lines(text: str) -> str:
    """Return a text without the lines between the marks; a text whose end mark is missing is returned as it is."""
    place = _place_of_lines(text)
    return text if place is None else f"{text[: place[0]]}{text[place[1] :]}"


def with_own_lines(text: str, lines: Sequence[str]) -> str:
    """Return a text with these lines between the marks, where they were before, else at its end; without any, no marks.

    Raises:
        InvalidInputError: The begin mark has no end mark.
    """
    if place := _place_of_lines(text):
        before, after = text[: place[0]], text[place[1] :]
    elif _BEGIN.search(text):
        raise InvalidInputError("file", f"a line {END} below the line that begins the section", None)
    else:
        before, after = f"{text.rstrip()}\n\n" if text.strip() else "", ""
    if lines:
        return "\n".join([f"{before}{BEGIN}", "", *lines, "", END, after])
    return f"{before.rstrip()}\n{after}" if before.strip() else after


def _place_of_lines(text: str) -> tuple[int, int] | None:
    """Return where the begin mark starts and where the end mark ends; ``None`` if either is missing."""
    begin = _BEGIN.search(text)
    end = _END.search(text, begin.end()) if begin else None
    return (begin.start(), end.end()) if begin and end else None
