"""A sentence in which each span of days is one character, so that patterns can look at the words around it. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from commonplace.knowledge.rules import period_phrases as phrases
from commonplace.language.cues import Cues, tokens_of
from commonplace.language.day_meanings import DaySpan, SpanKind
from commonplace.language.day_spans import find_day_spans
from commonplace.language.quotations import without_quotations


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedSentence:
    """A sentence whose days are single characters.

    Attributes:
        text: The sentence as it was said.
        coded: The sentence with one character for each span.
        tokens: The words of the sentence without its days.
        spans: The spans by their characters.
        kinds: The kinds of the spans.
        today: The day on which it was said.
    """

    text: str
    coded: str
    tokens: tuple[str, ...]
    spans: dict[str, DaySpan]
    kinds: frozenset[SpanKind]
    today: date

    def has(self, words: Cues | re.Pattern[str]) -> bool:
        """Return whether the sentence contains certain words."""
        return (
            words.occur_in(self.tokens) if isinstance(words, Cues) else words.search(self.coded) is not None
        )

    def words(self, match: re.Match[str]) -> str:
        """Return a phrase as it was said."""
        return "".join(self._said(char) for char in match[0]).strip(" ,.;")

    def _said(self, char: str) -> str:
        span = self.spans.get(char)
        return char if span is None else self.text[span.start : span.end]


def coded_sentence(text: str, today: date) -> CodedSentence:
    """Return a sentence whose days are characters of a private block, a block for each kind of span."""
    coded, spans, end = "", dict[str, DaySpan](), 0
    named = _with_brackets(find_day_spans(without_quotations(text), today), text)
    for place, span in enumerate(named[: phrases.MOST_SPANS]):
        char = phrases.character(span.kind, place)
        spans[char] = span
        coded += f"{text[end : span.start]}{char}"
        end = span.end
    coded += text[end:]
    kinds = frozenset(span.kind for span in spans.values())
    return CodedSentence(
        text=text, coded=coded, tokens=tokens_of(coded), spans=spans, kinds=kinds, today=today
    )


def _with_brackets(spans: Sequence[DaySpan], text: str) -> list[DaySpan]:
    """Return spans in which a date beside the day that it dates counts for it: "New Year's Eve (31 December 2026)"."""
    joined: list[DaySpan] = []
    for span in spans:
        named = joined.pop() if joined else None
        between = "" if named is None else text[named.end : span.start]
        is_bracketed = phrases.BRACKET.fullmatch(between) and text[span.end : span.end + 1] == ")"
        is_dated = named is not None and span.kind in {SpanKind.DAY, SpanKind.RANGE} and _overlap(named, span)
        if named is None or not (is_bracketed or (is_dated and between == ", ")) or not named.options:
            joined += [span] if named is None else [named, span]
            continue
        kind = span.kind if is_dated else SpanKind.VAGUE
        joined.append(replace(span, kind=kind, start=named.start, end=span.end + bool(is_bracketed)))
    return joined


def _overlap(one: DaySpan, other: DaySpan) -> bool:
    """Return whether two spans may share a day."""
    return any(a <= d and c <= b for a, b in one.options for c, d in other.options)
