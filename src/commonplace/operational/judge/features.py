"""Features of two compared observations: each returns the sentence that an operator reads, or an empty string.

A feature is a pure function of the evidence; `verdicts` orders the features in a table.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from commonplace.language.ideas import WORD_WEIGHT, idea_of
from commonplace.language.stems import stem
from commonplace.operational.judge.changes import NO_LONGER
from commonplace.operational.judge.comparison import Comparison, Side
from commonplace.operational.judge.differences import denial, differences
from commonplace.operational.judge.lexicon import COPULAS, SINGLE_VALUED
from commonplace.operational.judge.quantities import Kind
from commonplace.operational.judge.reading import PREDICATE, Amount, Name, Word
from commonplace.operational.judge.units import PERIODS

LEAST_MATCHED: Final = 0.75
"""Weight that two texts must share to speak of one thing: three words that say little, or one that does."""

MOST_SUBSTITUTED: Final = 0.2
"""Weight left on both sides, as a share of what is shared, up to which two texts speak of one thing."""

LEAST_CHANGED: Final = 0.5
"""Share of the old claim that a text with a state change must name."""

_ONE_VALUE: Final = frozenset(idea.concept for idea in map(idea_of, SINGLE_VALUED) if idea is not None)
_MOST_VALUE_WORDS: Final = 2
_MOST_NAMED: Final = 4


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Comparison of two texts, with what several features read from it."""

    comparison: Comparison

    @property
    def sides(self) -> tuple[Side, Side]:
        """The old and the new text."""
        return self.comparison.old, self.comparison.new

    @cached_property
    def differences(self) -> str:
        """The contradictions of the two texts."""
        return "; ".join(differences(self.comparison))

    @cached_property
    def other_heads(self) -> bool:
        """Whether each text begins with a word that the other lacks."""
        return all(side.first_is_left for side in self.sides)

    @cached_property
    def substituted(self) -> bool:
        """Whether each text holds a name or a word in the place of another."""
        one = self.comparison
        old, new = ({word.opener for word in side.words if word.is_heavy} for side in self.sides)
        return (
            one.substituted > MOST_SUBSTITUTED
            or bool(one.other_names)
            or self.other_heads
            or not old.isdisjoint(new)
        )

    @cached_property
    def adds_circumstance(self) -> bool:
        """Whether one text alone has a condition."""
        return any(word.conditional and word.weight >= 1 for side in self.sides for word in side.words)

    @cached_property
    def value(self) -> str:
        """The two values, if one took the place of the other at the end of the same claim."""
        # One can need two things at a time.
        needs = any(one.concept == "NEED" for one, _ in self.comparison.words)
        if needs or not self.substituted or self.differences or self.adds_circumstance:
            return ""
        texts = [_value_of(self.comparison, at) for at in (0, 1)]
        return f'"{texts[0]}" against "{texts[1]}"' if all(texts) else ""


def other_names(evidence: Evidence) -> str:
    """Return the names if one of them is the subject: "camera 1" and "camera 2"."""
    for pair in evidence.comparison.other_names:
        for at, name in enumerate(pair):
            if _leads(name, [words[at] for words in evidence.comparison.words]):
                return f'They speak of different things: "{pair[0].text}" and "{pair[1].text}".'
    return ""


def _leads(name: Name, shared: Sequence[Word]) -> bool:
    """Tell whether nothing that both texts share stands before a name, but its label."""
    return not any(
        word.place < name.place and name.label not in {word.concept, stem(word.text)} for word in shared
    )


def little_shared(evidence: Evidence) -> str:
    """Return a reason if the texts share less than one word that says something."""
    little = evidence.comparison.matched < LEAST_MATCHED
    return "They share too little to speak of one thing." if little else ""


def stated_change(evidence: Evidence) -> str:
    """Return the state change that the new text states of the old claim: "was removed", "moved from"."""
    comparison = evidence.comparison
    old, changes = comparison.old, comparison.new.reading.changes
    known = {name for word in old.reading.words for name in (word.concept, stem(word.text))}
    if not denial(comparison):
        known.add(NO_LONGER)
    new = [text for name, text in changes.items() if name not in known and name not in old.reading.changes]
    claimed = comparison.matched / (comparison.matched + old.heavy + len(old.names))
    if not new or evidence.other_heads or claimed < LEAST_CHANGED:
        return ""
    return f'The new text states a change: "{new[0]}".'


def exchanged_condition(evidence: Evidence) -> str:
    """Return the words that change places in "if A hangs, restart B" and "if B hangs, restart A"."""
    moved = [one for one, other in evidence.comparison.words if one.conditional != other.conditional]
    texts = {word.conditional: word.text for word in moved}
    telling = len(texts) > 1 and any(word.is_heavy for word in moved)
    if telling and evidence.comparison.substituted <= MOST_SUBSTITUTED:
        return f'The condition and the claim are exchanged: "{texts[False]}", "{texts[True]}".'
    return ""


def other_value(evidence: Evidence) -> str:
    """Return the values of a claim that has one at a time: "runs on worker-1", "the driver is journald"."""
    return perhaps_other_value(evidence) if _has_one_value(evidence) else ""


def perhaps_other_value(evidence: Evidence) -> str:
    """Return the values of a claim that may have several at a time."""
    return f"The same claim with another value: {evidence.value}." if evidence.value else ""


