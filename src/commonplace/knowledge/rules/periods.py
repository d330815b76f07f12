"""Periods in sentences, such as "since May" or "until Friday", in seven languages. Pure.

A wrong period hides a memory; a missing period does not. So a period is read only if the sentence clearly names it: not
from a question, a condition or a wish, not from two sentences, and not from a phrase that belongs to a noun ("the
changes since May"). A period that is over is read too, but the sentence is still true: the caller decides whether it is
history.

:mod:`~commonplace.language.day_spans` finds the days. Here each of them becomes one character, and a table of phrases
(:mod:`~commonplace.knowledge.rules.period_phrases`) says what the words around these characters make of them.
Source: ADR 0025, which has the figures.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from commonplace.knowledge.rules import period_cues as cues
from commonplace.knowledge.rules import period_phrases as phrases
from commonplace.knowledge.rules.coded_sentences import CodedSentence, coded_sentence
from commonplace.knowledge.rules.east_asian_periods import is_east_asian, read_days
from commonplace.knowledge.rules.period_days import (
    DAY_READERS,
    Ends,
    are_neighbours,
    coming_day,
    days_ahead,
    may_be_this_week,
    pair_of,
)
from commonplace.language.cues import tokens_of
from commonplace.language.day_meanings import DaySpan, SpanKind
from commonplace.language.day_spans import names_days

_MOST_WORDS: Final = 20
"""The length of a sentence above which a phrase counts only at the beginning, because it may belong to any part."""

_MOST_CHARS: Final = 500

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The period in which a fact is true.

    Attributes:
        words: The words that name the period.
        valid_from: Its beginning (aware UTC), if the words name a beginning.
        valid_to: The moment after its end (aware UTC), if the words name an end.
        remark: What is wrong with the words, if something is: a weekday beside a date of another weekday.
    """

    words: str
    valid_from: datetime | None
    valid_to: datetime | None
    remark: str | None = None

    def is_over(self, now: datetime) -> bool:
        """Return whether the period has ended."""
        return self.valid_to is not None and self.valid_to <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """A phrase that names a period, or one end of it; ``days`` is ``None`` if the phrase is unclear."""

    match: re.Match[str]
    days: Ends | None


def read_period(text: str, now: datetime) -> Period | None:
    """Return the period that a sentence clearly names, possibly one that is over, or ``None``.

    Args:
        text: One sentence.
        now: When it was said (aware), in the time zone of the person who said it: that zone decides which day is today.
    """
    if len(text) > _MOST_CHARS or phrases.CHARACTERS.search(text):
        return None
    if is_east_asian(text):
        return _east_asian(text, now)
    if not names_days(text):
        return None
    sentence = coded_sentence(" ".join(text.split()), now.date())
    findings = _findings(sentence) if sentence.spans and "?" not in text else []
    if (
        not findings
        or any(sentence.has(each) for each in cues.DOUBTS)
        or any(each.days is None or _is_name(sentence, each.match) for each in findings)
        or _returns_each_year(sentence, findings)
        or _has_other_days(sentence, findings)
    ):
        return None
    begins = [each.days[0] for each in findings if each.days and each.days[0]]
    ends = [each.days[1] for each in findings if each.days and each.days[1]]
    if not begins and sentence.has(cues.NOW):
        begins = [sentence.today]
    if len(begins) > 1 or len(ends) > 1 or (begins and ends and ends[0] < begins[0]):
        return None
    return _period(sentence, findings, (begins or [None])[0], (ends or [None])[0], now)


def _east_asian(text: str, now: datetime) -> Period | None:
    days = read_days(text, now.date())
    if days is None:
        return None
    words, (first, last) = days
    begins = None if first is None else _beginning(first, now)
    return Period(words=words, valid_from=begins, valid_to=None if last is None else _ending(last, now))


def _is_name(sentence: CodedSentence, match: re.Match[str]) -> bool:
    """Return whether a phrase begins with a capital within a sentence, as in "the bar Until Friday"."""
    before = sentence.coded[: match.start()].rstrip()
    return match[0][0].isupper() and before[-1:].isalnum()


def _returns_each_year(sentence: CodedSentence, findings: Sequence[_Finding]) -> bool:
    """Return whether a sentence is about days of every year."""
    names_year = any(
        sentence.spans[char].has_year for each in findings for char in each.match[0] if char in sentence.spans
    )
    is_yearly = any(span.kind is SpanKind.RHYTHM and span.unit == "year" for span in sentence.spans.values())
    is_habit = sentence.has(cues.RETURNING) or (
        sentence.has(cues.ALWAYS) and any(each.days and each.days[1] for each in findings)
    )
    return is_yearly or (not names_year and is_habit)


