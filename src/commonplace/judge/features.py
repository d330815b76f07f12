"""Features of two compared observations: numbers that learned weights combine, some with words that explain them.

A feature is a pure function of the comparison. `python benchmarks/judge_weights.py` fits the weights. It never drops a
feature, so remove a feature here if the cross-validated figures do not need it.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

import math
from collections.abc import Container, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from commonplace.judge.changes import NO_LONGER
from commonplace.judge.comparison import ComparedText, Comparison
from commonplace.judge.differences import denial, exchanged_ends, order_is_turned
from commonplace.judge.observation import PREDICATE, Name, Reading, Word
from commonplace.judge.quantities import Dimension
from commonplace.judge.words import spelled
from commonplace.language.ideas import WORD_WEIGHT
from commonplace.language.likeness import likeness
from commonplace.language.words import STOPWORDS

_MOST_ALIGNED: Final = 64
"""The number of parts of each text whose order is compared, so that a long text does not take quadratic time."""

_MOST_VALUE_PARTS: Final = 3
_MOST_NAMED: Final = 4
_MOST_LIKENED: Final = 16

SIDES: Final = ("old", "new")


class Feature(NamedTuple):
    """A number with its name; ``text`` explains it to an operator and is empty for plain counts."""

    name: str
    value: float
    text: str = ""


def features(comparison: Comparison) -> Iterator[Feature]:
    """Return all features of a comparison, always with the same names in the same order."""
    yield from _overlap(comparison)
    yield from _alignment(comparison)
    yield from _figures(comparison)
    yield from _claims(comparison)
    yield from _changes(comparison)
    yield from _details(comparison)
    yield from _meanings(comparison)


def cues(comparison: Comparison, known: Container[str]) -> Iterator[Feature]:
    """Return a feature for each known word or sign that occurs in only one text: "instead", "history", "only".

    Signs and words such as "the" and "is" count, but have no explanation.
    """
    for at, said, side in ((0, "only the old", comparison.old), (1, "the new", comparison.new)):
        other = (comparison.new, comparison.old)[at]
        paired = {pair[at].text for pair in comparison.words}
        alone = set(side.reading.tokens).difference(other.reading.tokens, paired)
        for word in sorted(word for word in alone if f"{SIDES[at]} {word}" in known):
            telling = word[0].isalnum() and word not in STOPWORDS
            yield Feature(
                f"{SIDES[at]} {word}", 1.0, f'{said} text says "{spelled(word)}"' if telling else ""
            )


def _overlap(comparison: Comparison) -> Iterator[Feature]:
    """Measure how much the texts share and how much of each remains."""
    old, new = comparison.old, comparison.new
    lengths = [len(side.reading.tokens) + 2 for side in (old, new)]
    left = [_listed(side.parts) for side in (old, new)]
    shared = _listed([one for one, _ in comparison.words])
    yield Feature("shared", min(comparison.matched, 6.0), f"both mention {shared}" if shared else "")
    yield Feature("left of new", min(new.heavy, 6.0), f"the new text adds {left[1]}" if left[1] else "")
    yield Feature(
        "substituted", min(comparison.substituted, 3.0), f"{left[0]} against {left[1]}" if all(left) else ""
    )
    yield Feature("length", math.log(lengths[1] / lengths[0]))


def _alignment(comparison: Comparison) -> Iterator[Feature]:
    """Measure where the texts differ: a correction replaces one part, two things of a kind often differ in several."""
    readings = (comparison.old.reading, comparison.new.reading)
    tokens = [reading.tokens[:_MOST_ALIGNED] for reading in readings]
    one, other = (_keys(reading) for reading in readings)
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    marks = any(char in "#_./" or char.isdigit() for key in set(other) - set(one) for char in key)
    yield Feature("same order", SequenceMatcher(None, *tokens, autojunk=False).ratio())
    yield Feature("same content", not changed, "both have the same words")
    yield Feature("same first word", one[:1] == other[:1])
    yield Feature("first word kept", bool(one) and one[0] in other)
    yield Feature("last word known", bool(other) and other[-1] in one)
    replaced = [block for block in changed if block[0] == "replace"]
    yield Feature("parts replaced", min(len(replaced), 3))
    amid = any(block[2] < len(one) and block[4] < len(other) for block in replaced)
    yield Feature("replaced amid shared parts", amid)
    yield Feature("old parts", min(len(set(one) - set(other)), 5))
    yield Feature("marks in new parts", marks)


def _keys(reading: Reading) -> list[str]:
    """Return the parts of a text in order, as strings that are equal for equal parts."""
    keys = {word.place: word.concept for word in reading.words}
    keys |= {name.place: f"#{name.mark}" for name in reading.names}
    keys |= {amount.place: f"{amount.quantity.low:g} {amount.quantity.kind}" for amount in reading.amounts}
    return [keys[place] for place in sorted(keys)[:_MOST_ALIGNED]]


def _figures(comparison: Comparison) -> Iterator[Feature]:
    """Measure the names and amounts that both texts share, or that replace each other."""
    names = _against([(one.text, other.text) for one, other in comparison.other_names])
    yield Feature("other names", min(len(comparison.other_names), 2), names)
    behind = any(one.opener == other.opener == PREDICATE for one, other in comparison.other_names)
    yield Feature("other name behind is", behind, names)
    yield Feature("other amounts", min(len(comparison.other_amounts), 2))
    counted = [one for one, _ in comparison.same_amounts if one.quantity.kind is not Dimension.ORDINAL]
    yield Feature("same amounts", min(len(counted), 2))
    yield Feature("amounts left of new", min(len(comparison.new.amounts), 2))


def _against(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f'"{one}" against "{other}"' for one, other in pairs[:2])


def _claims(comparison: Comparison) -> Iterator[Feature]:
    """Measure contradictions to the claim that both texts share."""
    old, new = comparison.old, comparison.new
    denied, ends = denial(comparison), exchanged_ends(comparison)
    turned = order_is_turned(old.reading, new.reading) or bool(ends)
    amounts = _against([(one.quantity.text, other.quantity.text) for one, other in comparison.other_amounts])
    text = "; ".join(
        filter(None, (amounts, denied, f"the order is reversed {ends}".strip() if turned else ""))
    )
    contradicted = bool(text)
    limited = any(side.narrowed or _has_condition(side) for side in (old, new))
    moved = {
        one.conditional
        for one, other in comparison.words
        if one.conditional != other.conditional and one.is_heavy
    }
    # A subject can need two things at once.
    needs = any(one.concept == "NEED" for one, _ in comparison.words)
    several = contradicted or needs or any(map(_has_condition, (old, new)))
    value = "" if several else _values(comparison)
    yield Feature("turned order", turned)
    yield Feature("other pole", sum(one.pole != other.pole for one, other in comparison.words))
    ordered = bool(old.reading.orders and new.reading.orders)
    yield Feature("same order of steps", ordered and not turned, "both state the same order")
    yield Feature("denial", bool(denied) and not limited)
    yield Feature("contradicted", contradicted and not limited, text)
    yield Feature("contradicted in part", contradicted and limited, f"{text}, perhaps in part")
    yield Feature("exchanged condition", len(moved) > 1, "the condition and the claim are exchanged")
    yield Feature("other value", bool(value), f"the same claim has another value: {value}")


def _has_condition(side: ComparedText) -> bool:
    return any(word.conditional and word.weight >= WORD_WEIGHT for word in side.words)


def _values(comparison: Comparison) -> str:
    """Return the words that are unique at the end of the claim that both texts share."""
    texts: list[str] = []
    for at, side in enumerate((comparison.old, comparison.new)):
        parts = [*(pair[at] for pair in comparison.other_names), *side.parts]
        labels = {part.label for part in parts if isinstance(part, Name)}
        shared = [pair[at] for pair in comparison.words if pair[at].concept not in labels]
        begins = min((part.place for part in parts), default=0)
        ends = max((word.place for word in shared if word.weight >= WORD_WEIGHT), default=0)
        stands_alone = 0 < len(parts) <= _MOST_VALUE_PARTS and not side.amounts
        if not stands_alone or ends > begins or not any(word.place < begins for word in shared):
            return ""
        texts.append(f'"{" ".join(part.text for part in parts)}"')
    return " against ".join(texts)


def _changes(comparison: Comparison) -> Iterator[Feature]:
    """Measure stated changes of state and dropped denials."""
    old, new = comparison.old.reading, comparison.new.reading
    denied = bool(denial(comparison))
    changes = [
        text
        for name, text in new.changes.items()
        if name not in old.changes and (denied or name != NO_LONGER)
    ]
    yield Feature("change", bool(changes), f'the new text states a change: "{"".join(changes[:1])}"')
    yield Feature("negator dropped", len(new.negators) < len(old.negators))


def _details(comparison: Comparison) -> Iterator[Feature]:
    """Measure how the remaining parts are attached: as a claim, a condition, or after a preposition."""
    old, new = comparison.old, comparison.new
    one, other = ({part.opener for part in side.parts} for side in (old, new))
    yield Feature("new condition", _has_condition(new), "the new text adds a condition")
    yield Feature("same place", bool(one & other - {""}))
    yield Feature("new claim", "" in other)


def _meanings(comparison: Comparison) -> Iterator[Feature]:
    """Measure how close in meaning the unshared words of one text are to the nearest words of the other text."""
    old, new = comparison.old, comparison.new
    for name, side, other in (("old", old, new), ("new", new, old)):
        words = [word.text for word in side.words[:_MOST_LIKENED]]
        others = [word.text for word in other.reading.words[:_MOST_LIKENED]]
        near = [max((likeness(word, one) for one in others), default=0.0) for word in words] or [1.0]
        yield Feature(f"nearest of {name}", sum(near) / len(near))
        yield Feature(f"farthest of {name}", min(near))
        yield Feature(f"strange in {name}", len(near) - sum(near))


def _listed(parts: Sequence[Word | Name]) -> str:
    return ", ".join(f'"{part.text}"' for part in parts[:_MOST_NAMED])
