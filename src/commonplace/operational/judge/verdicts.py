"""The judge: does a new observation say the same as an old one, refine it, correct it, or speak of something else?

The caller compares observations of one service and one category only. The judge uses no model, no network and no
chance: the same two texts always get the same verdict, with a sentence that says why.

1.  **Read** (`reading`). A text becomes clauses of content words with poles, names that tell two things of a kind
    apart, amounts with units, orders ("before", "after") and state changes ("was removed", "moved from").
2.  **Compare** (`comparison`). Words pair by idea, then by spelling; names by label, amounts by kind. What one text has
    alone is a detail; what each has alone is another subject or another value.
3.  **Decide**, by the first rule that holds: other names at the head are other things; a stated change corrects; a
    claim and its condition exchanged are two claims; other words on both sides are two subjects, or one value in
    place of another; a difference (`differences`) corrects unless a circumstance was added; a detail refines; the
    rest is the same.

In doubt between same and refine the verdict is refine, because a refinement loses no word. In doubt between correct and
another verdict it is doubtful: both texts are kept, and a person or a model is asked.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from commonplace.language.ideas import idea_of
from commonplace.language.stems import stem
from commonplace.operational.judge.changes import MOVES, NO_LONGER, without_known
from commonplace.operational.judge.comparison import Comparison, Side, compare_readings, heavy
from commonplace.operational.judge.differences import denial, differences
from commonplace.operational.judge.lexicon import CIRCUMSTANCES, SINGLE_VALUED, VALUED
from commonplace.operational.judge.quantities import Kind
from commonplace.operational.judge.reading import PREDICATE, Name, Reading, Word, read

LEAST_MATCHED: Final = 0.75
"""Weight that two texts must share to speak of one thing: three words that say little, or one that does."""

MOST_SUBSTITUTED: Final = 0.2
"""Weight left on both sides, as a share of what is shared, up to which two texts speak of one thing."""

MOST_SUBSTITUTED_IN_DOUBT: Final = 0.45

LEAST_CHANGED: Final = 0.5
LEAST_MOVED: Final = 0.25
LEAST_CHANGED_IN_DOUBT: Final = 0.3
"""Share of the old claim that a text with a state change must name."""

LEAST_SIMILAR_TO_ASK: Final = 0.3
"""Similarity from which a model is asked about a pair that the rules keep apart."""

_SEPARATOR: Final = "; "
MAX_JOINED_CHARS: Final = 300
"""A text that holds both wordings of a refinement is at most so long. Source: R-OPS-5."""

_MEANS: Final = frozenset({"with", "by", "from", "to", "into", "over", "via", "through"})
"""What is done with, by, from or to something is done so in one way at a time."""

_MOST_VALUE_WORDS: Final = 2
_MOST_NAMED: Final = 4
_RESTRICTING: Final = frozenset({"unless", "except", "until"})


class Verdict(StrEnum):
    """How an emitted observation bears on an existing one."""

    SAME = "same"
    REFINE = "refine"
    CORRECT = "correct"
    DISTINCT = "distinct"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its grounds.

    ``score`` is the similarity of content, 0.0 to 1.0, whatever the verdict. ``reason`` is a sentence for an operator
    that names the words or amounts that decided. ``between`` are the two verdicts that a doubtful one hesitates
    between; a distinct one has them as well if the texts are close enough for a model to be asked.
    """

    verdict: Verdict
    score: float
    reason: str
    between: tuple[Verdict, ...] = ()


_Decision = tuple[Verdict, str]


def judge(existing: str, emitted: str, service: str | None = None) -> Judgement:
    """Decide how an emitted observation bears on an existing one of the same service and category.

    Where the existing text joins several statements, the emitted one is compared with each.

    Args:
        existing: The observation of a memory.
        emitted: The observation that an agent just made.
        service: The service of both; naming it in one text only makes no difference.

    Returns:
        A verdict that does not depend on case or spacing; a text is always the same as itself. Never raises; time is
        linear in the lengths of the texts.

    Source: OPS-09.1, OPS-10.1, R-OPS-5.
    """
    new = read(emitted, service)
    whole = judge_readings(read(existing, service), new)
    statements = existing.split(_SEPARATOR)
    if len(statements) == 1 or whole.verdict is Verdict.SAME:
        return whole
    found = [judge_readings(read(statement, service), new) for statement in statements]
    order = (Verdict.SAME, Verdict.CORRECT, Verdict.REFINE, Verdict.DOUBTFUL, Verdict.DISTINCT)
    return min(found, key=lambda judgement: (order.index(judgement.verdict), -judgement.score))


