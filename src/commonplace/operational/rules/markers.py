r"""Markers: the lines by which an agent reports observations, events and actions.

    [MEMORY:category] observation            [MEMORY:category:service] observation
    [EVENT:level] message                    [EVENT:level:service] message
    [COOLDOWN:action:service] reason

MEMORY is the specification's form (OPS-03, OPS-05). EVENT is an older form of the host with the same syntax (OPS-20).
The specification has no form for cooldowns; ours is the smallest in the same convention, one line per action.

How a text is read:

- Line by line, where only ``\n`` and ``\r\n`` end a line; U+0085 and U+2028 are part of the text.
- A marker takes the rest of its line, so a line has at most one marker of each kind. A second one stays in the text of
  the first, as the pattern says, and is reported as well.
- A marker counts anywhere: in a list, in bold, in a code fence, in the middle of a sentence. Models
  like to put reports into fences, and ignoring fences would silently lose what they learned. The mere form,
  ``[MEMORY:category:service]``, names no category and teaches nothing.
- An observation that ends with a colon, such as ``Transcoding log:``, only announces what follows, and is rejected.
- Backticks, asterisks, underscores and tildes that open right before a marker are taken off where they close.
- Text that looks like a marker but is not valid is never dropped; it is returned as a :class:`RejectedMarker`.

The block of memories in the prompt writes ``- [timing] …``, without the keyword, so an agent that repeats the block
does not store its memories again.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from commonplace.core.secrets import masked_excerpt
from commonplace.core.text import clean_text, is_blank, trim_to
from commonplace.operational.model.bounds import MAX_SERVICE_CHARS, MAX_TEXT_CHARS, SERVICE_PATTERN
from commonplace.operational.model.markers import (
    GENERAL,
    CooldownAction,
    CooldownMarker,
    EventLevel,
    EventMarker,
    Marker,
    MemoryCategory,
    MemoryMarker,
    RejectedMarker,
)

SHOWN_CHARS: Final = 200
"""Characters of a line that a :class:`RejectedMarker` shows."""


_SHOWN_WORD_CHARS: Final = 40
_DECORATION: Final = "*_`~"


MEMORY_PATTERN: Final = re.compile(
    r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
)
"""Groups: category, service or ``None``, observation. Searched within one line. Source: OPS-05, literally."""

EVENT_PATTERN: Final = re.compile(r"\[EVENT:(info|warning|critical)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)")
"""Groups: level, service or ``None``, message."""

COOLDOWN_PATTERN: Final = re.compile(r"\[COOLDOWN:(restart|redeployment):([a-zA-Z0-9_-]+)\]\s*(.*)")
"""Groups: action, service, reason. The reason may be empty, because the cooldown applies anyway."""


@dataclass(frozen=True, kw_only=True)
class _Form:
    """One kind of marker: its pattern, its required parts, and the object that it becomes."""

    keyword: str
    pattern: re.Pattern[str]
    words: type[StrEnum]
    word_name: str
    text_name: str
    build: Callable[[str, str | None, str], Marker]
    needs_service: bool = False
    """Whether the form needs a text; a form that needs a service does not."""

    @cached_property
    def near_miss(self) -> re.Pattern[str]:
        """The pattern of text meant as a marker: the keyword in capitals, or in any case before a known word."""
        word = self.keyword
        return re.compile(rf"\[\s*(?:{word}\s*[:\]]|(?i:{word}[\s:=-]+(?:{'|'.join(self.words)})\b))")


_FORMS: Final = (
    _Form(
        keyword="MEMORY",
        pattern=MEMORY_PATTERN,
        words=MemoryCategory,
        word_name="category",
        text_name="observation",
        build=lambda word, service, text: MemoryMarker(
            category=MemoryCategory(word),
            service=None if service and service.lower() == GENERAL else service,
            observation=text,
        ),
    ),
    _Form(
        keyword="EVENT",
        pattern=EVENT_PATTERN,
        words=EventLevel,
        word_name="level",
        text_name="message",
        build=lambda word, service, text: EventMarker(level=EventLevel(word), service=service, message=text),
    ),
    _Form(
        keyword="COOLDOWN",
        pattern=COOLDOWN_PATTERN,
        words=CooldownAction,
        word_name="action",
        text_name="reason",
        needs_service=True,
        build=lambda word, service, text: CooldownMarker(
            action=CooldownAction(word), service=service or "", reason=text
        ),
    ),
)
_ANY_KEYWORD: Final = re.compile(r"\[\s*(?i:MEMORY|EVENT|COOLDOWN)[\s:=\]-]")


def parse_markers(text: str) -> list[Marker]:
    """Return the markers of one assistant text block, in order.

    Takes time linear in the length of the text.

    Args:
        text: A text block of the assistant; never a tool result, a user message or a system event.

    Source: OPS-03, OPS-05, R-OPS-2.
    """
    return [marker for line in _lines_with_keyword(text) for marker in _parse_line(clean_text(line).strip())]


def _lines_with_keyword(text: str) -> Iterator[str]:
    """Yield the lines that may contain a marker, without splitting the text into all of its lines."""
    start = 0
    while found := _ANY_KEYWORD.search(text, start):
        begin = max(start, text.rfind("\n", start, found.start()) + 1)
        end = text.find("\n", found.start())
        start = (len(text) if end < 0 else end) + 1
        yield text[begin : start - 1]


def _parse_line(line: str) -> list[Marker]:
    placed = [found for form in _FORMS for found in _find(form, line)]
    return [marker for _, marker in sorted(placed, key=lambda found: found[0])]


def _find(form: _Form, line: str) -> Iterator[tuple[int, Marker]]:
    """Yield a line's marker of one form, and at most one rejected marker, with their positions."""
    taken = form.pattern.search(line)
    at = taken.start() if taken else len(line)
    if taken:
        word, service, text = taken.groups()
        text = _without_decoration(line[:at], text)
        if len(service or "") > MAX_SERVICE_CHARS:
            yield (
                at,
                _rejected(
                    line, f"service of {len(service)} characters: expected at most {MAX_SERVICE_CHARS}"
                ),
            )
        elif form.words is MemoryCategory and text.endswith(":"):
            yield at, _rejected(line, "the observation ends with a colon; write all of it on one line")
        elif not is_blank(text) or form.needs_service:
            yield at, form.build(word, service, trim_to(text, MAX_TEXT_CHARS))
            if len(text) > MAX_TEXT_CHARS:
                yield (
                    at,
                    _rejected(line, f"{form.text_name} of {len(text)} characters cut to {MAX_TEXT_CHARS}"),
                )
        else:
            yield at, _rejected(line, f"no {form.text_name} after the marker")
    other = next((match.start() for match in form.near_miss.finditer(line) if match.start() != at), None)
    if other is None:
        return
    if other > at:
        reason = (
            f"a second {form.keyword} marker on the line became part of the first; write one marker per line"
        )
    else:
        reason = _what_is_wrong(form, line[other:])
    yield other, _rejected(line, reason)


