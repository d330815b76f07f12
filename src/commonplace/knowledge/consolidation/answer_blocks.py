"""Search for the model's own JSON object in its answer. Pure.

An object with a known key in a complete ```` ```json ```` block has priority over bare objects. If several objects of
one kind differ, no object counts, because a quotation cannot be distinguished from the answer, and a quoted attack must
never become the answer. Text inside the prompt's tags and lines that begin with ``>`` are quotations and never count;
neither do drafts inside the tags of reasoning models or the worked example of the skill. A damaged object counts as
different from all others; a bare damaged object may precede the answer, because models think there.

Comments and commas before a closing bracket are accepted, because the meaning stays clear. An object inside one
wrapping object counts if no other object counts. ``{}`` in a fence, or alone on the last line, is an empty answer.
Source: KNW-13, CNS-04, R-KNW-11.

Time is linear in the length of the answer: each object is read once, and failed reads use up a budget.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from commonplace.knowledge.consolidation.prompt import QUOTED_TAGS, examples

MAX_ANSWER_CHARS: Final = 1_000_000
"""Thirty times the length of typical answers; longer answers are not read."""

DRAFT_TAGS: Final = ("think", "thinking", "reasoning", "scratchpad", "draft")
"""Tags for models' reasoning; a draft inside them is not the answer."""

