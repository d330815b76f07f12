"""Periods in Chinese and Japanese sentences, which have no spaces between words. Pure.

One phrase is read: from one date to another, or one end of a period, or a week, month or quarter in which something
holds. A sentence with further days, or with a word of doubt, names no period; see ADR 0025.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Final

from commonplace.knowledge.rules.period_days import DAY_READERS, Ends, days_ahead, pair_of
from commonplace.language.calendar_days import (
    add_units,
    month_of,
    one_day,
    quarter_of,
    real_date,
    stretch_around,
)
from commonplace.language.day_meanings import DaySpan, SpanKind, days_in

_WORDS: Final = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")
_LATIN: Final = re.compile(r"[A-Za-z]")
_DOUBT: Final = re.compile(
    r"[?\uff1f吗嗎「『“\"《]|か。?$|如果|若|要是|可能|也许|大概|或许|据说|听说|希望|打算|想要?|应该|予定|計画|计划|かも|だろう|でしょう|たら|なら|れば"
    r"|もし|らしい|そうです|と言|说|説|必须|提交|截止|截至|推迟|改到|延期|変更|取消|キャンセル|中止|撤回|毎|每|出生|生まれ|生日|誕生日|成立|設立"
    r"|までに|締め?切|提出|申[请請]|申し込|营业时间|営業時間|发生|発生|会议|会議|議事録|记录|涵盖|対象|报告|レポート|不关|不放假|没有关|ていません|ていない"
    r"|ではありません|じゃない|ました|でした|した。?$|了|发票|請求書|日志|ログ|请|ください|通常|普段|いつも|总是|一般|未定|あと|残って|かかる|かかり|还有|剩|受け付け|受付|二倍|翻了|不休|不在|从不|才|旬|月初|頃|ごろ|左右|前后|前後|報告"
)
"""Words of a question, a guess, a wish, hearsay, a denial, a task, a record, what returns and the past."""

_WEEKDAYS: Final = {
    char: place
    for place, chars in enumerate(("一月", "二火", "三水", "四木", "五金", "六土", "日天"))
    for char in chars
}
_DAY_NAME: Final = "".join(_WEEKDAYS)
_NUMBERS: Final = {char: place for place, char in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
_NUMBER: Final = rf"(\d{{1,2}}|[{''.join(_NUMBERS)}])"
_BESIDE: Final = rf"(?:\s?[(\uff08](?:星期|周|週)?[{_DAY_NAME}](?:曜日?)?[)\uff09]|(?:星期|周)[{_DAY_NAME}])?"
_DATE: Final = r"(?:((?:19|20)\d\d)年)?(\d{1,2})月(\d{1,2})[日号號]" + _BESIDE
_NEAR: Final = {"今天": 0, "今日": 0, "本日": 0, "明天": 1, "明日": 1, "后天": 2, "後天": 2, "明後日": 2}
_UNITS: Final = {"周": "week", "週": "week", "天": "day", "日": "day", "月": "month"}
_STATE: Final = re.compile(
    r"只|のみ|限定|休|关|閉|停|禁止|不能|不可|ません|ない|没有|无人|冻结|凍結|值班|当番|代替|代わり|代理|负责|担当|出差|出張|在宅"
)
_LENGTH: Final = re.compile(
    r"(?:\d+|[一二两三四五六七八九十]+)(?:日間|週間|[かヶカ個个]月|天|个?周|年)|\d{1,2}\s?[時时点點:]"
)
"""A length or a time in a sentence, which may belong to the date beside it."""

_Read = Callable[[re.Match[str], date], DaySpan | None]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text]


def _dated(match: re.Match[str], today: date) -> DaySpan | None:
    options = days_in(match[1], int(match[2]), int(match[3]), int(match[3]), today)
    return DaySpan(kind=SpanKind.DAY, options=options, has_year=match[1] is not None) if options else None


def _range(match: re.Match[str], today: date) -> DaySpan | None:
    options = days_in(match[1], int(match[2]), int(match[3]), int(match[4]), today)
    return DaySpan(kind=SpanKind.RANGE, options=options, has_year=match[1] is not None) if options else None


def _near(match: re.Match[str], today: date) -> DaySpan:
    day = add_units(today, "day", _NEAR[match[0]])
    return DaySpan(kind=SpanKind.NEAR, options=(one_day(day),), is_relative=True)


def _weekday(match: re.Match[str], today: date) -> DaySpan:
    monday = stretch_around(today, "week", 1)[0]
    day = add_units(monday, "day", _WEEKDAYS[match[1]])
    return DaySpan(kind=SpanKind.NEAR, options=(one_day(day),), is_relative=True)


def _months(match: re.Match[str], today: date) -> DaySpan | None:
    years = (int(match[1]),) if match[1] else (today.year - 1, today.year, today.year + 1)
    firsts = [first for year in years if (first := real_date(year, int(match[2]), 1))]
    options = tuple(month_of(first) for first in firsts)
    kind = SpanKind.STRETCH
    if match[3] in {"底", "末"}:
        kind, options = SpanKind.END, tuple(one_day(last) for _, last in options)
    return (
        DaySpan(kind=kind, options=options, unit="month", has_year=match[1] is not None) if options else None
    )


def _end(match: re.Match[str], today: date) -> DaySpan:
    last = stretch_around(today, "year" if "年" in match[0] else "month", 0)[1]
    return DaySpan(kind=SpanKind.END, options=(one_day(last),), is_relative=True)


def _relative(match: re.Match[str], today: date) -> DaySpan:
    unit = "month" if "月" in match[0] else "week"
    steps = 1 if match[0][0] in "下来" else 0
    return DaySpan(
        kind=SpanKind.STRETCH, options=(stretch_around(today, unit, steps),), is_relative=True, unit=unit
    )


def _quarter(match: re.Match[str], today: date) -> DaySpan:
    number = _number(match[2])
    years = (int(match[1]),) if match[1] else (today.year - 1, today.year, today.year + 1)
    options = tuple(quarter_of(date(year, 3 * number, 1)) for year in years)
    return DaySpan(kind=SpanKind.STRETCH, options=options, unit="quarter", has_year=match[1] is not None)


def _year(match: re.Match[str], _today: date) -> DaySpan:
    year = int(match[1])
    return DaySpan(kind=SpanKind.STRETCH, options=((date(year, 1, 1), date(year, 12, 31)),), unit="year")


def _ahead(match: re.Match[str], today: date) -> DaySpan:
    last = add_units(today, _UNITS[match[2]], _number(match[1]))
    return DaySpan(kind=SpanKind.RANGE, options=((today, last),), is_relative=True)


_SPANS: Final[tuple[tuple[re.Pattern[str], _Read], ...]] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (
            rf"{_DATE}\s?(?:から|到|至|[~\u301c\uff5e\u2013\u2014-]{{1,2}})(\d{{1,2}})[日号號]{_BESIDE}(?:まで|为止|止)?",
            _range,
        ),
        (_DATE, _dated),
        ("|".join(_NEAR), _near),
        (rf"(?:下(?:个|個)?(?:周|週|星期|礼拜)|来週の?)([{_DAY_NAME}])(?:曜日?)?", _weekday),
        (r"(?:((?:19|20)\d\d)年)?第([1-4一二三四])(?:季度|四半期)", _quarter),
        (r"(?:((?:19|20)\d\d)年)?(\d{1,2})月(底|末|份|中)?(?![\d日号號])", _months),
        (r"(?:今月|本月|这个月)?月?(?:月底|月末)|(?:今月|本月)[底末]|(?:今年)?年[底末](?!年始)", _end),
        (r"(?:下(?:个|個)?|来|本|这|今)(?:周|週|星期|个?月)", _relative),
        (r"((?:19|20)\d\d)年", _year),
        (rf"(?:接下来|未来|今後|これから)的?{_NUMBER}个?[かヶカ]?(周|週|天|日|月)(?:間|间)?", _ahead),
    )
)
_MOST_SPANS: Final = 16
_CHAR: Final = "[\ue000-\ue00f]"
_FROM_TO: Final = re.compile(
    rf"(?:[从從自在])?({_CHAR})\s?(?:から|到|至|[~\u301c\uff5e\u2013\u2014-]{{1,2}})\s?({_CHAR})(?:まで|为止|止)?(?![の的])"
)
_BEGIN: Final = re.compile(rf"(?:[从從自]\s?)?({_CHAR})(?:起(?!飞)|开始|開始|以来|以降|より|から)(?![の的])")
_END: Final = re.compile(
    rf"({_CHAR})(?:いっぱい)?まで(?![の的])|(?:直到|有效期至|[^从從自起]到|[^从從自起]至)({_CHAR})(?:为止|止)?"
)
_ONGOING: Final = re.compile(r"以来|一直|ています|ている|自.年起")
_LIMIT: Final = re.compile(r"まで|から|[从從]|[到至](?!底)|为止")
"""Words outside of a phrase with one end that may name the other one."""
_WHOLE: Final = re.compile(rf"(?:在|整个|整個)?({_CHAR})(?!之?[前后後]|以[前后後]|[の的])")


def is_east_asian(text: str) -> bool:
    """Return whether a text is Chinese or Japanese, possibly with some Latin names."""
    return bool(words := len(_WORDS.findall(text))) and 2 * words >= len(_LATIN.findall(text))


def read_days(text: str, today: date) -> tuple[str, Ends] | None:
    """Return the words and the first and last day of the period that a sentence clearly names."""
    if _DOUBT.search(text) or re.search(r"[。\uff1b;\uff01!]\s*\S", text):
        return None
    coded, spans, words_of = _coded(text, today)
    if not spans or _LENGTH.search(coded):
        return None
    for pattern, read in _PHRASES:
        match = pattern.search(coded)
        if match is not None:
            used = [spans[char] for char in match[0] if char in spans]
            ends = read(used, coded, today) if len(used) == len(spans) else None
            if ends and None in ends and _LIMIT.search(coded[: match.start()] + coded[match.end() :]):
                return None
            words = "".join(words_of.get(char, char) for char in match[0])
            return None if ends is None or ends == (None, None) else (words, ends)
    return None


def _coded(text: str, today: date) -> tuple[str, dict[str, DaySpan], dict[str, str]]:
    """Return a text with one character for each date, the dates, and the words of each."""
    spans, words_of = dict[str, DaySpan](), dict[str, str]()
    for pattern, read in _SPANS:
        while len(spans) < _MOST_SPANS and (match := pattern.search(text)):
            span = read(match, today)
            char = chr(0xE000 + len(spans))
            words_of[char] = match[0]
            spans[char] = span or DaySpan(kind=SpanKind.VAGUE)
            text = f"{text[: match.start()]}{char}{text[match.end() :]}"
    return text, spans, words_of


def _both(used: list[DaySpan], _coded_text: str, today: date) -> Ends | None:
    first, last = used
    if "year" in {first.unit, last.unit}:
        return None
    return pair_of(first, last, today, is_past=False) if first.options and last.options else None


def _begins(used: list[DaySpan], coded: str, today: date) -> Ends | None:
    span = used[0]
    reading = "since" if _ONGOING.search(coded) else "from"
    return (DAY_READERS[reading](span, today), None) if span.options else None


def _ends(used: list[DaySpan], _coded_text: str, today: date) -> Ends | None:
    span = used[0]
    return (None, DAY_READERS["until"](span, today)) if span.options else None


def _whole(used: list[DaySpan], coded: str, today: date) -> Ends | None:
    span = used[0]
    if span.kind is SpanKind.RANGE:
        firsts, lasts = (tuple(one_day(days[end]) for days in span.options) for end in (0, 1))
        return pair_of(replace(span, options=firsts), replace(span, options=lasts), today, is_past=False)
    if not span.options or span.kind is SpanKind.END or span.unit == "year" or _STATE.search(coded) is None:
        return None
    return days_ahead(span, today)


_PHRASES: Final = ((_FROM_TO, _both), (_BEGIN, _begins), (_END, _ends), (_WHOLE, _whole))
