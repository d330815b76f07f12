"""Judge: does a new observation repeat an old one, refine it, correct it, or is it about something else?

`reading` reads clauses of words, names, amounts, orders and state changes, `comparison` pairs them, `features` measures
the pairs, `likeness` compares words by a table of vectors, and a multinomial logistic regression gives each verdict a
probability: `benchmarks/judge_weights.py` fits its weights. The same two texts always get the same verdict, with a
sentence that says why.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from commonplace.judge.comparison import Comparison, compare_readings
from commonplace.judge.differences import denial, other_subject
from commonplace.judge.features import Feature, cues, features
from commonplace.judge.observation import Reading, read

LEAST_CORRECT: Final = 0.68
"""Probability above which a new text corrects the old one."""

COST_OF_CORRECTION: Final = 8.0
COST_OF_OTHER_THING: Final = 2.0
"""Cost of joining a text with its correction or another subject; two memories for one statement cost 1."""

LEAST_DOUBTFUL: Final = 0.25
"""Probability of a correction above which a pair that stays apart waits for review."""

LEAST_ASKED: Final = 0.02
LEAST_ASKED_APART: Final = 0.3
"""Probabilities of a correction above which a model is asked; the second is for texts that share too little."""

LEAST_MATCHED: Final = 0.75
"""Weight that two texts must share to be about the same subject: three vague words, or one specific word."""

SAME_TO_REFINE: Final = 11.0
"""Odds of a repetition over a refinement above which a text is a repetition, because a refinement loses no word."""

MAX_JOINED_CHARS: Final = 300
"""Length up to which one text holds both wordings of a refinement. Source: R-OPS-5."""

_SEPARATOR: Final = "; "
_QUOTED: Final = re.compile('"([^"]+)"')
_MOST_REASONS: Final = 2
_MOST_HEAVY_OF_A_CHANGE: Final = len(("rolled", "back"))


class Verdict(StrEnum):
    """Relation of a new observation to an existing one."""

    SAME = "same"
    REFINE = "refine"
    CORRECT = "correct"
    DISTINCT = "distinct"
    DOUBTFUL = "doubtful"


LEARNED: Final = (Verdict.SAME, Verdict.REFINE, Verdict.CORRECT, Verdict.DISTINCT)

_GROUNDS: Final = {
    Verdict.SAME: "Both texts say the same",
    Verdict.REFINE: "The new text adds to the old one",
    Verdict.CORRECT: "The new text corrects the old one",
    Verdict.DISTINCT: "The texts are about different things",
    Verdict.DOUBTFUL: "The new text may correct the old one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its grounds.

    ``score`` is the similarity of content, 0.0 to 1.0, whatever the verdict. ``reason`` is a sentence for an operator
    that names the features that weighed most. ``between`` are the two verdicts between which a doubtful verdict is
    undecided; other verdicts except a correction have them if a correction is probable enough to ask a model.
    """

    verdict: Verdict
    score: float
    reason: str
    between: tuple[Verdict, ...] = ()


