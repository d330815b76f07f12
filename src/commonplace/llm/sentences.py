"""Picking the sentences that say the most with the least repetition."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from commonplace.core.text import collapse_whitespace

if TYPE_CHECKING:
    from numpy.typing import NDArray

CENTRALITY_WEIGHT: Final = 0.7
"""How much being like everything counts, against not being like what is picked already."""

REPETITION: Final = 0.9
"""A sentence so like one that is picked says the same, and is not picked."""

MAX_SENTENCES: Final = 300
"""More are thinned out evenly. Source: embedding 300 takes about half a second on two cores."""

_FEWEST_WORDS: Final = 4
_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"')\]])\s+|(?<=[\u3002\uff01\uff1f])")
_SPEAKER: Final = re.compile(r"^(?:user|assistant|system|human|ai)\s*:\s*", re.IGNORECASE)
_LIST_MARK: Final = re.compile(r"^(?:[-*•]|\d{1,3}[.)])\s+")
_WORD: Final = re.compile(r"[\w'\u2019-]+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be picked.

    Args:
        sentences: At most so many.
        chars: At most so many characters, the blanks between sentences included.
    """

    sentences: int
    chars: int


def split_sentences(text: str) -> list[str]:
    """Split text into sentences: at line ends and closing punctuation, without speakers and list marks.

    Each sentence comes once, in the order of the text. Of Chinese, Japanese, Korean and Thai, one sign counts as
    a word, since they are written without blanks.
    """
    lines = (_LIST_MARK.sub("", _SPEAKER.sub("", line.strip())) for line in text.splitlines())
    pieces = (collapse_whitespace(piece) for line in lines for piece in _END.split(line))
    return list(dict.fromkeys(piece for piece in pieces if piece))


def worth_picking(sentences: Sequence[str]) -> list[str]:
    """Leave out what hardly tells anything: sentences under four words, and questions; unless nothing is left."""
    told = [sentence for sentence in sentences if _tells(sentence)]
    kept = told or list(sentences)
    if len(kept) <= MAX_SENTENCES:
        return kept
    step = len(kept) / MAX_SENTENCES
    return [kept[int(index * step)] for index in range(MAX_SENTENCES)]


def pick(sentences: Sequence[str], vectors: "NDArray[np.float32]", limits: Limits) -> list[str]:
    """Pick sentences by maximal marginal relevance, and return them in the order of the text.

    A sentence is worth its mean likeness to all others, less its likeness to the nearest one that is picked.
    Of equal ones the earlier wins. A sentence that does not fit, or repeats one that is picked, is passed over.

    Args:
        sentences: In the order of the text.
        vectors: One of length 1 each, shape ``(len(sentences), dimensions)``.
        limits: How much may be picked.

    Source: Carbonell and Goldstein 1998, The use of MMR.
    """
    if not sentences:
        return []
    likeness = vectors @ vectors.T
    centrality = _centrality(likeness)
    picked: list[int] = []
    left = limits.chars
    open_ = np.array([len(sentence) <= left for sentence in sentences])
    while open_.any() and len(picked) < limits.sentences:
        repeated = likeness[:, picked].max(axis=1) if picked else np.zeros(len(sentences))
        worth = CENTRALITY_WEIGHT * centrality - (1 - CENTRALITY_WEIGHT) * repeated
        best = int(np.where(open_, worth, -np.inf).argmax())
        picked.append(best)
        left -= len(sentences[best]) + 1
        open_ &= np.array([len(sentence) <= left for sentence in sentences])
        open_ &= likeness[best] < REPETITION
        open_[best] = False
    return [sentences[index] for index in sorted(picked)]


def _centrality(likeness: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return the mean likeness of each sentence to the others, scaled so that the greatest is 1."""
    others = np.clip(likeness, 0, None).sum(axis=1) - 1
    greatest = others.max()
    return others / greatest if greatest > 0 else np.ones_like(others)


def _tells(sentence: str) -> bool:
    if sentence.rstrip("\"')]").endswith(("?", "\uff1f")):
        return False
    return len(_WORD.findall(sentence)) + len(_UNSPACED.findall(sentence)) >= _FEWEST_WORDS
