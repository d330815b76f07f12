"""Sentences and clauses of a text; sentencex knows the abbreviations of some 300 languages."""
# ruff: noqa: RUF001 - punctuation and letters of many scripts

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

import sentencex  # pyright: ignore[reportMissingTypeStubs] - it ships none

from commonplace.core.text import collapse_whitespace
from commonplace.language.importance_cues import language_of

_segment = cast("Callable[[str, str], Sequence[str]]", vars(sentencex)["segment"])

LONG_CLAUSE: Final = 60
"""The length in characters above which a clause is cut at conjunctions and before subjects."""

LEAST_WORDS: Final = 3
"""The least number of words on each side of a cut."""

_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:approx|appt|ca|ext|env|min|max|no|nr|tel|hrs?|mins?|dept|est|incl|excl|vs|bzw|inkl|evtl|usw|etc"
    r"|M|MM|Mme|Mlle|Dra?|Sra?s?|Prof|St|Fr|Hr|p\.\s?m|a\.\s?m|e\.\s?g|i\.\s?e)\.$",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(r"(?:^|[\s(])(?:M|MM|Mme|Mlle|Dra?|Sra?s?|Prof|Fr|Hr|Mr|Mrs|Ms)\.$")
_ORDINAL: Final = re.compile(r"(?:^|\s)\d{1,2}\.$")
_COMMA: Final = re.compile(r"(?<!\d)[,，、](?=\s|[^\x00-\x7f])\s*|(?<=\d),\s+|\s+[-–—]+\s+|;\s+")
_CONJUNCTION: Final = re.compile(
    r"\s+(?=(?:and|but|also|plus|anyway|und|aber|ausserdem|außerdem|y|pero|además|et|mais)\s(?!\d))",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"(?<!\band)(?<!\bbut)(?<!\bso)(?<!\bthat)(?<!\bif)(?<!\bwhen)(?<!\bas)(?<!\bbecause)(?<!\bwhat)(?<!\bthan)(?<!\bsince)(?<!\bcause)(?<!\buntil)(?<!\bbefore)(?<!\bafter)(?<!\bwhile)(?<!\bweil)(?<!\bdass)(?<!\bwenn)(?<!\bfalls)(?<!\bob)(?<!\bwie)"
    r"\s+(?=(?:i|i'm|im|i've|we|she|he|they|it's|its|ich|wir|elle|nous)\s)",
    re.IGNORECASE,
)


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """Split a text into sentences; the end of a line ends a sentence.

    Args:
        text: Any text.
        language: An ISO code for the abbreviations; ``None`` guesses the language, else English.
    """
    known = language or language_of(text) or "en"
    lines = (line.strip() for line in text.splitlines())
    return [sentence for line in lines if line for sentence in _of_line(line, known)]


def _of_line(line: str, language: str) -> Iterator[str]:
    held = ""
    for piece in _segment(language, line):
        sentence = collapse_whitespace(piece)
        if not sentence:
            continue
        if held and _goes_on(held, sentence, language):
            held = f"{held} {sentence}"
            continue
        if held:
            yield held
        held = sentence
    if held:
        yield held


def _goes_on(before: str, after: str, language: str) -> bool:
    """Return whether a sentence was cut at an abbreviation that sentencex does not know."""
    if _TITLE.search(before) or (language == "de" and _ORDINAL.search(before)):
        return True
    return bool(_ABBREVIATION.search(before)) and (after[0].islower() or after[0].isdigit())


def split_clauses(sentence: str) -> list[str]:
    """Cut a sentence into clauses; joined, they equal the sentence except for whitespace."""
    clauses = _cut([sentence], _COMMA)
    clauses = [
        part
        for clause in clauses
        for part in (_cut([clause], _CONJUNCTION) if len(clause) > LONG_CLAUSE else [clause])
    ]
    return [
        part
        for clause in clauses
        for part in (_cut([clause], _SUBJECT) if len(clause) > LONG_CLAUSE else [clause])
    ]


def _cut(texts: list[str], at: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for text in texts:
        start = 0
        for match in at.finditer(text):
            if _is_clause(text[start : match.start()]) and _is_clause(text[match.end() :]):
                found.append(text[start : match.end()].rstrip())
                start = match.end()
        found.append(text[start:].strip())
    return found


def _is_clause(text: str) -> bool:
    spaced = text.split()
    return len(spaced) >= LEAST_WORDS or (
        len(text) >= 2 * LEAST_WORDS and not text.isascii() and len(spaced) == 1
    )