def judge(existing: str, emitted: str, service: str | None = None) -> Judgement:
    """Decide how a new observation relates to an existing one of the same service and category.

    If the existing text joins several statements, the new observation is compared with each.

    Args:
        existing: The observation of a memory.
        emitted: The observation that an agent just made.
        service: The service of both; it makes no difference if only one text names the service.

    Returns:
        A verdict that does not depend on case or spacing; a text always repeats itself. Never raises an error; takes
        time linear in the lengths of the texts.

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
    """Return one text with every word of both, or `None` if it would exceed 300 characters."""
    said = set(read(emitted).tokens)
    if set(read(existing).tokens) <= said and existing.count(_SEPARATOR) <= emitted.count(_SEPARATOR):
        text = emitted
    else:
        text = f"{existing.rstrip(' .;')}{_SEPARATOR}{emitted}"
    return text if len(text) <= MAX_JOINED_CHARS else None


def tokens_of(text: str) -> tuple[str, ...]:
    """Return a text without case and spacing, to compare two texts word for word."""
    return read(text).tokens


def judge_readings(old: Reading, new: Reading) -> Judgement:
    """Decide as `judge` does, for two statements that `read` has read."""
    if old.tokens == new.tokens:
        return Judgement(verdict=Verdict.SAME, score=1.0, reason="Both texts say the same, word for word.")
    comparison = compare_readings(old, new)
    found = [*features(comparison), *cues(comparison, _weights())]
    chances = probabilities(found)
    apart = comparison.matched < LEAST_MATCHED
    verdict = Verdict.DISTINCT if apart else decided(chances)
    if (verdict in {Verdict.SAME, Verdict.REFINE} and _contradicts(comparison)) or (
        apart and _changes_a_value(comparison)
    ):
        verdict = Verdict.DOUBTFUL
    elif verdict is Verdict.SAME and (comparison.new.amounts or comparison.new.names):
        verdict = Verdict.REFINE
    if verdict in {Verdict.CORRECT, Verdict.DOUBTFUL} and other_subject(comparison):
        verdict = Verdict.DISTINCT
    between: tuple[Verdict, ...] = ()
    least = LEAST_ASKED_APART if apart else LEAST_ASKED
    if verdict is Verdict.DOUBTFUL or (verdict is not Verdict.CORRECT and chances[Verdict.CORRECT] >= least):
        others = [other for other in LEARNED if other is not Verdict.CORRECT]
        between = (Verdict.CORRECT, max(others, key=lambda other: chances[other]))
    return Judgement(
        verdict=verdict,
        score=round(comparison.similarity, 3),
        reason="The texts share too little to be about the same thing."
        if apart and verdict is Verdict.DISTINCT
        else _reason(verdict, found),
        between=between,
    )


def _contradicts(comparison: Comparison) -> bool:
    """Return whether two texts differ in a value or deny each other, so that they must not become one text."""
    return bool(
        comparison.other_amounts or comparison.other_names or _meets_a_limit(comparison) or denial(comparison)
    )


def _meets_a_limit(comparison: Comparison) -> bool:
    """Return whether an amount lies within a limit of the old text that also has another amount of this kind.

    "Takes 90s" agrees with "up to 3 min", but not with "takes 40s, up to 3 min after a crash".
    """
    return any(
        (one.quantity.low, one.quantity.high) != (other.quantity.low, other.quantity.high)
        and any(left.quantity.kind is other.quantity.kind for left in comparison.old.amounts)
        for one, other in comparison.same_amounts
    )


def _changes_a_value(comparison: Comparison) -> bool:
    """Return whether the new text only states a change to another amount: "was upgraded to 2.4" after "runs 2.3"."""
    stated = comparison.new.reading.changes.keys() - comparison.old.reading.changes.keys()
    heavy = [word for word in comparison.new.words if word.is_heavy]
    return bool(stated and comparison.other_amounts) and len(heavy) <= _MOST_HEAVY_OF_A_CHANGE


def decided(chances: Mapping[Verdict, float]) -> Verdict:
    """Return the verdict for the probabilities of the four verdicts.

    If the choice is between same and refine, the verdict is refine, because a refinement loses no word. If it is
    between correct and another verdict, the verdict is doubtful: both texts are kept, and a person or a model is asked.
    """
    same, refine, correct, distinct = (chances[verdict] for verdict in LEARNED)
    if correct >= LEAST_CORRECT:
        return Verdict.CORRECT
    if same + refine >= COST_OF_CORRECTION * correct + COST_OF_OTHER_THING * distinct:
        return Verdict.SAME if same >= SAME_TO_REFINE * refine else Verdict.REFINE
    return Verdict.DOUBTFUL if correct >= LEAST_DOUBTFUL else Verdict.DISTINCT


def probabilities(found: Sequence[Feature]) -> dict[Verdict, float]:
    """Return the probability of each of the four verdicts."""
    weighed = [(one.value, _weights()[one.name]) for one in found if one.value]
    sums = [
        constant + sum(value * row[at] for value, row in weighed)
        for at, constant in enumerate(_constants(), start=1)
    ]
    powers = [math.exp(total - max(sums)) for total in sums]
    return {verdict: power / sum(powers) for verdict, power in zip(LEARNED, powers, strict=True)}


@cache
def _weights() -> dict[str, list[float]]:
    """Return the mean of each feature and its weight for each of the four verdicts; the mean of a cue is 0."""
    directory = Path(__file__).parent
    weights: dict[str, list[float]] = json.loads((directory / "weights.json").read_bytes())
    cue_weights: dict[str, list[float]] = json.loads((directory / "cues.json").read_bytes())
    return weights | {name: [0.0, *row] for name, row in cue_weights.items()}


@cache
def _constants() -> list[float]:
    """Return the score of each verdict if every feature is 0: the intercept minus the weighted means."""
    rows = _weights().values()
    return [_weights()[""][at] - sum(row[0] * row[at] for row in rows) for at in range(1, len(LEARNED) + 1)]


def _reason(verdict: Verdict, found: Sequence[Feature]) -> str:
    """Return a sentence with the explained features that weighed most for a verdict."""
    at = LEARNED.index(Verdict.CORRECT if verdict is Verdict.DOUBTFUL else verdict)

    def pull(feature: Feature) -> float:
        mean, *weights = _weights()[feature.name]
        return (feature.value - mean) * (weights[at] - sum(weights) / len(weights))

    agree = verdict in {Verdict.SAME, Verdict.REFINE}
    said = (one for one in found if one.text and one.value and (agree or not one.text.startswith("both ")))
    telling = sorted(said, key=pull, reverse=True)
    texts: list[str] = []
    for text in [one.text for one in telling if pull(one) > 0] or [one.text for one in telling]:
        named = _QUOTED.findall(text)
        if not named or any(word not in " ".join(texts) for word in named):
            texts.append(text)
    return f"{_GROUNDS[verdict]}: {'; '.join(texts[:_MOST_REASONS])}." if texts else f"{_GROUNDS[verdict]}."
