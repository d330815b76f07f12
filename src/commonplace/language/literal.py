"""Literal search: the words of a query, and how much of them a text holds. Pure.

A word is found whatever its case, its accents and its typographic quotes: ``muller`` and ``Mueller`` find ``Müller``,
``straße`` finds ``STRASSE``. A word is found as a whole word, as another form of an English word, or as a part of a
longer word. A word of one or two ASCII characters is found as a whole word only, because it is a part of most texts.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from commonplace.core.text import clean_text, collapse_whitespace
from commonplace.language.importance_cues import FUNCTION_WORDS
from commonplace.language.scripts import UNSPACED, character_pairs
from commonplace.language.stems import stem
from commonplace.language.words import STOPWORDS, tokens

WHOLE: Final = 1.0
FORM: Final = 0.9
PART: Final = 0.6
"""How much of a word a text holds: the whole word, another form of the word, or the word as a part of another."""

MAX_WORDS: Final = 40
"""The maximum number of words of a query that are compared; further words are ignored."""

PLAIN_SIGNS: Final = ("’‘ʼ‐‑–—“”„«»ςøłđı", '\'\'\'----"""""σoldi')  # noqa: RUF001 - the signs themselves
"""Signs, and those that they are compared as; the database compares with the same signs."""

_SIGNS: Final = str.maketrans(*PLAIN_SIGNS)
_MARKS: Final = re.compile("[\u0300-\u036f]+")
_QUOTED: Final = re.compile(r'["“„«]([^"“”„«»]*[^"“”„«»\s][^"“”„«»]*)["”“»]')
_EDGES: Final = ".,;:!?…\"'()[]{}<>«»“”„‚‘’`*¿¡。、，！？：；（）「」『』"  # noqa: RUF001 - punctuation of texts
_JOINT: Final = re.compile(r"[\W_]+")
_UNSPACED: Final = re.compile(f"[{UNSPACED}]+")
_PART_WEIGHT: Final = 0.5
_SHORT: Final = 3
_LEAST_STEM: Final = 3
_LONG_UMLAUTS: Final = {"ä": "ae", "ö": "oe", "ü": "ue"}
_SHORT_UMLAUTS: Final = re.compile(r"(?<=[aou])e")
_IGNORED: Final = STOPWORDS | FUNCTION_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """A word or a quoted phrase of a query.

    Attributes:
        typed: The word as it was typed.
        spellings: Its spellings as :func:`bare` text; each is found anywhere, or as a whole word if it is short.
        whole_spellings: Further spellings, which are found as whole words only.
        stem: The English stem of the word; empty if only the word itself counts.
        weight: 1.0; less for a part of a longer word of the query.
    """

    typed: str
    spellings: tuple[str, ...]
    whole_spellings: tuple[str, ...] = ()
    stem: str = ""
    weight: float = 1.0

    @property
    def is_short(self) -> bool:
        """Whether the word is found as a whole word only."""
        return is_short(self.spellings[0])

    def share_in(self, text: "BareText") -> float:
        """Return how much of the word a text holds: ``WHOLE``, ``FORM``, ``PART`` or 0.0."""
        if any(text.has_whole(each) for each in (*self.spellings, *self.whole_spellings)):
            return WHOLE
        if self.stem and self.stem in text.stems:
            return FORM
        return PART if not self.is_short and any(each in text.text for each in self.spellings) else 0.0


class BareText:
    """A text as words are compared with it; its stems are computed when a word needs them."""

    def __init__(self, text: str) -> None:
        self.text = bare(text)
        self._source = text
        self._stems: frozenset[str] | None = None

    @property
    def stems(self) -> frozenset[str]:
        """The stems of its words, and of the parts of words that have joints."""
        if self._stems is None:
            parts = (part for word in tokens(self._source) for part in (word, *_JOINT.split(word)))
            self._stems = frozenset(stem(part) for part in parts if part)
        return self._stems

    def has_whole(self, spelling: str) -> bool:
        """Return whether the text holds a spelling that is no part of a longer word."""
        at = self.text.find(spelling)
        while at >= 0:
            end = at + len(spelling)
            if not (
                _joins(self.text[at - 1 : at], spelling[0]) or _joins(spelling[-1], self.text[end : end + 1])
            ):
                return True
            at = self.text.find(spelling, at + 1)
        return False


