"""The judge: does a new observation reinforce an old one, contradict it, or speak of something else?

The caller compares observations of one service and one category only. The judge uses no model, no network and no
chance: the same two texts always get the same verdict, in either order, with a sentence that says why.

1.  **Normalise** (`words`, `quantities`, `polarity`). Case, spacing and punctuation go. Numbers and their units become
    intervals in base units, words become ideas: a stem, a row of words for one idea, or a pole of two opposed ideas.
    A negator turns the idea that it governs, so that "never fails" and "succeeds" come out alike.
2.  **Align.** Each idea of one text is paired with the same idea of the other; what is left is paired once more by
    spelling (a typo, a negating prefix). Ideas weigh by how much they say: "must" little, "restart" more, the name of
    a program most. Of what stays unpaired, one side alone is added detail; both sides is another subject.
3.  **Compare** what was paired: poles (with "A before B" read as "B after A"), quantities of one kind, "must" against
    "can". Two turned poles side by side, of which one judges the other, cancel: "no restart is required" and "a restart
    is not required" are the same.
4.  **Decide.** Another subject: unrelated. Same subject and nothing opposed: reinforces. Same subject and something
    opposed: contradicts, but only if the texts share nearly everything else, and neither adds a circumstance under
    which both could hold.

A wrong reinforcement hides an observation and a wrong contradiction wears down a true one; a missed one only keeps
both. So the thresholds below lean to unrelated. They were chosen on the dev half of the pairs in
`benchmarks/data/judge_pairs.jsonl`; `benchmarks/judge.py` measures both halves.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from commonplace.operational.judge.alignment import Alignment, align
from commonplace.operational.judge.conflicts import Conflict, find_conflicts
from commonplace.operational.judge.lexicon import NAMES
from commonplace.operational.judge.observations import Observation, analyse
from commonplace.operational.judge.polarity import Word
from commonplace.operational.judge.quantities import Agreement, compare

__all__ = ["Judgement", "Observation", "Verdict", "analyse", "judge", "judge_observations"]

LEAST_MATCHED: Final = 0.75
"""Weight that must be paired before two texts can speak of one thing: three words that say little, or one that does."""

MOST_SUBSTITUTED: Final = 0.2
"""What may be left on both sides, as a share of what was paired, before it counts as another subject."""

MOST_ADDED_TO_REINFORCE: Final = 3.0
MOST_ADDED_TO_CONTRADICT: Final = 0.6
"""What may be left on one side, as a share of what was paired."""

_MOST_NAMED: Final = 4
"""Words that a reason names."""


class Verdict(StrEnum):
    """How an emitted observation bears on an existing one."""

    REINFORCES = "reinforces"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its grounds.

    ``score`` is the similarity of content, 0.0 to 1.0, whatever the verdict: a contradiction scores high, too.
    ``reason`` is a sentence for an operator that names the words or quantities that decided.
    """

    verdict: Verdict
    score: float
    reason: str


def judge(existing: str, emitted: str) -> Judgement:
    """Decide how an emitted observation bears on an existing one of the same service and category.

    Deterministic; never raises; the verdict and the score are the same in either order, and do not depend on case,
    spacing or the punctuation between words. A text reinforces itself. Time is linear in the lengths of the texts.

    Source: OPS-09.1, OPS-10.1, R-OPS-5.
    """
    return judge_observations(analyse(existing), analyse(emitted))


def judge_observations(existing: Observation, emitted: Observation) -> Judgement:
    """Decide as `judge` does, for texts that `analyse` has read."""
    if existing.tokens == emitted.tokens:
        return Judgement(verdict=Verdict.REINFORCES, score=1.0, reason="Both say the same, word for word.")
    # One fixed order makes the verdict symmetric, whatever the ties in the alignment.
    turned = existing.tokens > emitted.tokens
    first, second = (emitted, existing) if turned else (existing, emitted)
    alignment = align(first, second)
    score = round(alignment.similarity, 3)
    other_subject = _other_subject(first, second, alignment)
    if other_subject is not None:
        return Judgement(verdict=Verdict.UNRELATED, score=score, reason=_told(other_subject, turned=turned))
    conflicts = find_conflicts(first, second, alignment)
    if not conflicts:
        return _reinforcement(alignment, score)
    return _contradiction(alignment, conflicts, score, turned=turned)


def _other_subject(
    first: Observation, second: Observation, alignment: Alignment
) -> tuple[str, str, str] | None:
    """Return why two texts speak of different things, as a sentence with what stands for each; else ``None``."""
    for one in first.subject:
        for other in second.subject:
            if compare(one, other) is Agreement.DIFFER:
                return "They speak of different things: {} and {}.", one.text, other.text
    left = alignment.first_weight, alignment.second_weight
    names = _names(alignment.first_left), _names(alignment.second_left)
    if all(names):
        return "They speak of different things: {} and {}.", *names
    if alignment.matched < LEAST_MATCHED:
        return "They share too little to speak of one thing.{}{}", "", ""
    if min(left) > MOST_SUBSTITUTED * alignment.matched:
        return (
            "One speaks of {}, the other of {}.",
            _listed(alignment.first_left),
            _listed(alignment.second_left),
        )
    if max(left) > MOST_ADDED_TO_REINFORCE * alignment.matched:
        return "One says much that the other does not.{}{}", "", ""
    return None


def _reinforcement(alignment: Alignment, score: float) -> Judgement:
    shared = _listed(tuple(one for one, _ in alignment.pairs))
    quantities = ", ".join(
        one.text if one.text == other.text else f"{one.text} = {other.text}"
        for one, other in alignment.same_quantities[:_MOST_NAMED]
    )
    grounds = "; ".join(part for part in (shared, quantities) if part)
    return Judgement(verdict=Verdict.REINFORCES, score=score, reason=f"Both say the same of {grounds}.")


def _contradiction(
    alignment: Alignment, conflicts: list[Conflict], score: float, *, turned: bool
) -> Judgement:
    told = [(one.second, one.first) if turned else (one.first, one.second) for one in conflicts[:_MOST_NAMED]]
    against = "; ".join(f"{_quoted(existing)} against {_quoted(emitted)}" for existing, emitted in told)
    added = (
        max(alignment.first_weight, alignment.second_weight) > MOST_ADDED_TO_CONTRADICT * alignment.matched
    )
    if added or _condition_added(alignment):
        return Judgement(
            verdict=Verdict.UNRELATED,
            score=score,
            reason=f"They differ ({against}), but perhaps not under the same circumstances.",
        )
    return Judgement(
        verdict=Verdict.CONTRADICTS, score=score, reason=f"Same subject, opposite claims: {against}."
    )


def _condition_added(alignment: Alignment) -> bool:
    return any(
        word.opens_condition and word.weight >= 1 for word in alignment.first_left + alignment.second_left
    )


def _names(words: tuple[Word, ...]) -> str:
    return ", ".join(_quoted(word.text) for word in words if word.concept in NAMES)


def _listed(words: tuple[Word, ...]) -> str:
    telling = sorted(words, key=lambda word: -word.weight)[:_MOST_NAMED]
    return ", ".join(_quoted(word.text) for word in telling) or "other figures"


def _quoted(text: str) -> str:
    return f'"{text}"' if text else "nothing of the kind"


def _told(sentence: tuple[str, str, str], *, turned: bool) -> str:
    template, one, other = sentence
    return template.format(other, one) if turned else template.format(one, other)
