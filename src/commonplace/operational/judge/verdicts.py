"""Judge: does a new observation repeat an old one, refine it, correct it, or speak of something else?

The caller compares observations of one service and one category. The judge uses no model, no network and no chance:
the same two texts always get the same verdict, with a sentence that says why.

1.  **Read** (`reading`): clauses of content words with poles, names, amounts with units, orders and state changes.
2.  **Compare** (`comparison`): pair words by idea and spelling, names by label, amounts by kind.
3.  **Decide** (`RULES`): the first feature that holds decides.

Source: OPS-09.1, OPS-10.1, R-OPS-5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from commonplace.operational.judge import features
from commonplace.operational.judge.comparison import compare_readings
from commonplace.operational.judge.features import Evidence
from commonplace.operational.judge.reading import Reading, read

LEAST_SIMILAR_TO_ASK: Final = 0.3
"""Similarity from which a model is asked about a pair that the rules keep apart."""

MAX_JOINED_CHARS: Final = 300
"""Length up to which one text holds both wordings of a refinement. Source: R-OPS-5."""

_SEPARATOR: Final = "; "


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


RULES: Final[tuple[tuple[Callable[[Evidence], str], Verdict], ...]] = (
    (features.other_names, Verdict.DISTINCT),
    (features.little_shared, Verdict.DISTINCT),
    (features.stated_change, Verdict.CORRECT),
    (features.exchanged_condition, Verdict.DISTINCT),
    (features.other_value, Verdict.CORRECT),
    (features.perhaps_other_value, Verdict.DOUBTFUL),
    (features.other_subjects, Verdict.DISTINCT),
    (features.part_of_subject, Verdict.DOUBTFUL),
    (features.opposite_claims, Verdict.CORRECT),
    (features.dropped_claim, Verdict.DOUBTFUL),
    (features.other_claims, Verdict.DOUBTFUL),
    (features.each_adds, Verdict.DOUBTFUL),
    (features.added_detail, Verdict.REFINE),
    (features.nothing_new, Verdict.SAME),
)
"""The judgement: the first feature that returns a reason decides.

In doubt between same and refine the verdict is refine, because a refinement loses no word. In doubt between correct and
another verdict it is doubtful: both texts are kept, and a person or a model is asked.
"""


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
    evidence = Evidence(comparison=comparison)
    verdict, reason = next((verdict, reason) for feature, verdict in RULES if (reason := feature(evidence)))
    close = verdict is Verdict.DISTINCT and comparison.similarity >= LEAST_SIMILAR_TO_ASK
    between: tuple[Verdict, ...] = ()
    if verdict is Verdict.DOUBTFUL or close:
        between = (Verdict.CORRECT, Verdict.DISTINCT if close or evidence.substituted else Verdict.REFINE)
    return Judgement(verdict=verdict, score=round(comparison.similarity, 3), reason=reason, between=between)