def _value_of(comparison: Comparison, at: int) -> str:
    """Return the words of one text that stand alone at the end of the claim that both share."""
    side = (comparison.old, comparison.new)[at]
    names = [*(pair[at] for pair in comparison.other_names), *side.names]
    words = [word for word in side.words if word.is_heavy]
    if side.amounts or len(names) > 1 or len(words) > _MOST_VALUE_WORDS:
        return ""
    begins = min((part.place for part in (*words, *names)), default=0)
    labels = {name.label for name in names}
    shared = [pair[at] for pair in comparison.words if pair[at].concept not in labels]
    text = " ".join(part.text for part in (*words, *names))
    return text if _ends_claim(shared, begins) else ""


def _ends_claim(shared: Sequence[Word], place: int) -> bool:
    ends = max((word.place for word in shared if word.weight >= WORD_WEIGHT), default=0)
    return ends <= place and any(word.place < place for word in shared)


def _has_one_value(evidence: Evidence) -> bool:
    old, new = (side.reading.tokens for side in evidence.sides)
    if "now" in new and "now" not in old:
        return True
    shared = {one.concept for one, _ in evidence.comparison.words}
    copula = not COPULAS.isdisjoint(old) and not COPULAS.isdisjoint(new)
    named = bool(evidence.comparison.other_names) or all(map(_has_name, evidence.sides))
    return named and (copula or not shared.isdisjoint(_ONE_VALUE))


def _has_name(side: Side) -> bool:
    spelled = any(word.weight > WORD_WEIGHT or word.text in side.reading.proper for word in side.words)
    return spelled or bool(side.names)


def other_subjects(evidence: Evidence) -> str:
    """Return the names, or the words, that each text has in the place of the other's."""
    if not evidence.substituted:
        return ""
    pairs = evidence.comparison.other_names
    one, other = (
        (f'"{name.text}"' for name in pairs[0]) if pairs else (_listed(side.words) for side in evidence.sides)
    )
    return f"One speaks of {one}, the other of {other}."


def part_of_subject(evidence: Evidence) -> str:
    """Return a difference that holds for a part of the subject or under a condition: "full backups", "if idle"."""
    if not evidence.differences:
        return ""
    amounts = evidence.comparison.other_amounts
    periods = any(_names_period(one) and _names_period(other) for one, other in amounts)
    if not (periods or evidence.adds_circumstance or any(side.narrowed for side in evidence.sides)):
        return ""
    return f"They differ ({evidence.differences}), but perhaps one speaks of a part of the other."


def _names_period(amount: Amount) -> bool:
    """Tell the name of a thing from an amount: "Weekly reports" from "Takes 60s"."""
    quantity = amount.quantity
    return quantity.kind is Kind.DURATION and amount.place <= 1 and quantity.text in PERIODS


def opposite_claims(evidence: Evidence) -> str:
    """Return the difference of two texts on one subject."""
    found = evidence.differences
    return f"The same subject, opposite claims: {found}." if found else ""


def dropped_claim(evidence: Evidence) -> str:
    """Return the denial or the state change that the old text alone states."""
    old, new = evidence.sides
    changes = [text for name, text in old.reading.changes.items() if name not in new.reading.changes]
    denied = [word.text for word in old.words if word.is_heavy and word.pole < 0]
    dropped = [*denied, *changes]
    return f'The new text no longer says "{dropped[0]}" about the same subject.' if dropped else ""


def other_claims(evidence: Evidence) -> str:
    """Return the new words of the shared claim itself: another subject, or a predicate that may deny it."""
    comparison = evidence.comparison
    places = defaultdict[int, list[int]](list)
    for _, word in comparison.words:
        if word.weight >= WORD_WEIGHT:
            places[word.clause].append(word.place)
    new = [word for word in comparison.new.words if word.is_heavy and not word.conditional]
    found = [word for word in new if _claims(word, places[word.clause])]
    return f"The new text says {_listed(found)} about the same subject." if found else ""


def _claims(word: Word, shared: Sequence[int]) -> bool:
    if not shared or word.opener == PREDICATE:
        return bool(shared)
    return not word.opener and not min(shared) < word.place < max(shared)


def each_adds(evidence: Evidence) -> str:
    """Return what each text says of the subject that the other does not."""
    old, new = evidence.sides
    dropped = [word for word in old.words if word.is_heavy and not word.opener]
    words = bool(dropped) and any(not word.opener for word in new.words)
    if not (words or (old.amounts and new.amounts)):
        return ""
    return f"The old text adds {_listed(old.words)}, the new one {_listed(new.words)}."


def added_detail(evidence: Evidence) -> str:
    """Return the words, names and amounts that the new text adds."""
    new = evidence.comparison.new
    amounts = [amount.quantity.text for amount in new.amounts] + [
        other.quantity.text
        for one, other in evidence.comparison.same_amounts
        if (one.quantity.low, one.quantity.high) != (other.quantity.low, other.quantity.high)
        and not other.quantity.hedged
    ]
    words = [word.text for word in new.words if word.is_heavy or word.conditional]
    added = ", ".join([*words, *(name.text for name in new.names), *amounts][:_MOST_NAMED])
    return f'The new text adds "{added}".' if added else ""


def nothing_new(evidence: Evidence) -> str:
    """Return the words that both texts share."""
    return f"Both say the same of {_listed([one for one, _ in evidence.comparison.words])}."


def _listed(words: Sequence[Word]) -> str:
    telling = sorted(words, key=lambda word: -word.weight)[:_MOST_NAMED]
    return ", ".join(f'"{word.text}"' for word in telling) or "other figures"
