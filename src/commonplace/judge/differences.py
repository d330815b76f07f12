"""The words in which two texts differ, for the sentence that gives the reason of a verdict. Pure."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from commonplace.language.stems import stem
from commonplace.language.words import STOPWORDS

_MOST_NAMED: Final = 3
_MOST_COMPARED: Final = 60
"""Tokens of each text that are compared, so that a page of text takes no time."""

_TELLING: Final = frozenset(
    """no not never without after before only on off until if unless except kein keine nicht nie sin nunca pas
    sans""".split()  # noqa: SIM905 - reads as a list of words does
)
"""Words that change what a text says, though most texts have them."""

_LEAST_ALIKE: Final = 0.3
_WORD: Final = re.compile(r"\w(?:[\w'.,:/%-]*[\w%])?")


def difference(old: str, new: str) -> str:
    """Return what differs, as a phrase without a full stop; empty if the texts differ in nothing that tells."""
    ones, others = (_WORD.findall(text)[:_MOST_COMPARED] for text in (old, new))
    stems, others_stems = ([stem(word.casefold()) for word in words] for words in (ones, others))
    matcher = SequenceMatcher(None, stems, others_stems, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return "in other words"
    phrases: list[str] = []
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone = _told(ones[start:end], others_stems)
        come = _told(others[other_start:other_end], stems)
        if gone and come:
            phrases.append(f"{gone} against {come}")
        elif gone or come:
            phrases.append(f"only the {'old' if gone else 'new'} text says {gone or come}")
    in_order = stems == others_stems or phrases
    return "; ".join(phrases[:_MOST_NAMED]) if in_order else "in another order"


def _told(words: Sequence[str], elsewhere: Sequence[str]) -> str:
    """Return the words of a part that tell something and that the other text lacks, in quotes; or an empty text."""
    telling = [word for word in words if stem(word.casefold()) not in elsewhere and _tells(word.casefold())]
    return f'"{" ".join(telling)}"' if telling else ""


def _tells(word: str) -> bool:
    return word in _TELLING or word not in STOPWORDS
