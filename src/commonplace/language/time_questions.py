"""Questions that name nothing but a time, such as "what happened today?", in the languages of the calendar. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Final

from commonplace.language.calendar_words import NEAR_DAYS
from commonplace.language.importance_cues import plain
from commonplace.language.times import TimeSpan, read_span

_SINCE: Final = frozenset({"since", "seit", "desde", "depuis"})
_ASKING: Final = _SINCE | frozenset(
    """
    a about all and anything been can change changed changes did do does done everything find from get give go going
    had happen happened happening happens has have i in is it know known learn learned learnt let list made me memories
    memory my new news of on our please recall remember remembered s see show something store stored tell that the there
    they things this to up us was we went were what which work worked you
    alles am an auf bitte da das dem der die ein eine erinnerst es etwas gab gelernt gemacht geschah geschehen
    gespeichert gewesen habe haben hat ich im ist liste los mir neu neue neues passiert passierte so uns vom von war
    was wir zeig zeige
    algo aprendido aprendimos cosas de el en fue guardado guardo ha hay hice hicimos hizo la lista lo los me mostrar
    muestra novedades nuevo nuevas paso pasado que recuerda recuerdas se todo un una y
    ai appris avons c ce des du elle est et fait il j l la le les liste montre moi neuf nous nouveau on passe que qu qui
    quoi s se souvenirs sur t tout un une y
    """.split()  # noqa: SIM905 - reads as a list of words does
)
"""Words of a question that ask for nothing in particular."""

_WORD: Final = re.compile(r"\d[\d:./-]*\d|aujourd'hui|[^\W_]+")
_MOST_WORDS: Final = 12
_MOST_TIME_WORDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeQuestion:
    """A question that names only a time.

    Attributes:
        words: The words that name the time.
        span: The time.
        is_bare: Whether the question consists of these words, so that they may be words of a memory as well.
    """

    words: str
    span: TimeSpan
    is_bare: bool


def read_time_question(query: str, *, now: datetime, zone: tzinfo) -> TimeQuestion | None:
    """Return the time that a question asks about; ``None`` if the question asks for anything else.

    A weekday, a month or a year alone is no question: it is a word to search for.
    """
    words = _WORD.findall(plain(query))
    if not words or len(words) > _MOST_WORDS:
        return None
    for first, last in _windows(len(words)):
        rest = [*words[:first], *words[last:]]
        if not _ASKING.issuperset(rest):
            continue
        named = " ".join(words[first:last])
        span = read_span(named, now=now, zone=zone)
        if span is None or (not rest and not _stands_alone(words)):
            continue
        if _SINCE & {*words[:last]}:
            span = replace(span, end=max(span.end, now))
        return TimeQuestion(words=named, span=span, is_bare=not rest)
    return None


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the places of neighbouring words, the longest groups first."""
    for length in range(min(count, _MOST_TIME_WORDS), 0, -1):
        for first in range(count - length + 1):
            yield first, first + length


def _stands_alone(words: Sequence[str]) -> bool:
    """Return whether words without a question ask for a time: several words, or one such as "yesterday"."""
    days = "|".join(NEAR_DAYS.values())
    return len(words) > 1 or any(
        re.fullmatch(plain(day), words[0]) for day in days.split("|") if "[" not in day
    )
