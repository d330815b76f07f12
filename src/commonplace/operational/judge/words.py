"""Words of an observation: tokens, phrases and stems.

Source: R-OPS-5. Case, spacing and the punctuation between words never count; punctuation inside a number does
(``1.5``, ``60-90``, ``02:00``). Everything here takes time linear in the length of the text,
of which the first 20,000 characters are read.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer  # pyright: ignore[reportMissingTypeStubs]

from commonplace.operational.judge.word_forms import IRREGULAR, PHRASES

_LONGEST_STEMMED: Final = 40
"""No English word is longer; a longer run of letters is kept as it is."""

MOST_READ_CHARS: Final = 20_000
"""Longer than any prompt block that could show it; what a text holds beyond is not compared."""

_TOKEN: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"  # a date
    r"|[0-9]+(?:[.,:][0-9]+)*"  # a number, a version, a time of day, an address
    r"|(?<=[0-9a-z])\s?[-\u2013\u2014]\s?(?=[0-9])"  # before a number: a range
    r"|[<>]=?(?=\s?[0-9])|[~≈≤≥](?=\s?[0-9])|%|°"
    r"|(?<!\w)v(?=[0-9])"  # the v of "v2.4"
    r"|(?<=[0-9])[^\W0-9_]{1,3}(?=[0-9])"  # a unit within "1m30s"
    r"|[^\W0-9](?:\w|'(?=\w))*",
)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the English stem of a lower-case word (Snowball); a run of more than 40 letters stays as it is."""
    # A stemmer keeps its word in itself, so that threads cannot share one.
    base = IRREGULAR.get(word, word)
    if len(base) > _LONGEST_STEMMED:
        return base
    return str(EnglishStemmer().stemWord(base))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def tokenise(text: str) -> tuple[str, ...]:
    """Return the tokens of a text in order: lower-case words, numbers, and the few signs that qualify numbers.

    Compatibility forms are folded (NFKC), apostrophes dropped (``don't`` is ``dont``, ``night's`` is ``nights``),
    phrases joined, and a range's dash becomes ``-``. A number and the unit after it are two tokens (``60``, ``s``).
    """
    folded = (
        unicodedata.normalize("NFKC", text[:MOST_READ_CHARS])
        .casefold()
        .replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    )
    raw = [_plain(match.group()) for match in _TOKEN.finditer(folded)]
    tokens = _join_phrases(raw)
    if tokens and tokens[-1] == "on":
        # At the end, "on" is no preposition: "Query logging is on".
        tokens[-1] = "enable"
    return tuple(tokens)


def _plain(token: str) -> str:
    stripped = token.strip()
    return "-" if stripped in {"\N{EN DASH}", "\N{EM DASH}"} else stripped.replace("'", "")


@cache
def _phrases_by_first_word() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for phrase, meaning in sorted(PHRASES.items(), key=lambda item: -len(item[0].split())):
        words = tuple(phrase.split())
        table.setdefault(words[0], []).append((words, meaning))
    return table


def _join_phrases(tokens: list[str]) -> list[str]:
    table = _phrases_by_first_word()
    joined: list[str] = []
    at = 0
    while at < len(tokens):
        for words, meaning in table.get(tokens[at], ()):
            if tuple(tokens[at : at + len(words)]) == words:
                joined += meaning.split()
                at += len(words)
                break
        else:
            joined.append(tokens[at])
            at += 1
    return joined