def _period(
    sentence: CodedSentence,
    findings: Sequence[_Finding],
    first: date | None,
    last: date | None,
    now: datetime,
) -> Period | None:
    """Return the period between two days, inclusive; ``None`` if it does not belong to the sentence."""
    rest = sentence.coded
    for each in findings:
        rest = rest.replace(each.match[0], "")
    if phrases.NEXT_SENTENCE.search(rest) or _says_more(rest, first, last):
        return None
    ordered = sorted(findings, key=lambda each: each.match.start())
    remarks = [
        span.remark
        for each in ordered
        for char in each.match[0]
        if (span := sentence.spans.get(char)) and span.remark
    ]
    return Period(
        words=" ".join(sentence.words(each.match) for each in ordered),
        valid_from=None if first is None else _beginning(first, now),
        valid_to=None if last is None else _ending(last, now),
        remark="; ".join(remarks) or None,
    )


def _says_more(rest: str, first: date | None, last: date | None) -> bool:
    """Return whether the words outside of the phrases may name another end, or take a day out of the period."""
    return (
        phrases.UNREAD_DATE.search(rest) is not None
        or phrases.EXCLUDES.search(rest) is not None
        or phrases.FROM_THEN.search(rest) is not None
        or (last is None and phrases.OTHER_END.search(rest) is not None)
        or (first is None and phrases.OTHER_BEGINNING.search(rest) is not None)
    )


def _beginning(day: date, now: datetime) -> datetime:
    """Return the beginning of a day in UTC, as for all days of facts; today has begun."""
    begins = datetime.combine(day, time(), UTC)
    return min(begins, now.astimezone(UTC)) if day <= now.date() else begins


def _ending(day: date, now: datetime) -> datetime:
    """Return the moment after a day in UTC, or in the zone of ``now`` if the day ends later there."""
    after = datetime.combine(day + _DAY, time())
    return max(after.replace(tzinfo=UTC), after.replace(tzinfo=now.tzinfo).astimezone(UTC))


def _findings(sentence: CodedSentence) -> list[_Finding]:
    """Return the phrases that name a period: one that names both ends, or one for each end, or only days."""
    for read in (_both_ends, _single_ends, _whole_days):
        findings = list(read(sentence))
        if findings:
            return findings
    return []


def _both_ends(sentence: CodedSentence) -> Iterator[_Finding]:
    """Return the first phrase that names both ends of a period."""
    for needs, pattern, read in _BOTH:
        if sentence.has(needs) and (match := pattern.search(sentence.coded)):
            yield _Finding(match=match, days=read(sentence, match))
            return
    is_absence = (
        SpanKind.LENGTH in sentence.kinds and sentence.has(cues.ABSENCE) and not sentence.has(cues.PAST)
    )
    pattern = phrases.FOR_LENGTH if is_absence else phrases.AHEAD
    if is_absence or SpanKind.AHEAD in sentence.kinds:
        for match in pattern.finditer(sentence.coded):
            length = sentence.spans[match["length"]]
            days = (sentence.today, length.after(sentence.today))
            yield _Finding(match=match, days=_if_clear(sentence, match, days))


def _if_clear(sentence: CodedSentence, match: re.Match[str], days: Ends | None) -> Ends | None:
    """Return days, unless the phrase belongs to a noun or to one part of a long sentence."""
    before, after = sentence.coded[: match.start()], sentence.coded[match.end() :]
    belongs = _is_of_collection(before) or phrases.BELONGS.match(after) or phrases.EXCEPT.search(before)
    is_lost = before.strip() and len(sentence.coded.split()) > _MOST_WORDS
    is_inserted = phrases.INSERTED.search(before) and phrases.INSERTED_END.match(after)
    return None if belongs or is_lost or is_inserted or sentence.has(cues.CONTENT) else days


def _is_of_collection(before: str) -> bool:
    """Return whether the words before a phrase end with a noun such as "changes", but not "no changes"."""
    *others, noun = tokens_of(before) or ("",)
    return noun in cues.COLLECTION.words and others[-1:] not in (["no"], ["keine"])


def _from_to(sentence: CodedSentence, match: re.Match[str]) -> Ends | None:
    first, last = (sentence.spans[match[name]] for name in ("first", "last"))
    is_number = phrases.BARE_NUMBER.fullmatch(sentence.text[first.start : first.end]) is not None
    if is_number and not match["opening"] and phrases.LIMITING.search(match[0]):
        return None
    if first.kind is last.kind is SpanKind.WEEKDAY:
        if (
            not sentence.has(cues.ABSENT)
            or sentence.has(cues.OPEN)
            or may_be_this_week(first, last, sentence.today)
        ):
            return None
    elif not _are_clear_stretches(sentence, match, first, last):
        return None
    if match["joint"] and not match["between"] and not are_neighbours(first, last):
        return None
    return _pair(sentence, match, first, last)


