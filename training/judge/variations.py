"""Variations of pairs: more to learn from the same texts, new in each epoch.

The label of a variation follows from the label of its pair: a refinement read backwards says the same, a text with
another number in it corrects the text that it says the same as, and the texts of two pairs are distinct.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from corpus import Pair

STRANGERS: Final = 0.25
"""Pairs of texts of one author that belong to different pairs, for each pair."""

MADE: Final = 0.3
"""Pairs made from one text or from a changed text, for each pair."""

_LEAST_PART: Final = 12
"""The minimum number of characters of a part of a text, and of the remaining text."""

_NUMBER: Final = re.compile(r"(?<![\w.:/-])(\d{1,5})(?![\w:/]|[.,-]\d)")
_CUT: Final = re.compile(
    r", | -- |; | \(|\. | because | after | when | if | unless | while | weil | wenn | porque | si | parce que "
)
_DENIALS: Final = {
    "en": (
        (r"\b(is|are|was|were|can|must|should|will|does|do)\b(?! not)", r"\1 not"),
        (r"\b(has|have|needs) an? ", r"\1 no "),
    ),
    "de": (
        (r"\b(ist|sind|war|kann|muss|soll|wird|darf|werden|können|dürfen)\b(?! nicht| kein)", r"\1 nicht"),
        (r"\b(braucht|hat|haben|gibt es) (?:einen?|eine) ", r"\1 kein "),
    ),
    "es": ((r"(?<!no )\b(es|está|son|están|tiene|puede|debe|hay|va|usa|quiere)\b", r"no \1"),),
    "fr": (
        (r"(?<!n')\b(est|était|a)\b(?! pas)", r"n'\1 pas"),
        (r"(?<!ne )\b(sont|peut|doit|sera|va|vont|faut|passe|tourne)\b(?! pas)", r"ne \1 pas"),
    ),
    "zh": ((r"(?<!不)(是|会|能|需要|可以|要)", r"不\1"), (r"(?<!没)有", "没有")),
    "ja": (
        (r"ます", "ません"),
        (r"する(?=[。、]|$)", "しない"),
        (r"です", "ではありません"),
        (r"ある(?=[。、]|$)", "ない"),
    ),
}
"""Phrases and what denies them, by language."""

_DENIED: Final = {
    "en": (r"\b(?:not|never|no longer) ", ""),
    "de": (r"\b(?:nicht|nie) ", ""),
    "es": (r"\b(?:no|nunca) ", ""),
    "fr": (r"\bne (\w+) (?:pas|jamais|plus)\b", r"\1"),
    "zh": (r"不(?=[是会能要需可])", ""),
    "ja": (r"ません", "ます"),
}
"""A denial and what affirms it, by language."""


@dataclass(frozen=True, slots=True)
class Example:
    """Two texts, their label, and how much the example counts."""

    old: str
    new: str
    label: str
    weight: float = 1.0


def epoch(pairs: Sequence[Pair], chance: random.Random) -> Iterator[Example]:
    """Yield every pair once, perhaps turned or with other spelling, and the variations of this epoch."""
    by_author: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_author[pair.author].append(pair)
    for pair in pairs:
        yield _respelled(_turned(pair, chance), chance)
        if chance.random() < STRANGERS:
            other = chance.choice(by_author[pair.author])
            if other.about != pair.about:
                yield Example(pair.old, other.new, "distinct", 0.4)
        if chance.random() < MADE and (example := _made(pair, chance)):
            yield _respelled(example, chance)


def _turned(pair: Pair, chance: random.Random) -> Example:
    """Return a pair in its order, or in the other order if that has a label for certain."""
    roll = chance.random()
    backwards = Example(pair.new, pair.old, pair.label)
    if pair.label == "distinct" and roll < 0.4:
        return backwards
    if pair.label == "same" and roll < 0.35 and len(pair.new) >= len(pair.old):
        return backwards
    if pair.label == "correct" and roll < 0.12:
        return backwards
    if pair.label == "refine" and roll < 0.12:
        return Example(pair.new, pair.old, "same", 0.7)
    return Example(pair.old, pair.new, pair.label)


def _made(pair: Pair, chance: random.Random) -> Example | None:
    """Return an example made from one text of a pair, or from a pair that says the same with a value changed."""
    text = chance.choice((pair.old, pair.new))
    roll = chance.random()
    if roll < 0.5:
        older, base = (
            (pair.old, pair.new) if pair.label == "same" and len(pair.new) >= len(pair.old) else (text, text)
        )
        changed = contradiction(base, pair.language, chance)
        return Example(older, changed, "correct", 0.6) if changed else None
    if roll < 0.65:
        return Example(text, text, "same", 0.4)
    part = _part(text, chance)
    if part is None:
        return None
    if roll < 0.75:
        changed = contradiction(part, pair.language, chance)
        return Example(text, changed, "correct", 0.6) if changed else None
    return Example(part, text, "refine", 0.5) if roll < 0.88 else Example(text, part, "same", 0.5)


def contradiction(text: str, language: str, chance: random.Random) -> str | None:
    """Return a text with another number, or one that denies what it said; ``None`` if it has neither."""
    numbers = list(_NUMBER.finditer(text))
    denials = [
        (pattern, denial) for pattern, denial in _DENIALS.get(language, ()) if re.search(pattern, text)
    ]
    if numbers and (not denials or chance.random() < 0.5):
        match = chance.choice(numbers)
        number = int(match[1])
        others = {number + 1, number + 2, number * 2, number * 3, number // 2, number + 10} - {number}
        return f"{text[: match.start()]}{chance.choice(sorted(others))}{text[match.end() :]}"
    denied, affirmed = _DENIED.get(language, ("(?!)", ""))
    if re.search(denied, text):
        return re.sub(denied, affirmed, text, count=1)
    if not denials:
        return None
    pattern, denial = chance.choice(denials)
    place = chance.choice(list(re.finditer(pattern, text)))
    return f"{text[: place.start()]}{place.expand(denial)}{text[place.end() :]}"


def _part(text: str, chance: random.Random) -> str | None:
    """Return the beginning of a text up to the end of a clause."""
    ends = [
        match.start()
        for match in _CUT.finditer(text)
        if _LEAST_PART < match.start() < len(text) - _LEAST_PART
    ]
    return text[: chance.choice(ends)] if ends else None


def _respelled(example: Example, chance: random.Random) -> Example:
    return Example(_noisy(example.old, chance), _noisy(example.new, chance), example.label, example.weight)


def _noisy(text: str, chance: random.Random) -> str:
    """Return a text as it is, or with another end, another opening or a typing error."""
    roll = chance.random()
    if roll < 0.1:
        return text.rstrip(".")
    if roll < 0.15:
        return text.rstrip(".") + "."
    if roll < 0.18:
        return chance.choice(("Note: ", "FYI ", "Seen: ")) + text
    words = text.split(" ")
    at = chance.randrange(len(words))
    if roll < 0.22 and len(words[at]) > 4 and words[at].isalpha():
        place = chance.randrange(1, len(words[at]) - 1)
        word = words[at]
        words[at] = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        return " ".join(words)
    return text
