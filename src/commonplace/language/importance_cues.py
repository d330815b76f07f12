"""Signals of a statement's worth: health, constraints, preferences, courtesies and others.

``signals.toml`` lists the words by language. A guess by words costs nothing and can be explained.
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("en", "de", "es", "fr")
VITAL: Final = frozenset({"health", "safety", "constraint"})
"""Signals of statements that must not be forgotten."""

NOISE: Final = frozenset({"momentary", "request", "past", "courtesy"})
"""Signals that lower the worth of a statement."""

_FUNCTION_WORDS: Final = {
    "en": """
        the a an and is are to of in on for i you it my we not with at this that be have has do can will from im its me
        your they she he his her was were what so if or any before never please by every after all no
    """,
    "de": """
        der die das und ist sind ich du er wir nicht mit auf fur ein eine einen dem den zu im am um wird hat bei von
        wegen nur kein keine
    """,
    "es": "el la los las y es que de en un una por para con no se su al del mi lo esta me te yo si ya ha",
    "fr": """
        le la les et est que de des du en un une pour avec ne pas je il elle nous on au aux sur ce qui a sa son mon ma
    """,
}
_FUNCTION_SETS: Final = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
FUNCTION_WORDS: Final = frozenset[str]().union(*_FUNCTION_SETS.values())
"""The most common words of all languages, which have no meaning of their own."""

_MARKS: Final = re.compile("[\u0300-\u036f]")
_WORD: Final = re.compile(r"\w+")
_COMMA: Final = re.compile(r",(?![^{]*\})")
MONTHS: Final = (
    r"jan(?:uary|uar|vier)?|enero|feb(?:ruary|ruar|rero)?|fevrier|mar(?:ch|s|zo)?|marz|apr(?:il)?|avril|abril|may|mai|mayo"
    r"|june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|aout|agosto|sept?(?:ember|embre|iembre)?"
    r"|o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[czs](?:ember|embre)?|diciembre"
)
_DAYS: Final = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|sonnabends?"
    r"|lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?"
    r"|mornings|afternoons|evenings|weekends?|weekdays?|abends|vormittags?|nachmittags?|matins?"
)
_SOON: Final = "tomorrow|tonight|morgen|ubermorgen|manana|demain"
DATE: Final = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th|\.|er|°)?(?:\s+(?:of|de))?\s+(?:{MONTHS})\b|\b(?:{MONTHS})\s+\d{{1,2}}\b"
    rf"|\b(?:{_DAYS}|{_SOON})\b|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|\b\d{{1,2}}(?:st|nd|rd|th)\b"
    r"|\d+\s*[月日]|[月火水木金土日]曜|星期|周[一二三四五六日]|曜日|明日|明天"
)
TIME: Final = re.compile(
    r"\b\d{1,2}[:.h]\d{2}\b|\b\d{1,2}(?:[:.]\d{2})?\s*(?:am|pm|a\.m|p\.m|uhr|h|o'clock|heures?)\b|\d+\s*[時点點시]|\b(?:noon|midnight|mittags?|mediodia|midi)\b"
)
_NEAR: Final = re.compile(rf"\b(?:{_SOON})\b|明日|明天")
_MONTH: Final = re.compile(
    rf"\b(?:in|until|by|from|since|of|im|ab|bis|ende|anfang|mitte|en|hasta|desde|de|fin|debut|jusqu'en|depuis|mid"
    rf"|late|early) (?:mid-?|late |early )?(?:{MONTHS})\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """The tags of the signals in a text, and the sum of their points."""

    tags: frozenset[str]
    points: float


def plain(text: str) -> str:
    """Return a text in lower case, without accents, and with ASCII apostrophes."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("œ", "oe")
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", folded)))


def plain_in_place(text: str) -> str:
    """Return :func:`plain` of a text with each character in its place, so that positions hold for the text itself."""
    return plain(text) if text.isascii() else "".join(map(_plain_sign, text))


@lru_cache(maxsize=4096)
def _plain_sign(sign: str) -> str:
    return plain(sign)[:1] or sign


def language_of(text: str) -> str | None:
    """Return the language of a text by its most common words; ``None`` if they are ambiguous."""
    words = _WORD.findall(plain(text))
    counts = {language: sum(word in known for word in words) for language, known in _FUNCTION_SETS.items()}
    best = max(counts, key=lambda language: counts[language])
    most = counts[best]
    return best if most and sum(count == most for count in counts.values()) == 1 else None


@lru_cache(maxsize=4096)
def signals_of(text: str, language: str | None = None) -> Signals:
    """Return the signals in a text.

    Args:
        text: A statement.
        language: One of :data:`LANGUAGES`; ``None`` guesses it, and searches for the words of all languages
            if the text is ambiguous.
    """
    folded = plain(text)
    known = language or language_of(text)
    languages = (known,) if known else LANGUAGES
    table = _table()
    points = {
        tag: weight
        for tag, weight, patterns in table
        if any(pattern.search(folded) for name in (*languages, "other") if (pattern := patterns.get(name)))
    }
    if not _NEAR.search(folded) and (DATE.search(folded) or TIME.search(folded)):
        points["deadline"] = 2.0
    elif _MONTH.search(folded):
        points["deadline"] = 1.0
    if points.keys() & {"health", "safety"}:
        points = {tag: weight for tag, weight in points.items() if tag == "request" or tag not in NOISE}
    if "problem" in points:
        points = {tag: weight for tag, weight in points.items() if tag not in ("commitment", "deadline")}
    return Signals(tags=frozenset(points), points=sum(points.values()))


@cache
def _table() -> tuple[tuple[str, float, dict[str, re.Pattern[str]]], ...]:
    tables = tomllib.loads(Path(__file__).with_name("importance_cues.toml").read_text(encoding="utf-8"))
    return tuple(
        (tag, table.pop("points"), {language: _pattern(words, language) for language, words in table.items()})
        for tag, table in tables.items()
    )


def _pattern(words: str, language: str) -> re.Pattern[str]:
    """Compile a list of words; words of ``other`` match with any ending, and anywhere in scripts without spaces."""
    entries = [plain(entry.strip()) for entry in _COMMA.split(words.replace("\n", " ")) if entry.strip()]
    if language != "other":
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(_entry, entries))})(?!\w)")
    latin = [re.escape(entry) for entry in entries if entry.isascii()]
    rest = [re.escape(entry) for entry in entries if not entry.isascii()]
    parts = ([rf"\b(?:{'|'.join(latin)})"] if latin else []) + rest
    return re.compile("|".join(parts))


def _entry(entry: str) -> str:
    """Return the pattern of an entry; an entry with a parenthesis is a pattern already."""
    return entry if "(" in entry else re.escape(entry).replace(r"\*", r"\w*").replace(r"\ ", r"\s+")
