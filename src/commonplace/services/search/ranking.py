"""The order of items of all memories. Pure.

The score of an item has two parts:

- The words of the query that the item holds. Each word has a weight of ``ln(1 + candidates / candidates that hold the
  word)``, so a rare word counts more than a common one. A whole word counts fully, another form of it 0.9, a part of a
  longer word 0.6. The share is the weight that the item holds, divided by the weight of all words: 0.0 to 1.0.
- The likeness of the item and the query, by meaning, cut to 0.0 to 1.0.

An item that holds a word scores 1 + 0.7 * share + 0.3 * likeness, so that it is always before items that are only
alike. An item that is only alike scores its likeness. Ties: the most alike first, then the newest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from commonplace.language.literal import BareText, QueryWord
from commonplace.services.search.items import ListedMemory

_WORDS_WEIGH: Final = 0.7
_LIKENESS_WEIGHS: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An item and the words of the query that it holds.

    Attributes:
        item: The item.
        shares: How much of each word of the query it holds, in the order of the words.
        share: The share of the weight of all words, 0.0 to 1.0.
    """

    item: ListedMemory
    shares: tuple[float, ...]
    share: float = 0.0

    @property
    def is_literal(self) -> bool:
        """Whether the item holds a word of the query."""
        return any(self.shares)


def match(item: ListedMemory, words: Sequence[QueryWord]) -> Match:
    """Return an item with the words that it holds."""
    text = BareText(item.words)
    return Match(item=item, shares=tuple(word.share_in(text) for word in words))


def by_words(matches: Sequence[Match], words: Sequence[QueryWord]) -> list[Match]:
    """Return the matches that hold a word, with their shares; the highest share first, then the newest."""
    literal = [each for each in matches if each.is_literal]
    weights = [
        word.weight * math.log1p(len(literal) / max(1, sum(each.shares[place] > 0 for each in literal)))
        for place, word in enumerate(words)
    ]
    whole = sum(weights) or 1.0
    weighed = [
        replace(
            each, share=sum(held * weight for held, weight in zip(each.shares, weights, strict=True)) / whole
        )
        for each in literal
    ]
    return sorted(weighed, key=lambda each: (-each.share, -each.item.at.timestamp(), each.item.id))


def scored(matched: Match, words: Sequence[QueryWord], likeness: float | None) -> ListedMemory:
    """Return an item with its score, and why the query found it."""
    near = min(1.0, max(0.0, likeness or 0.0))
    score = 1 + _WORDS_WEIGH * matched.share + _LIKENESS_WEIGHS * near if matched.is_literal else near
    return replace(
        matched.item,
        score=round(score, 4),
        likeness=None if likeness is None else round(likeness, 4),
        why=" ".join(filter(None, [_held(matched, words), matched.item.why, _alike(likeness)])),
    )


def in_order(items: Sequence[ListedMemory]) -> list[ListedMemory]:
    """Return items with the highest score first, then the most alike, then the newest."""
    return sorted(
        items, key=lambda each: (-(each.score or 0.0), -(each.likeness or 0.0), -each.at.timestamp(), each.id)
    )


def _held(matched: Match, words: Sequence[QueryWord]) -> str:
    typed = [f"“{word.typed}”" for word, share in zip(words, matched.shares, strict=True) if share]
    return f"It contains {', '.join(typed)}." if typed else ""


def _alike(likeness: float | None) -> str:
    return "" if likeness is None else f"Its similarity to the query is {likeness:.2f}."
