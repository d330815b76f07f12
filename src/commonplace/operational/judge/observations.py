"""An observation, read once: its words with their poles, and its quantities.

Reading is the slow part of a judgement, so it is cached by text; comparing two readings is fast.

Source: R-OPS-5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from commonplace.operational.judge.lexicon import CONDITIONS, CONNECTORS, OBLIGATION, PERMISSION
from commonplace.operational.judge.polarity import Word, ideas_with_poles
from commonplace.operational.judge.quantities import Quantity
from commonplace.operational.judge.quantity_reading import extract
from commonplace.operational.judge.words import tokenise

_CONNECTED_WORDS: Final = 4
"""How many words on either side of "before" or "after" it relates."""

_FRONTED_WORDS: Final = 2
"""How many words a circumstance in front of the sentence is taken to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A text as the judge reads it.

    ``tokens`` is the text without case, spacing and punctuation. ``words`` and ``quantities`` keep their order.
    ``subject`` are the quantities that only name what is spoken of ("Version 2.4 leaks memory").
    ``sides`` gives, for the place of each "before" or "after", the concepts on its left and on its right.
    """

    tokens: tuple[str, ...]
    words: tuple[Word, ...]
    quantities: tuple[Quantity, ...]
    subject: tuple[Quantity, ...]
    sides: Mapping[int, tuple[frozenset[str], frozenset[str]]]
    obliges: bool
    permits: bool


@lru_cache(maxsize=4096)
def analyse(text: str) -> Observation:
    """Read an observation; never raises, and takes time linear in the length of the text."""
    tokens = tokenise(text)
    parts = extract(tokens)
    named = frozenset(place for place in range(len(parts)) if _names_subject(parts, place))
    words = _with_surroundings(
        ideas_with_poles([part if isinstance(part, str) else None for part in parts], CONDITIONS),
        parts,
    )
    quantities = [(place in named, part) for place, part in enumerate(parts) if isinstance(part, Quantity)]
    return Observation(
        tokens=tokens,
        words=tuple(words),
        quantities=tuple(part for names, part in quantities if not names),
        subject=tuple(part for names, part in quantities if names),
        sides=_sides(words),
        obliges=not OBLIGATION.isdisjoint(tokens),
        permits=not PERMISSION.isdisjoint(tokens),
    )


def _names_subject(parts: Sequence[str | Quantity], place: int) -> bool:
    """Tell whether a labelled number opens the text or a circumstance: "Node 2 reboots", "crashes on version 2.4"."""
    part = parts[place]
    if isinstance(part, str) or not part.label:
        return False
    before = parts[place - 1] if place else ""
    return place == 0 or (part.label != "port" and isinstance(before, str) and before in CONDITIONS)


def _with_surroundings(words: Sequence[Word], parts: Sequence[str | Quantity]) -> list[Word]:
    """Give each word what stands up to two parts before it and one behind: concepts, and values of quantities."""
    marks = [f"{part.kind}:{part.low}" if isinstance(part, Quantity) else "" for part in parts]
    for word in words:
        marks[word.place] = word.concept
    return [
        replace(
            word,
            near=frozenset(
                mark
                for at in range(max(0, word.place - 2), min(len(marks), word.place + 2))
                if at != word.place and (mark := marks[at])
            ),
        )
        for word in words
    ]


def _sides(words: Sequence[Word]) -> dict[int, tuple[frozenset[str], frozenset[str]]]:
    sides: dict[int, tuple[frozenset[str], frozenset[str]]] = {}
    for at, word in enumerate(words):
        if word.concept not in CONNECTORS:
            continue
        left = [one.concept for one in words[max(0, at - _CONNECTED_WORDS) : at] if one.weight >= 1]
        right = [one.concept for one in words[at + 1 : at + 1 + _CONNECTED_WORDS] if one.weight >= 1]
        if at == 0:
            # "After a power cut it restores its state": the circumstance stands in front.
            left, right = right[_FRONTED_WORDS:], right[:_FRONTED_WORDS]
        sides[word.place] = frozenset(left), frozenset(right)
    return sides