def bare(text: str) -> str:
    """Return a text as it is compared: in lower case, without accents, with plain quotes and single spaces."""
    text = collapse_whitespace(text)
    if text.isascii():
        return text.lower()
    # One character after the other, because Python folds a sigma by its place in the word and databases do not.
    plain = "".join(map(str.lower, _MARKS.sub("", unicodedata.normalize("NFKD", text))))
    return collapse_whitespace(plain.translate(_SIGNS))


def is_short(spelling: str) -> bool:
    """Return whether a spelling is so short that it counts as a whole word only."""
    return spelling.isascii() and len(spelling) < _SHORT


def is_joined(character: str) -> bool:
    """Return whether a character at the edge of a spelling would continue the word beside it."""
    return character.isalnum() and not _UNSPACED.match(character)


def query_words(query: str) -> tuple[QueryWord, ...]:
    """Return the words and quoted phrases of a query, at most :data:`MAX_WORDS`, in their order.

    Common words such as "the" are left out, unless the query has no others. A word such as ``api/limits.py`` counts as
    a whole and by its parts. A run of a script without spaces counts as a whole and by its pairs of characters.
    """
    typed = list(_typed(collapse_whitespace(clean_text(query))))
    telling = [word for word in typed if bare(word) not in _IGNORED] or typed
    words = {word.spellings[0]: word for each in reversed(telling) if (word := _query_word(each))}
    in_order = dict(reversed(words.items()))
    for each in telling:
        for part in _parts(each):
            word = _query_word(part, weight=_PART_WEIGHT)
            if word is not None:
                in_order.setdefault(word.spellings[0], word)
    return tuple(in_order.values())[:MAX_WORDS]


def phrase_word(phrase: str) -> QueryWord | None:
    """Return a phrase, such as a name, as one word of a query; ``None`` if it has nothing to compare."""
    return _query_word(collapse_whitespace(clean_text(phrase)))


def _typed(query: str) -> Iterator[str]:
    """Yield the phrases in quotes, and the other words without punctuation at their edges."""
    for phrase in _QUOTED.findall(query):
        yield phrase.strip()
    for token in _QUOTED.sub(" ", query).split():
        yield token.strip(_EDGES) or token


def _query_word(typed: str, *, weight: float = 1.0) -> QueryWord | None:
    own = bare(typed)
    if not own:
        return None
    long = "".join(_LONG_UMLAUTS.get(each, each) for each in unicodedata.normalize("NFC", typed).lower())
    spellings = _unique(own, own.replace("ß", "ss"), bare(long), own.replace("ss", "ß"))
    base = stem(own) if own.isascii() and own.isalpha() else ""
    return QueryWord(
        typed=typed,
        spellings=spellings,
        whole_spellings=_unique(_SHORT_UMLAUTS.sub("", own), known=spellings),
        stem=base if len(base) >= _LEAST_STEM else "",
        weight=weight,
    )


def _parts(typed: str) -> Iterator[str]:
    """Yield the parts of a word with joints, and the pairs of characters of scripts without spaces."""
    if " " in typed:
        return
    parts = [part for part in _JOINT.split(typed) if len(part) > 1 and bare(part) not in _IGNORED]
    if parts != [typed]:
        yield from parts
    for run in _UNSPACED.findall(unicodedata.normalize("NFKC", typed)):
        yield from character_pairs(run)


def _unique(*spellings: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in spellings if each and each not in {*known}))


def _joins(left: str, right: str) -> bool:
    """Return whether two neighbouring characters belong to one word."""
    return bool(left and right) and is_joined(left) and is_joined(right)