def joined(existing: str, emitted: str) -> str | None:
    """Return one text that holds every word of both, or `None` for more than 300 characters."""
    said = set(read(emitted).tokens)
    if set(read(existing).tokens) <= said and existing.count(_SEPARATOR) <= emitted.count(_SEPARATOR):
        text = emitted
    else:
        text = f"{existing.rstrip(' .;')}{_SEPARATOR}{emitted}"
    return text if len(text) <= MAX_JOINED_CHARS else None


def tokens_of(text: str) -> tuple[str, ...]:
    """Return a text without case and spacing, to tell whether two texts are the same word for word."""
    return read(text).tokens


def judge_readings(old: Reading, new: Reading) -> Judgement:
    """Decide as `judge` does, for two statements that `read` has read."""
    if old.tokens == new.tokens:
        return Judgement(verdict=Verdict.SAME, score=1.0, reason="Both say the same, word for word.")
    comparison = compare_readings(old, new)
    for rule in (_other_things, _stated_change, _exchanged_condition, _substitution, _contradiction):
        decision = rule(comparison)
        if decision is not None:
            break
    else:
        decision = _addition(comparison)
    verdict, reason = decision
    between: tuple[Verdict, ...] = ()
    close = verdict is Verdict.DISTINCT and comparison.similarity >= LEAST_SIMILAR_TO_ASK
    if verdict is Verdict.DOUBTFUL or close:
        between = (Verdict.CORRECT, Verdict.REFINE if rule is _contradiction else Verdict.DISTINCT)
    return Judgement(verdict=verdict, score=round(comparison.similarity, 3), reason=reason, between=between)


def _other_things(comparison: Comparison) -> _Decision | None:
    for one, other in comparison.other_names:
        if _leads(one, [word for word, _ in comparison.words]) or _leads(
            other, [word for _, word in comparison.words]
        ):
            return _different_things(one.text, other.text)
    if comparison.matched < LEAST_MATCHED:
        return Verdict.DISTINCT, "They share too little to speak of one thing."
    return None


def _different_things(one: str, other: str) -> _Decision:
    return Verdict.DISTINCT, f'They speak of different things: "{one}" and "{other}".'


def _leads(name: Name, shared: Sequence[Word]) -> bool:
    """Tell whether nothing that both texts share stands before a name, but its label."""
    return not any(
        word.place < name.place and name.label not in {word.concept, stem(word.text)} for word in shared
    )


def _stated_change(comparison: Comparison) -> _Decision | None:
    old, new = comparison.old, comparison.new
    changes = {name: text for name, text in new.reading.changes.items() if name not in old.reading.changes}
    changes = without_known(
        changes, (known for word in old.reading.words for known in (word.concept, stem(word.text)))
    )
    if NO_LONGER in changes and not denial(comparison):
        del changes[NO_LONGER]
    if not changes:
        return None
    claimed = comparison.matched / (comparison.matched + _left_of_claim(old) + len(old.names))
    text = next(iter(changes.values()))
    other_heads = old.first_is_left and new.first_is_left
    moved = (
        not old.first_is_left and not old.amounts and not MOVES.isdisjoint(changes) and claimed >= LEAST_MOVED
    )
    if (claimed >= LEAST_CHANGED and not other_heads) or moved:
        return Verdict.CORRECT, f'The new text states a change: "{text}".'
    if claimed >= LEAST_CHANGED_IN_DOUBT:
        return Verdict.DOUBTFUL, f'The new text states a change, "{text}", perhaps of something else.'
    return None


def _left_of_claim(side: Side) -> float:
    """Return the weight that the other text lacks of the clauses that both share."""
    shared = (*side.reading.words, *side.reading.names, *side.reading.amounts)
    clauses = {
        part.clause
        for part in shared
        if part.place in side.shared and not (isinstance(part, Word) and part.weight < 1)
    }
    return heavy([word for word in side.words if word.clause in clauses])


