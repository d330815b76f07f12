"""The model's own JSON object in its answer: where it stands, and what only looks like it. Pure.

An object with a known key in a complete ```` ```json ```` block counts before bare ones. Of several of one kind that
differ, none does: which of them the model quotes, before its answer or behind it, cannot be told, and a quoted attack
must never be taken for the answer. What stands inside tags of the prompt, or in lines that begin with ``>``, is quoted,
and never counts; nor does the skill's own worked example. What was meant as an answer and is damaged differs from all
others; one that is bare may stand before the answer, where models think. Source: KNW-13, R-KNW-11.

Time is linear in the length of the answer: an object is read once, and reading what turns out to be none is paid from
a budget.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from commonplace.knowledge.consolidation.prompt import EXAMPLE_IDS, QUOTED_TAGS

MAX_ANSWER_CHARS: Final = 1_000_000
"""Thirty times what models write; longer answers are not read."""

_TAGS: Final = "|".join(QUOTED_TAGS)
_MARK: Final = re.compile(
    rf"(?P<quote>^[ \t]*>.*$)|<\s{{0,8}}(?P<tag>{_TAGS})\b[^<>]{{0,200}}>|\{{(?=\s*\")",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING: Final = re.compile(rf"<\s{{0,8}}/\s{{0,8}}({_TAGS})\s{{0,8}}>", re.IGNORECASE)
_FENCE_BEFORE: Final = re.compile(r"```json\s*\Z", re.IGNORECASE)
_FENCE_BEHIND: Final = re.compile(r"\s*```")
_LOOK_BACK_CHARS: Final = 80
"""How far before an object its fence is looked for, and before a tag the beginning of its line."""

_MAX_FAILURES: Final = 500
_WORK_PER_CHAR: Final = 4
_MAX_INT_DIGITS: Final = 18
"""Longer whole numbers become floating-point ones; Python refuses to read the longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBlock:
    """A JSON object in an answer, where it begins, and whether it stands in a complete ```` ```json ```` block."""

    values: dict[str, Any]
    start: int
    fenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSearch:
    """The object that counts; without one ``fault`` says what was there instead, empty where there was nothing."""

    block: AnswerBlock | None
    fault: str = ""


def find_block(text: str, known: Collection[str]) -> BlockSearch:
    """Return the model's own object: the one with a known key, a fenced one before bare ones. Never raises."""
    if len(text) > MAX_ANSWER_CHARS:
        fault = f"the answer has {len(text)} characters, and at most {MAX_ANSWER_CHARS} are read"
        return BlockSearch(block=None, fault=fault)
    scan = _Scan(text, known)
    own: list[AnswerBlock] = []
    for block in scan.blocks():
        if any(key in block.values for key in known):
            own.append(block)
        else:
            scan.fault = f"a JSON object has none of the keys {', '.join(known)}"
    own = [block for block in own if block.fenced] or own
    if not own or scan.is_damaged(own[-1]):
        return BlockSearch(block=None, fault=scan.fault)
    if any(block.values != own[0].values for block in own):
        return BlockSearch(block=None, fault=f"{len(own)} JSON objects that differ could each be the answer")
    return BlockSearch(block=own[-1])


def read_list(text: str) -> list[Any] | None:
    """Return the list that a text holds as JSON, or ``None``: models send lists as strings."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value: object = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return cast("list[Any]", value) if isinstance(value, list) else None


class _Scan:
    """One pass over an answer: from mark to mark, over quotes and over objects."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self._text = text
        self._own = re.compile(rf'\{{\s*"(?:{"|".join(map(re.escape, known))})"')
        self._closings = {found[1].lower(): found.end() for found in _CLOSING.finditer(text)}
        self._work = _WORK_PER_CHAR * len(text)
        self._failures = 0
        self.fault = ""
        """Why what looks like an answer is not one."""
        self._damaged_at = -1
        self._fence_is_damaged = False

    def blocks(self) -> Iterator[AnswerBlock]:
        """Yield the objects outside of quotes and of each other, in their order."""
        at = 0
        while (mark := _MARK.search(self._text, at)) is not None:
            at = mark.end()
            if mark["quote"] is not None:
                continue
            if mark["tag"] is not None:
                at = self._after_quote(mark)
                continue
            if self._work < 0 or self._failures > _MAX_FAILURES:
                self.fault = "it holds too much that begins like JSON and is not"
                self._damaged_at = len(self._text)
                return
            read = self._read(mark.start())
            if read is None:
                self._note_damage(mark.start())
                continue
            values, at = read
            if EXAMPLE_IDS in self._text[mark.start() : at]:
                self.fault = "a JSON object is a copy of the example in the skill"
            else:
                fenced = self._follows_fence(mark.start()) and bool(_FENCE_BEHIND.match(self._text, at))
                yield AnswerBlock(values=values, start=mark.start(), fenced=fenced)

    def is_damaged(self, own: AnswerBlock) -> bool:
        """Tell whether something that cannot be read was as much meant as the answer as this one.

        Behind it anything that was meant so is; before it a fenced one, and a bare one where this is bare as well.
        """
        if own.fenced and not self._fence_is_damaged:
            return self._damaged_at > own.start
        return self._damaged_at >= 0

    def _after_quote(self, opening: re.Match[str]) -> int:
        """Return where a quote ends: behind its last closing tag, because an earlier one may itself be quoted.

        A tag alone on its line that is never closed quotes all that follows. Another is only spoken of.
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
            # A string without an end was looked through to the end.
            reached = len(self._text) if error.msg.startswith("Unterminated") else error.pos
            self._work -= reached - start
            self.fault = f"an object is no JSON: {error.msg} at character {error.pos}"
            return None
        except (ValueError, RecursionError) as error:
            self._failures += 1
            self._work -= len(self._text) - start
            self.fault = f"an object is no JSON: {type(error).__name__}"
            return None
        return values, end

    def _note_damage(self, start: int) -> None:
        """Note an object that cannot be read where it was meant as the answer: by its fence, or by its first key."""
        fenced = self._follows_fence(start)
        self._fence_is_damaged |= fenced
        if fenced or self._own.match(self._text, start) is not None:
            self._damaged_at = start

    def _follows_fence(self, start: int) -> bool:
        before = self._text[max(start - _LOOK_BACK_CHARS, 0) : start]
        return _FENCE_BEFORE.search(before) is not None


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


_DECODER: Final = json.JSONDecoder(parse_int=_whole_number, strict=False)
"""Takes line breaks inside strings as well, which models write."""