_TAGS: Final = "|".join((*QUOTED_TAGS, *DRAFT_TAGS))
_MARK: Final = re.compile(
    rf"(?P<quote>^[ \t]*>.*$)|<\s{{0,8}}(?P<tag>{_TAGS})\b[^<>]{{0,200}}>|\{{(?=\s*[\"}}/])",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING: Final = re.compile(rf"<\s{{0,8}}/\s{{0,8}}({_TAGS})\s{{0,8}}>", re.IGNORECASE)
_FENCE_BEFORE: Final = re.compile(r"```json[c5]?\s*\Z", re.IGNORECASE)
_FENCE_BEHIND: Final = re.compile(r"\s*```")
_EMPTY_AT_END: Final = re.compile(r"(?:^|>)[ \t]*(?P<object>\{\s*\})\Z", re.MULTILINE)
_STRING: Final = r'"(?:[^"\\]|\\.)*+"?'
_COMMENT: Final = re.compile(rf"{_STRING}|(?P<skip>//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|(?<=[\"\]}}\w])(?P<skip>,)(?=\s*+[}}\]])", re.DOTALL)
_LOOK_BACK_CHARS: Final = 80
"""Number of characters before an object to search for its fence, or before a tag to search for its line start."""

_MAX_FAILURES: Final = 500
_WORK_PER_CHAR: Final = 4
_MAX_INT_DIGITS: Final = 18
"""Longer integers become floats, because Python refuses to read very long ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBlock:
    """A JSON object in an answer.

    Attributes:
        values: The object.
        start: Its first character.
        fenced: Whether it is in a complete ```` ```json ```` block.
        mended: Whether comments or trailing commas were removed to read it.
    """

    values: dict[str, Any]
    start: int
    fenced: bool
    mended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSearch:
    """The object that counts, or else a ``fault`` that says why no object counts; both empty if nothing was found.

    ``is_ambiguous`` means that there are several objects, each of which could be the answer.
    """

    block: AnswerBlock | None
    fault: str = ""
    is_ambiguous: bool = False


def find_block(text: str, known: Collection[str]) -> BlockSearch:
    """Return the model's own object: an object with a known key, a fenced one first. Never raises."""
    if len(text) > MAX_ANSWER_CHARS:
        fault = f"the answer has {len(text)} characters, and at most {MAX_ANSWER_CHARS} are read"
        return BlockSearch(block=None, fault=fault)
    scan = _Scan(text, known)
    own: list[AnswerBlock] = []
    wrapped: list[AnswerBlock] = []
    empty: list[AnswerBlock] = []
    last = _EMPTY_AT_END.search(text.rstrip().removesuffix("```").rstrip())
    for block in scan.blocks():
        if _has_known_key(block.values, known):
            own.append(block)
        elif (inner := _unwrapped(block.values, known)) is not None:
            wrapped.append(replace(block, values=inner))
        elif not block.values and (
            block.fenced or (last is not None and block.start == last.start("object"))
        ):
            empty.append(block)
        else:
            scan.fault = f"a JSON object has no known key: {', '.join(known)}"
    own = own or wrapped or empty
    fenced = [block for block in own if block.fenced]
    if fenced and own[-1].fenced and not any(block.mended for block in own):
        # After fenced objects, a bare object may be the answer to a quotation; a mended object has no priority.
        own = fenced
    if not own or scan.is_damaged(own[-1]):
        return BlockSearch(block=None, fault=scan.fault)
    if any(block.values != own[0].values for block in own):
        fault = f"{len(own)} JSON objects that differ could each be the answer"
        return BlockSearch(block=None, fault=fault, is_ambiguous=True)
    return BlockSearch(block=own[-1])


def _has_known_key(values: dict[str, Any], known: Collection[str]) -> bool:
    return any(key in values for key in known)


def _unwrapped(values: dict[str, Any], known: Collection[str]) -> dict[str, Any] | None:
    """Return the object with a known key inside a wrapping object, if there is exactly one."""
    inner = [cast("dict[str, Any]", each) for each in values.values() if isinstance(each, dict)]
    inner = [each for each in inner if _has_known_key(each, known)]
    return inner[0] if len(inner) == 1 else None


def read_list(text: str) -> list[Any] | None:
    """Return the list in a JSON text, or ``None``; models send lists as strings."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value: object = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("list[Any]", value) if isinstance(value, list) else None


class _Scan:
    """A single pass over an answer that skips quotations and yields objects."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self._text = text
        self._own = re.compile(rf'\{{\s*"(?:{"|".join(map(re.escape, known))})"')
        self._closings = {found[1].lower(): found.end() for found in _CLOSING.finditer(text)}
        self._work = _WORK_PER_CHAR * len(text)
        self._failures = 0
        self.fault = ""
        """The reason why a candidate is not an answer."""
        self._damaged_at = -1
        self._fence_is_damaged = False

    def blocks(self) -> Iterator[AnswerBlock]:
        """Yield the objects outside of quotations and of other objects, in order."""
        at = 0
        while (mark := _MARK.search(self._text, at)) is not None:
            at = mark.end()
            if mark["quote"] is not None:
                continue
            if mark["tag"] is not None:
                at = self._after_quote(mark)
                continue
            if self._work < 0 or self._failures > _MAX_FAILURES:
                self.fault = "it has too much text that looks like JSON but is not"
                self._damaged_at = len(self._text)
                return
            read = self._read(mark.start())
            mended = read is None
            read = read or self._read_leniently(mark.start())
            if read is None:
                self._note_damage(mark.start())
                continue
            values, at = read
            if values in examples():
                self.fault = "a JSON object is a copy of the example in the skill"
            else:
                fenced = self._follows_fence(mark.start()) and bool(_FENCE_BEHIND.match(self._text, at))
                yield AnswerBlock(values=values, start=mark.start(), fenced=fenced, mended=mended)

    def is_damaged(self, own: AnswerBlock) -> bool:
        """Return whether a damaged object competes with this one as the answer.

            Every damaged object after this object competes. Before it, a fenced damaged object competes, and a bare one
            only if
        this object is bare.
        """
        if own.fenced and not self._fence_is_damaged:
            return self._damaged_at > own.start
        return self._damaged_at >= 0

    def _after_quote(self, opening: re.Match[str]) -> int:
        """Return the end of a quotation, after its last closing tag, because an earlier one may itself be quoted.

        An unclosed tag alone on its line quotes the rest of the answer. Any other unclosed tag is ignored.
        """
        end = self._closings.get(opening["tag"].lower(), 0)
        if end > opening.end():
            return end
        before = self._text[max(opening.start() - _LOOK_BACK_CHARS, 0) : opening.start()]
        behind = self._text[opening.end() : opening.end() + 1]
        alone = behind in "\r\n" and not before.rpartition("\n")[2].strip()
        return len(self._text) if alone else opening.end()

    def _read(self, start: int) -> tuple[dict[str, Any], int] | None:
        try:
            values, end = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            self._failures += 1
            # An unterminated string was read to the end.
            reached = len(self._text) if error.msg.startswith("Unterminated") else error.pos
            self._work -= reached - start
            self.fault = f"an object is not JSON: {error.msg} at character {error.pos}"
            return None
        except (ValueError, RecursionError) as error:
            self._failures += 1
            self._work -= len(self._text) - start
            self.fault = f"an object is not JSON: {type(error).__name__}"
            return None
        return values, end

    def _read_leniently(self, start: int) -> tuple[dict[str, Any], int] | None:
        """Read an object that was meant as the answer, without comments and trailing commas."""
        if not self._is_meant(start):
            return None
        given = self._text[start:]
        self._work -= 2 * len(given)
        plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, given))
        if plain == given:
            return None
        try:
            values, end = _DECODER.raw_decode(plain)
        except (ValueError, RecursionError):
            return None
        return values, start + end

    def _note_damage(self, start: int) -> None:
        """Record a damaged object that was meant as the answer."""
        self._fence_is_damaged |= self._follows_fence(start)
        if self._is_meant(start):
            self._damaged_at = start

    def _is_meant(self, start: int) -> bool:
        """Return whether the fence or the first key of an object shows that it was meant as the answer."""
        return self._follows_fence(start) or self._own.match(self._text, start) is not None

    def _follows_fence(self, start: int) -> bool:
        before = self._text[max(start - _LOOK_BACK_CHARS, 0) : start]
        return _FENCE_BEFORE.search(before) is not None


def _blank(found: re.Match[str]) -> str:
    """Return spaces in place of skipped text, so that positions do not change."""
    return found[0] if found["skip"] is None else " " * len(found[0])


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


_DECODER: Final = json.JSONDecoder(parse_int=_whole_number, strict=False)
"""Accepts line breaks inside strings, which models write."""