def _exchanged_condition(comparison: Comparison) -> _Decision | None:
    """Tell "if A hangs, restart B" from "if B hangs, restart A"."""
    pairs = comparison.words
    to_condition = [one.text for one, other in pairs if other.conditional and not one.conditional]
    to_claim = [one.text for one, other in pairs if one.conditional and not other.conditional]
    exchanged = [one for one, other in pairs if one.conditional != other.conditional]
    if (
        to_condition
        and to_claim
        and any(one.weight >= 1 for one in exchanged)
        and comparison.substituted <= MOST_SUBSTITUTED
    ):
        reason = f'The condition and the claim are exchanged: "{to_condition[0]}", "{to_claim[0]}".'
        return Verdict.DISTINCT, reason
    return None


def _substitution(comparison: Comparison) -> _Decision | None:
    """Decide for texts that each hold a name or a word in the place of another."""
    for one, other in comparison.other_amounts:
        periods = one.quantity.kind is Kind.DURATION and not any(
            char.isdigit() for char in one.quantity.text + other.quantity.text
        )
        if periods and max(one.place, other.place) <= 1:
            return _different_things(one.quantity.text, other.quantity.text)
    other_heads = comparison.old.first_is_left and comparison.new.first_is_left
    subjects = all(
        any(word.is_heavy and not word.opener for word in side.words)
        for side in (comparison.old, comparison.new)
    )
    if comparison.substituted <= MOST_SUBSTITUTED and not (comparison.other_names or other_heads or subjects):
        return None
    found = differences(comparison)
    value = _substituted_value(comparison)
    if comparison.other_names and (found or value is None):
        return _different_things(*(name.text for name in comparison.other_names[0]))
    # One can need two things at a time.
    needs = any(one.concept == "NEED" for one, _ in comparison.words)
    if value is not None and not found and not needs and not _adds_circumstance(comparison):
        now = "now" in comparison.new.reading.tokens and "now" not in comparison.old.reading.tokens
        verdict = Verdict.CORRECT if now or _holds_one_value(comparison) else Verdict.DOUBTFUL
        return verdict, f"The same claim with another value: {value}."
    if found and comparison.substituted <= MOST_SUBSTITUTED_IN_DOUBT and not other_heads:
        return Verdict.DOUBTFUL, f"They differ ({'; '.join(found)}), but perhaps speak of different things."
    one, other = _listed(comparison.old.words), _listed(comparison.new.words)
    return Verdict.DISTINCT, f"One speaks of {one}, the other of {other}."


def _substituted_value(comparison: Comparison) -> str | None:
    """Return the two values where one took the place of the other at the end of the same claim."""
    texts: list[str] = []
    for at, side in enumerate((comparison.old, comparison.new)):
        names = [*(pair[at] for pair in comparison.other_names), *side.names]
        words = [word for word in side.words if word.is_heavy]
        apart = len(words) > 1 and words[-1].place - words[0].place >= _MOST_VALUE_WORDS
        if side.amounts or len(words) > _MOST_VALUE_WORDS or len(names) > 1 or apart or not (words or names):
            return None
        begins = min(part.place for part in (*words, *names))
        labels = {name.label for name in names}
        shared = [pair[at] for pair in comparison.words]
        if not any(word.place < begins and word.concept not in labels for word in shared):
            return None
        if any(word.place > begins and word.weight >= 1 for word in shared):
            return None
        texts.append(" ".join([*(word.text for word in words), *(name.text for name in names)]))
    return f'"{texts[0]}" against "{texts[1]}"'


def _holds_one_value(comparison: Comparison) -> bool:
    """Tell whether a claim holds for one value at a time: "runs on worker-1", "the driver is journald"."""
    concepts = {one.concept for one, _ in comparison.words}
    copula = all(
        not {"is", "are", "was"}.isdisjoint(side.reading.tokens) for side in (comparison.old, comparison.new)
    )
    if (copula or "use" in concepts) and not concepts.isdisjoint(_concepts(VALUED)):
        return True
    sides = (comparison.old, comparison.new)
    by_means = [all(word.opener in _MEANS for word in side.words if word.is_heavy) for side in sides]
    single = copula or not concepts.isdisjoint(_concepts(SINGLE_VALUED))
    if single and all(by_means):
        return True
    named = all(
        side.names
        or comparison.other_names
        or any(word.weight > 1 or word.text in side.reading.proper for word in side.words)
        for side in sides
    )
    return named and single