def _are_clear_stretches(
    sentence: CodedSentence, match: re.Match[str], first: DaySpan, last: DaySpan
) -> bool:
    """Return whether neither end is a number that may be no year, nor a month of every year."""
    units = {span.unit for span in (first, last) if span.kind is SpanKind.STRETCH}
    if match["joint"] and "month" in units and not phrases.IN_MONTHS.search(sentence.coded[: match.start()]):
        return False
    if "year" in units:
        is_closed = phrases.CLOSED.match(sentence.coded[match.end() :])
        return is_closed is not None and sentence.has(cues.LASTED)
    is_joint = match["joint"] and sentence.has(cues.HINDRANCE)
    return "month" not in units or last.has_year or is_joint or sentence.has(cues.ABSENT)


def _range(sentence: CodedSentence, match: re.Match[str]) -> Ends | None:
    """Return the days of words such as "9-20 December"."""
    span = sentence.spans[match["range"]]
    if span.unit == "joint" and not match["between"]:
        return None
    first, last = (replace(span, options=tuple((days[end],) * 2 for days in span.options)) for end in (0, 1))
    return _pair(sentence, match, first, last)


def _pair(sentence: CodedSentence, match: re.Match[str], first: DaySpan, last: DaySpan) -> Ends | None:
    """Return the days of a state from one to another; an event of these days or between them stays true."""
    if match.groupdict().get("between") and sentence.has(cues.EVENT) and not sentence.has(cues.HINDRANCE):
        return None
    is_past = sentence.has(cues.PAST)
    days = pair_of(first, last, sentence.today, is_past=is_past)
    is_over = days is not None and days[1] is not None and days[1] < sentence.today
    if (is_past or is_over) and not sentence.has(
        cues.LASTED if first.has_year or last.has_year else cues.LIVED
    ):
        return None
    return _if_clear(sentence, match, days)


def _length_from(sentence: CodedSentence, match: re.Match[str]) -> Ends | None:
    """Return the days of a length that begins on a day: "for a week starting Monday"."""
    begins = coming_day(sentence.spans[match["date"]], sentence.today)
    if begins is None:
        return None
    length = sentence.spans[match["length"]]
    return _if_clear(sentence, match, (begins, length.after(begins) - _DAY))


_BOTH: Final[
    tuple[tuple[re.Pattern[str], re.Pattern[str], Callable[[CodedSentence, re.Match[str]], Ends | None]], ...]
] = (
    (phrases.TO, phrases.FROM_TO, _from_to),
    (phrases.A_RANGE, phrases.RANGE, _range),
    (phrases.A_LENGTH, phrases.LENGTH_FROM, _length_from),
    (phrases.A_LENGTH, phrases.FROM_LENGTH, _length_from),
)
"""Phrases that name both ends: what they need, which is quick to find, the phrase, and its reading."""


def _single_ends(sentence: CodedSentence) -> Iterator[_Finding]:
    for phrase in phrases.BEGINS:
        for match in _matches(sentence, phrase):
            if _begins(sentence, match):
                yield _Finding(match=match, days=_end_of_phrase(sentence, match, phrase))
    if not sentence.has(cues.DEADLINE):
        for phrase in phrases.ENDS:
            for match in _matches(sentence, phrase):
                yield _Finding(match=match, days=_end_of_phrase(sentence, match, phrase))


def _matches(sentence: CodedSentence, phrase: phrases.Phrase) -> Iterator[re.Match[str]]:
    if not phrase.cues.isdisjoint(sentence.tokens):
        yield from phrase.pattern.finditer(sentence.coded)


def _begins(sentence: CodedSentence, match: re.Match[str]) -> bool:
    """Return whether "from" within a sentence means a beginning, not an origin."""
    if not match.groupdict().get("on") or match["onwards"]:
        return True
    span = sentence.spans[match["date"]]
    if match["on"].lower() != "from" or not span.options:
        return False
    if span.is_relative:
        return span.options[0][0] >= sentence.today and span.kind in {SpanKind.NEAR, SpanKind.STRETCH}
    day = coming_day(span, sentence.today)
    return (
        day is not None
        and day > sentence.today
        and phrases.CLOSED.match(sentence.coded[match.end() :]) is not None
    )


def _end_of_phrase(sentence: CodedSentence, match: re.Match[str], phrase: phrases.Phrase) -> Ends | None:
    """Return the day with which a period begins or ends."""
    span = sentence.spans[match["date"]]
    if not _stands_alone(sentence, match, span) or (not phrase.begins and _is_denied(sentence, match)):
        return None
    day = DAY_READERS[phrase.reading](span, sentence.today)
    if day is None or (not phrase.begins and day >= sentence.today and sentence.has(cues.PAST)):
        return None
    days = (day + phrase.shift * _DAY, None) if phrase.begins else (None, day + phrase.shift * _DAY)
    return _if_clear(sentence, match, days)