def _without_decoration(before: str, text: str) -> str:
    """Remove markdown that opens right before the marker and closes right after it or at the end."""
    closing = before[len(before.rstrip(_DECORATION)) :][::-1]
    text = text.strip()
    undecorated = text.removeprefix(closing)
    if undecorated == text:
        undecorated = text.removesuffix(closing)
    return undecorated.strip()


def _what_is_wrong(form: _Form, text: str) -> str:
    """Return why a text that starts like a marker of this form is not valid."""
    head, bracket, _ = text[1:].partition("]")
    keyword, _, fields = head.partition(":")
    word, colon, service = fields.partition(":")
    words = tuple(form.words)
    if not bracket:
        return "the marker has no closing bracket"
    if keyword != form.keyword or (word not in words and word.strip().lower() in words):
        return f"expected [{form.keyword}:{form.word_name}:service], with the keyword in capitals and without spaces"
    if word not in words:
        shown = masked_excerpt(word, _SHOWN_WORD_CHARS)
        return f"invalid {form.word_name} {shown!r}: expected {', '.join(words)}"
    if (colon or form.needs_service) and not SERVICE_PATTERN.fullmatch(service):
        shown = masked_excerpt(service, _SHOWN_WORD_CHARS)
        return f"invalid service {shown!r}: expected letters, digits, - and _ only"
    return f"no {form.text_name} after the marker"


def _rejected(line: str, reason: str) -> RejectedMarker:
    return RejectedMarker(line=masked_excerpt(line, SHOWN_CHARS), reason=reason)
