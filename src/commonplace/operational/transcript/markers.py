r"""Markers: the lines by which an agent reports observations, events and actions.

    [MEMORY:category] observation            [MEMORY:category:service] observation
    [EVENT:level] message                    [EVENT:level:service] message
    [COOLDOWN:action:service] reason

MEMORY is the specification's form (OPS-03, OPS-05). EVENT is the host's older form of the same make (OPS-20).
For cooldowns the specification names none: ours is the smallest in the same convention, a line for an action.

How a text is read:

- Line by line, where only ``\n`` and ``\r\n`` end a line; U+0085 and U+2028 are part of the text.
- A marker takes the rest of its line, so there is one of each kind a line. A second one stays in the text of
  the first, as the pattern says, and is reported as well.
- A marker counts wherever it stands: in a list, in bold, in a code fence, in the middle of a sentence. Models
  like to put a report into a fence, and hiding it would lose what they learned without a word. The mere form,
  ``[MEMORY:category:service]``, names no category and teaches nothing.
- Backticks, asterisks, underscores and tildes that open right before a marker are taken off where they close.
- What looks like a marker and is not one is never dropped: it comes back as a :class:`RejectedMarker`.

The block of memories in the prompt writes ``- [timing] …``, without the keyword: an agent that repeats it to
us teaches us nothing back.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from commonplace.core.secrets import masked_excerpt
from commonplace.core.text import clean_text, trim_to

MAX_TEXT_CHARS: Final = 2_000
"""A longer observation, message or reason is cut there, and the cut reported: it would fill the prompt."""

SHOWN_CHARS: Final = 200
"""Characters of a line that a :class:`RejectedMarker` shows."""

SERVICE_PATTERN: Final = re.compile(r"[a-zA-Z0-9_-]+")
"""The name of a service, as a whole. Source: OPS-05."""

MAX_SERVICE_CHARS: Final = 100
GENERAL: Final = "general"
"""The name by which a memory of no service is known; a marker of this service is a general one."""

_SHOWN_WORD_CHARS: Final = 40
_DECORATION: Final = "*_`~"


class MemoryCategory(StrEnum):
    """The subject of a memory. Source: OPS-02."""

    TIMING = "timing"
    DEPENDENCY = "dependency"
    BEHAVIOR = "behavior"
    REMEDIATION = "remediation"
    MAINTENANCE = "maintenance"


class EventLevel(StrEnum):
    """Severity of an event, lowest first."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class CooldownAction(StrEnum):
    """The kinds of remediation that must not be repeated at once."""

    RESTART = "restart"
    REDEPLOYMENT = "redeployment"


MEMORY_PATTERN: Final = re.compile(
    r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
)
"""Groups: category, service or ``None``, observation. Searched within one line. Source: OPS-05, literally."""

EVENT_PATTERN: Final = re.compile(r"\[EVENT:(info|warning|critical)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)")
"""Groups: level, service or ``None``, message."""

COOLDOWN_PATTERN: Final = re.compile(r"\[COOLDOWN:(restart|redeployment):([a-zA-Z0-9_-]+)\]\s*(.*)")
"""Groups: action, service, reason. The reason may be empty: the action must cool down all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMarker:
    """Something learned: about one service, or in general where the service is ``None``."""

    category: MemoryCategory
    service: str | None
    observation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMarker:
    """Something that happened, to one service, or in general where the service is ``None``."""

    level: EventLevel
    service: str | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownMarker:
    """A remediation that was just carried out; the reason may be empty."""

    action: CooldownAction
    service: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMarker:
    """Text that looks like a marker and was not taken, or not whole.

    The line is shown to 200 characters, its secrets masked, since what was not taken went through no gate. The
    reason is a phrase for a log or a receipt.
    """

    line: str
    reason: str


Marker = MemoryMarker | EventMarker | CooldownMarker | RejectedMarker


@dataclass(frozen=True, kw_only=True)
class _Form:
    """One kind of marker: how it is found, what it must hold, and what it becomes."""

    keyword: str
    pattern: re.Pattern[str]
    words: type[StrEnum]
    word_name: str
    text_name: str
    build: Callable[[str, str | None, str], Marker]
    needs_service: bool = False
    """A form that needs a service can do without a text."""

    @cached_property
    def near_miss(self) -> re.Pattern[str]:
        """Finds text that was meant as a marker: the keyword in capitals, or in any case before a known word."""
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

    Time grows with the length of the text, whatever it holds.

    Args:
        text: A text block of the assistant; never a tool result, a user message or a system event.

    Source: OPS-03, OPS-05, R-OPS-2.
    """
    return [marker for line in _lines_with_keyword(text) for marker in _parse_line(clean_text(line).strip())]


def _lines_with_keyword(text: str) -> Iterator[str]:
    """Yield the lines that may hold a marker, without splitting the many that cannot."""
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
    """Yield a line's marker of one form, and at most one thing to report, with their places."""
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
        elif text or form.needs_service:
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
        reason = f"a second {form.keyword} marker on the line became part of the first: one marker a line"
    else:
        reason = _what_is_wrong(form, line[other:])
    yield other, _rejected(line, reason)


def _without_decoration(before: str, text: str) -> str:
    """Take off markdown that opens right before the marker and closes right after it or at the end."""
    closing = before[len(before.rstrip(_DECORATION)) :][::-1]
    text = text.strip()
    undecorated = text.removeprefix(closing)
    if undecorated == text:
        undecorated = text.removesuffix(closing)
    return undecorated.strip()


def _what_is_wrong(form: _Form, text: str) -> str:
    """Say why a text that starts like a marker of this form is not one."""
    head, bracket, _ = text[1:].partition("]")
    keyword, _, fields = head.partition(":")
    word, colon, service = fields.partition(":")
    words = tuple(form.words)
    if not bracket:
        return "the marker has no closing bracket"
    if keyword != form.keyword or (word not in words and word.strip().lower() in words):
        return f"not written as [{form.keyword}:{form.word_name}:service] in capitals, colons and blanks"
    if word not in words:
        shown = masked_excerpt(word, _SHOWN_WORD_CHARS)
        return f"invalid {form.word_name} {shown!r}: expected {', '.join(words)}"
    if (colon or form.needs_service) and not SERVICE_PATTERN.fullmatch(service):
        shown = masked_excerpt(service, _SHOWN_WORD_CHARS)
        return f"invalid service {shown!r}: expected letters, digits, - and _ only"
    return f"no {form.text_name} after the marker"


def _rejected(line: str, reason: str) -> RejectedMarker:
    return RejectedMarker(line=masked_excerpt(line, SHOWN_CHARS), reason=reason)