def _is_denied(sentence: CodedSentence, match: re.Match[str]) -> bool:
    """Return whether something does not happen until a day: "does not open until Friday"."""
    return cues.DENIED.search(sentence.coded[: match.start()]) is not None


def _stands_alone(sentence: CodedSentence, match: re.Match[str], span: DaySpan) -> bool:
    """Return whether a phrase ends with its date, so that the following words do not belong to it."""
    rest = sentence.coded[match.end() :]
    if match.groupdict().get("onwards"):
        return True
    if span.kind in {SpanKind.DAY, SpanKind.END, SpanKind.RANGE} or phrases.CLOSED.match(rest):
        return True
    before = sentence.coded[: match.start()]
    if before and not (phrases.CLOSED_BEFORE.search(before) or phrases.PRELUDE.match(before)):
        return phrases.CONTINUED.match(rest) is not None
    if phrases.VERB_FIRST.match(match[0]):
        return rest[:1] == " " and rest[1:2].islower()
    return phrases.SUBJECT.match(rest) is not None


def _whole_days(sentence: CodedSentence) -> Iterator[_Finding]:
    """Return days on which something holds: "next week", "during the fair (9-20 December)"."""
    is_event = sentence.has(cues.EVENT) and not sentence.has(cues.NO_EVENT)
    if is_event or any(sentence.has(each) for each in (cues.PAST, cues.DEADLINE, cues.CLOCK)):
        return
    for match in phrases.DURING.finditer(sentence.coded):
        span = sentence.spans[match["date"]]
        if _is_state(sentence, match, span):
            yield _Finding(match=match, days=_if_clear(sentence, match, days_ahead(span, sentence.today)))


def _is_state(sentence: CodedSentence, match: re.Match[str], span: DaySpan) -> bool:
    """Return whether a sentence clearly says that something holds on some days, and does not return each year."""
    before, after = sentence.coded[: match.start()], sentence.coded[match.end() :]
    if phrases.ATTACHED.search(before) or phrases.GOVERNED.search(before) or phrases.BELONGS.match(after):
        return False
    if span.kind is SpanKind.WEEKDAY or _is_of_noun(before, after, span):
        return False
    if span.kind is SpanKind.STRETCH and not span.is_relative and not match["in"]:
        return span.unit == "week" and sentence.has(cues.HINDRANCE) and _is_alone(before, after)
    if sentence.has(cues.ALWAYS):
        return False
    if (
        (span.is_relative and span.kind is SpanKind.STRETCH)
        or match["strong"]
        or span.unit in {"week", "quarter", "half"}
    ):
        return True
    return sentence.has(cues.HINDRANCE) or (span.kind is SpanKind.STRETCH and sentence.has(cues.STATE))


def _is_of_noun(before: str, after: str, span: DaySpan) -> bool:
    """Return whether days say which budget, contract and so on is meant."""
    of_subject = before.strip() and phrases.OF_SUBJECT.match(after)
    of_noun = span.kind is SpanKind.DAY and after[1:2].islower() and phrases.NAMING_DAY.search(before)
    return bool(of_subject or of_noun)


def _is_alone(before: str, after: str) -> bool:
    """Return whether a week without "in" stands as a time: "KW 50 kein Deployment", "closed the week of 9 March"."""
    is_end = phrases.CLOSED.match(after) or phrases.ALONE_AFTER.match(after)
    return is_end is not None and phrases.ALONE_BEFORE.search(before) is not None


def _has_other_days(sentence: CodedSentence, findings: Sequence[_Finding]) -> bool:
    """Return whether a sentence names days beside those of its phrases, so that it may say more than they do."""
    used = {char for each in findings for char in each.match[0]}
    begins = any(each.days and each.days[0] for each in findings)
    for char, span in sentence.spans.items():
        if char in used or span.kind is SpanKind.RHYTHM:
            continue
        if span.kind is SpanKind.LENGTH:
            if begins:
                continue
            return True
        before = sentence.coded[: sentence.coded.index(char)]
        if phrases.BACK.search(before) and _is_after_end(span, findings):
            continue
        if span.kind is SpanKind.VAGUE or (span.is_relative and span.kind is SpanKind.STRETCH):
            return True
        is_bare = span.kind is SpanKind.STRETCH and not span.is_relative and span.unit in {"month", "year"}
        is_limit = phrases.GOVERNED.search(before) or phrases.LIMITED.search(before)
        if is_limit or not (is_bare or phrases.ATTACHED.search(before)):
            return True
    return False


def _is_after_end(span: DaySpan, findings: Sequence[_Finding]) -> bool:
    """Return whether a day may be after the end of the period."""
    ends = [each.days[1] for each in findings if each.days and each.days[1]]
    return bool(ends and span.options) and span.options[-1][0] > max(ends)