@cache
def _concepts(words: frozenset[str]) -> frozenset[str]:
    return frozenset(idea.concept for idea in map(idea_of, words) if idea is not None)


def _contradiction(comparison: Comparison) -> _Decision | None:
    found = "; ".join(differences(comparison))
    if found and _adds_circumstance(comparison):
        return Verdict.DOUBTFUL, f"They differ ({found}), but perhaps not under the same circumstances."
    if comparison.other_amounts and (comparison.old.narrowed or comparison.new.narrowed):
        return Verdict.DOUBTFUL, f"They differ ({found}), but one speaks of a part of the other."
    if found:
        return Verdict.CORRECT, f"The same subject, opposite claims: {found}."
    doubt = _doubt(comparison)
    return (Verdict.DOUBTFUL, doubt) if doubt else None


def _doubt(comparison: Comparison) -> str:
    """Return why two texts without a difference may contradict each other all the same, or an empty string."""
    old, new = comparison.old, comparison.new
    unattached = _unattached(comparison)
    denied = [word for word in old.words if word.opener == PREDICATE and word.pole < 0]
    dropped = [word for word in old.words if word.is_heavy and not word.opener]
    compounds = {first for first, _ in old.reading.compounds - new.reading.compounds}
    other = [pair for pair in new.reading.compounds - old.reading.compounds if pair[0] in compounds]
    if unattached:
        return f"The new text says {_listed(unattached)} of the same."
    if denied:
        return f"The new text no longer says {_listed(denied)} of the same."
    if dropped and any(not word.opener for word in new.words):
        return f"The new text says something else than {_listed(dropped)} of the same."
    if old.amounts and new.amounts:
        texts = new.amounts[0].quantity.text, old.amounts[0].quantity.text
        return 'The new text says "{}" in the place of "{}".'.format(*texts)
    return f'The new text names "{"-".join(min(other))}", the old one another.' if other else ""


def _adds_circumstance(comparison: Comparison) -> bool:
    left = (*comparison.old.words, *comparison.new.words)
    return any(word.conditional and word.weight >= 1 for word in left)


def _unattached(comparison: Comparison) -> list[Word]:
    """Return the new words of the shared claim itself: another subject, or a predicate that may deny it."""
    shared = sorted((word for _, word in comparison.words), key=lambda word: word.place)
    balance: defaultdict[int, float] = defaultdict(float)
    for word in shared:
        balance[word.clause] += word.weight
    extra = [word for word in comparison.new.words if word.is_heavy and not word.conditional]
    for word in extra:
        balance[word.clause] -= word.weight
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for word in shared:
        if word.weight >= 1:
            first.setdefault(word.clause, word.place)
            last[word.clause] = word.place
    return [
        word
        for word in extra
        if balance[word.clause] >= 0
        and (
            word.opener == PREDICATE
            or (not word.opener and not first.get(word.clause, 0) < word.place < last.get(word.clause, 0))
        )
    ]


def _addition(comparison: Comparison) -> _Decision:
    old, new = comparison.old, comparison.new
    words = [word for word in new.words if word.is_heavy or word.conditional]
    amounts = [amount.quantity.text for amount in new.amounts] + [
        other.quantity.text
        for one, other in comparison.same_amounts
        if (one.quantity.low, one.quantity.high) != (other.quantity.low, other.quantity.high)
        and not other.quantity.hedged
    ]
    names = [name.text for name in new.names]
    if words or amounts or names:
        added = ", ".join([*(word.text for word in words), *names, *amounts][:_MOST_NAMED])
        return Verdict.REFINE, f'The new text adds "{added}".'
    if _circumstances(new.reading) - _circumstances(old.reading):
        return Verdict.REFINE, "The new text adds a circumstance."
    return Verdict.SAME, f"Both say the same of {_listed([one for one, _ in comparison.words])}."


def _circumstances(reading: Reading) -> set[str]:
    """Return the kinds of circumstance: when the claim holds, and when it does not."""
    return {
        "except" if opener in _RESTRICTING else "when" for opener in reading.circumstances & CIRCUMSTANCES
    }


def _listed(words: Sequence[Word]) -> str:
    telling = sorted(words, key=lambda word: -word.weight)[:_MOST_NAMED]
    return ", ".join(f'"{word.text}"' for word in telling) or "other figures"
